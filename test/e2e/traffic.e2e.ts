// The connection path that the project provides: kubectl, CoreDNS, the Service's address, kube-proxy, Isthmus, the tenant's namespace,
// and a real kube-apiserver there.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, Lines, type ProxyMode } from './client.ts';
import { TENANT_ADDRESS } from './networks.ts';
import { Site } from './site.ts';

const MODES: readonly ProxyMode[] = ['nftables', 'iptables'];
const SYS_ADMIN = (1n << 21n).toString(16).padStart(16, '0');
const NOTHING = '0'.repeat(16);
const streams = fileURLToPath(new URL('./streams-main.ts', import.meta.url));

let site: Site;
let kubeconfig: string;

beforeAll(async () => {
  site = await Site.start({ modes: MODES });
  await site.addWorkload({ name: 'alpha', prefix: 'qdhcp', real: true }, ['net-1']);
  await site.addWorkload({ name: 'beta', prefix: 'ovnmeta' }, ['net-2']);
  for (const each of site.workloads.values()) await site.management.addCluster(each);
  for (const each of site.instances.values()) each.start();
  kubeconfig = await site.proxiedKubeconfig('alpha');
  for (const client of site.clients.values())
    await site.until(`${client.mode} rules lead to Isthmus`, () => client.leadsTo('10.250.0.21'));
});
afterAll(async () => await site?.stop());

/** Runs the test on a machine with each kind of kube-proxy, in parallel. */
const everywhere = (act: (client: Client) => Promise<void>) =>
  Promise.all([...site.clients.values()].map(act));

describe.each<[string, string, string]>([
  ['net-1', 'as in a Pod: uid 0, SYS_ADMIN and nothing else, none ambient', '0'],
  ['net-2', 'as from systemd: a user without rights, SYS_ADMIN ambient', '64999'],
])('%s runs', (node, how, uid) => {
  test(how, () => {
    const status = readFileSync(`/proc/${site.instance(node).process.pid}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
    expect(field('Uid')).toBe(uid);
    expect(field('NoNewPrivs')).toBe('1');
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) expect([set, field(set)]).toEqual([set, SYS_ADMIN]);
    for (const set of ['CapAmb', 'CapInh'])
      expect([set, field(set)]).toEqual([set, uid === '0' ? NOTHING : SYS_ADMIN]);
  });
});

test.each(MODES)('kubectl reads the namespaces of the isolated cluster (kube-proxy: %s)', async (mode) => {
  const names = await site.client(mode).kubectl(kubeconfig, 'get', 'ns', '-o', 'name');
  expect(names.split('\n')).toContain('namespace/kube-system');
});

test('two clusters share one address, and each name leads to its own cluster', async () => {
  const beta = await site.proxiedKubeconfig('beta');
  await everywhere(async (client) => {
    await site.until('the rules lead to net-2', () => client.leadsTo('10.250.0.22'));
    expect(await client.kubectl(beta, 'get', '--raw', '/')).toBe('I am beta');
    expect(await client.kubectl(kubeconfig, 'get', '--raw', '/version')).toContain('gitVersion');
  });
});

test('a watch that is silent for 90 s is not cut, and the next event arrives', async () => {
  const watches = [...site.clients.values()].map((client) => ({
    client,
    lines: client.startKubectl(kubeconfig, 'get', 'configmaps', '-n', 'default', '-o', 'name', '-w'),
  }));
  // No component writes there: the controllers create kube-root-ca.crt, and this cluster has none.
  await new Promise((resolve) => setTimeout(resolve, 90_000));
  for (const { lines } of watches) expect([lines.running, lines.all, lines.errors]).toEqual([true, [], '']);
  await site.client().kubectl(kubeconfig, 'create', 'configmap', 'after-the-silence', '-n', 'default');
  for (const { lines } of watches) {
    await lines.heard((line) => line === 'configmap/after-the-silence');
    await lines.stop();
  }
});

test('an object of 900 KB is applied and read back', async () => {
  const text = 'x'.repeat(900_000);
  await everywhere(async (client) => {
    const name = `large-${client.mode}`;
    const file = join(site.directory, `${name}.yaml`);
    writeFileSync(
      file,
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\ndata: {value: ${text}}\n`,
    );
    await client.kubectl(kubeconfig, 'apply', '--server-side', '-f', file);
  });
  for (const mode of MODES) {
    const jsonpath = ['get', 'cm', `large-${mode}`, '-n', 'default', '-o', 'jsonpath={.data.value}'];
    expect((await site.client(mode).kubectl(kubeconfig, ...jsonpath)) === text).toBe(true);
  }
});

describe('streams through the API server', () => {
  let behind: Lines;
  beforeAll(async () => {
    const { certFile, keyFile } = site.workload('alpha').certificate;
    const inside = ['netns', 'exec', 'alpha', process.execPath];
    behind = new Lines('ip', [...inside, streams, TENANT_ADDRESS, certFile, keyFile]);
    await behind.heard((line) => line === 'listening');
    const file = join(site.directory, 'pod.yaml');
    writeFileSync(file, POD);
    const client = site.client();
    await client.kubectl(kubeconfig, 'apply', '-f', file);
    const status = (kind: string, name: string, body: object) =>
      client.kubectl(
        kubeconfig,
        ...[
          'patch',
          kind,
          name,
          '--subresource=status',
          '--type=merge',
          '-p',
          JSON.stringify({ status: body }),
        ],
      );
    await status('node', 'worker', {
      addresses: [{ type: 'InternalIP', address: TENANT_ADDRESS }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    });
    await status('pod', 'program', {
      phase: 'Running',
      podIP: TENANT_ADDRESS,
      podIPs: [{ ip: TENANT_ADDRESS }],
    });
  });
  afterAll(async () => await behind?.stop());

  test('kubectl logs -f shows a line at once and another 20 s later', async () => {
    const lines = site.client().startKubectl(kubeconfig, 'logs', '-f', 'program');
    await lines.heard((line) => line === 'first line');
    expect(lines.all).toEqual(['first line']);
    await lines.heard((line) => line === 'last line');
    await lines.finish();
  });

  // kubectl exec and port-forward need a kubelet with SPDY. This test makes the same connection upgrade without kubectl.
  test('an upgraded connection carries bytes in both directions, as exec and port-forward need it', async () => {
    const path = '/api/v1/namespaces/default/pods/http:program:8080/proxy/';
    const upgraded = site.client('iptables').upgrade(kubeconfig, path);
    await upgraded.heard((line) => line === 'upgraded to echo');
    await upgraded.heard((line) => line === '20 of 20 echoes');
    await upgraded.stop();
  });
});

const POD = `apiVersion: v1
kind: Node
metadata: {name: worker}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: Pod
metadata: {name: program, namespace: default}
spec: {nodeName: worker, containers: [{name: program, image: none}]}
`;
