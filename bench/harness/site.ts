// The site that every peer serves: tenants in network namespaces of the sandbox, all with the same address. One backend process
// listens in each namespace, and on loopback for peers that cannot enter a netns.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { clusterName, type HelloKind, writeHellos } from './hellos.ts';
import { LOAD_CORE, spawnPinned, stopProcess } from './processes.ts';

export const TENANT_ADDRESS = '10.0.0.5';
export const TENANT_PORT = 6443;
export const LOCAL_BACKEND_PORT = 9443;

/** The site that a scenario needs. Scenarios with equal needs share the running peers. */
export interface SiteNeeds {
  /** The number of routes. Each is a cluster with its own server name. */
  readonly clusters: number;
  /** The number of network namespaces for the clusters. */
  readonly netns: number;
  /** Threads per proxy. With 2, no process is pinned to a core. */
  readonly threads: number;
  /** The MTU of every loopback, with segmentation offload off. Null keeps the Linux default. */
  readonly mtu: number | null;
}

export interface Cluster {
  readonly name: string;
  readonly serverName: string;
  readonly netns: string;
  readonly networkId: string;
}

export interface Site {
  readonly needs: SiteNeeds;
  readonly directory: string;
  readonly clusters: readonly Cluster[];
  hellos(kind: HelloKind): string;
  /** Returns a site with the same tenants and backend, but only the first `clusters` routes. */
  part(clusters: number): Site;
  close(): Promise<void>;
}

/** Equal in every netns and recorded in the result. README.md explains the reasons. */
export const NETNS_SETTINGS: Readonly<Record<string, string>> = {
  'net.ipv4.tcp_congestion_control': 'reno',
  'net.ipv4.tcp_max_tw_buckets': '0',
};

const networkId = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const netnsName = (index: number): string => `qdhcp-${networkId(index)}`;

function settingLines(mtu: number | null): string {
  const lines = Object.entries(NETNS_SETTINGS).map(
    ([name, value]) => `echo ${value} > /proc/sys/${name.replaceAll('.', '/')}`,
  );
  lines.push(
    mtu === null
      ? 'ip link set lo mtu 65536 gso_max_segs 65535 gso_max_size 65536'
      : `ip link set lo mtu ${mtu} gso_max_segs 1`,
  );
  return lines.join(' && ');
}

const shell = (script: string, ...args: string[]): string =>
  execFileSync('sh', ['-euc', script, 'bench', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

function makeTenant(name: string, mtu: number | null): void {
  shell(
    `ip netns add "$1" && ip netns exec "$1" sh -euc '
      ip link set lo up && ip address add ${TENANT_ADDRESS}/32 dev lo && ${settingLines(mtu)}'`,
    name,
  );
}

export async function openSite(needs: SiteNeeds, load: string): Promise<Site> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-site-'));
  shell(settingLines(needs.mtu));
  const names = Array.from({ length: needs.netns }, (_, index) => netnsName(index));
  for (const name of names) makeTenant(name, needs.mtu);
  const clusters = Array.from({ length: needs.clusters }, (_, index): Cluster => {
    const name = clusterName(index);
    const home = index % needs.netns;
    return { name, serverName: `${name}.magnum-system`, netns: netnsName(home), networkId: networkId(home) };
  });
  const netnsList = join(directory, 'netns-list');
  writeFileSync(netnsList, names.map((name) => `/run/netns/${name}\n`).join(''));
  const backend = spawnPinned(needs.threads > 1 ? `${LOAD_CORE},1` : LOAD_CORE, load, [
    'backend',
    ...['--listen', `127.0.0.1:${LOCAL_BACKEND_PORT}`],
    ...['--netns-list', netnsList, '--tenant', `${TENANT_ADDRESS}:${TENANT_PORT}`],
  ]);
  backend.stderr?.pipe(process.stderr);
  await once(backend.stdout!, 'data');
  const close = async (): Promise<void> => {
    await stopProcess(backend);
    for (const name of names) shell('ip netns delete "$1"', name);
  };
  return siteOf(needs, directory, clusters, close);
}

function siteOf(
  needs: SiteNeeds,
  directory: string,
  clusters: readonly Cluster[],
  close: () => Promise<void>,
): Site {
  mkdirSync(directory, { recursive: true });
  const names = clusters.map(({ name }) => name);
  return {
    needs,
    directory,
    clusters,
    hellos: (kind) => writeHellos(directory, kind, names),
    part: (count) =>
      siteOf(needs, join(directory, `first-${count}`), clusters.slice(0, count), async () => {}),
    close,
  };
}

/**
 * Returns the directory from which one instance of Isthmus reads its clusters, and creates it on first use. Each instance has its own
 * directory: a route change for one instance then causes no work in the others on the same core.
 */
export function manifestsOf(site: Pick<Site, 'directory' | 'clusters'>, instance: string): string {
  const directory = join(site.directory, 'manifests', instance);
  const file = join(directory, 'clusters.yaml');
  if (!existsSync(file)) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(file, site.clusters.map((cluster) => stringify(manifest(cluster))).join('---\n'));
  }
  return directory;
}

export function manifest({ name, networkId }: Pick<Cluster, 'name' | 'networkId'>): object {
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'OpenStackCluster',
    metadata: {
      name: `${name}-bench`,
      namespace: 'magnum-system',
      labels: { 'cluster.x-k8s.io/cluster-name': name },
    },
    spec: {
      disableAPIServerFloatingIP: true,
      apiServerPort: TENANT_PORT,
      controlPlaneEndpoint: { host: TENANT_ADDRESS, port: TENANT_PORT },
    },
    status: {
      ready: true,
      network: { id: networkId, name: `k8s-clusterapi-cluster-magnum-system-${name}` },
      apiServerLoadBalancer: { internalIP: TENANT_ADDRESS },
    },
  };
}
