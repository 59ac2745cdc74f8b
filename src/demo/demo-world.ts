// Builds the demo's world from real parts: network namespaces with overlapping addresses, a TLS server with its own CA in each,
// and OpenStackCluster manifests. It is made inside the sandbox of `npm run demo`, so nothing of it can stay behind.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const SHARED_ADDRESS = '10.0.0.5';
export const API_PORT = 6443;

export interface DemoCluster {
  readonly name: string;
  readonly networkId: string;
  readonly netns: string;
  /** The cluster's own CA: what its kubeconfig would carry. */
  readonly ca: Buffer;
}

export class DemoWorld {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-demo-world-'));
  readonly manifests = join(this.directory, 'clusters');
  readonly #servers: ChildProcess[] = [];

  constructor() {
    mkdirSync(this.manifests);
  }

  /** A cluster as Cluster API would describe it, and its certificates; its network is not on this node yet. */
  describeCluster(name: string, networkId: string, prefix: 'qdhcp' | 'ovnmeta'): DemoCluster {
    this.#makeCertificates(name);
    writeFileSync(join(this.manifests, `${name}.yaml`), manifest(name, networkId));
    return { name, networkId, netns: `${prefix}-${networkId}`, ca: readFileSync(this.#file(name, 'ca.crt')) };
  }

  /** The tenant's network appears on this node, with the cluster's API server in it. */
  async attachNetwork(cluster: DemoCluster): Promise<void> {
    ip('netns', 'add', cluster.netns);
    ip('-n', cluster.netns, 'link', 'set', 'lo', 'up');
    ip('-n', cluster.netns, 'address', 'add', `${SHARED_ADDRESS}/32`, 'dev', 'lo');
    const script = fileURLToPath(new URL('./demo-api-server.js', import.meta.url));
    const args = [
      script,
      cluster.name,
      this.#file(cluster.name, 'tls.crt'),
      this.#file(cluster.name, 'tls.key'),
    ];
    const server = spawn(
      'ip',
      ['netns', 'exec', cluster.netns, process.execPath, ...args, SHARED_ADDRESS, String(API_PORT)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#servers.push(server);
    await Promise.race([
      once(server.stdout, 'data'),
      once(server, 'exit').then(([code]) =>
        Promise.reject(new Error(`the API server of ${cluster.name} ended with ${code}`)),
      ),
    ]);
  }

  /** The host's own view of the netns: which addresses it has. */
  addressesOf(netns: string): string {
    return ip('-n', netns, '-4', '-brief', 'address', 'show', 'dev', 'lo').trim().replace(/\s+/g, ' ');
  }

  destroy(): void {
    for (const server of this.#servers) server.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  #file(name: string, suffix: string): string {
    return join(this.directory, `${name}.${suffix}`);
  }

  #makeCertificates(name: string): void {
    const [caKey, caCrt, key, csr, crt] = ['ca.key', 'ca.crt', 'tls.key', 'csr', 'tls.crt'].map((s) =>
      this.#file(name, s),
    ) as [string, string, string, string, string];
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      caKey,
      '-out',
      caCrt,
      '-days',
      '2',
      '-subj',
      `/CN=CA of ${name}`,
    );
    openssl('req', '-new', ...newKey, '-keyout', key, '-out', csr, '-subj', `/CN=kube-apiserver of ${name}`);
    const extensions = this.#file(name, 'ext');
    writeFileSync(extensions, `subjectAltName=DNS:${name}.magnum-system,DNS:${name}\n`);
    const signing = ['-CA', caCrt, '-CAkey', caKey, '-CAcreateserial', '-days', '2', '-extfile', extensions];
    openssl('x509', '-req', '-in', csr, '-out', crt, ...signing);
  }
}

function manifest(name: string, networkId: string): string {
  return `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata:
  name: ${name}-x7k2p
  namespace: magnum-system
  labels:
    cluster.x-k8s.io/cluster-name: ${name}
spec:
  disableAPIServerFloatingIP: true
  apiServerPort: ${API_PORT}
  controlPlaneEndpoint:
    host: ${SHARED_ADDRESS}
    port: ${API_PORT}
status:
  ready: true
  network:
    id: ${networkId}
    name: k8s-clusterapi-cluster-magnum-system-${name}
  apiServerLoadBalancer:
    internalIP: ${SHARED_ADDRESS}
`;
}

function ip(...args: string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
