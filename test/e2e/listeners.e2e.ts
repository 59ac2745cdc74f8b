// Additional listeners on a real Kubernetes: the manifests of deploy/ applied with kubectl, and connections by name through CoreDNS, the
// Service, a real kube-proxy and two instances to machines in a tenant's network. Includes a promotion under load and an instance stop.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectStatus } from '../kube-api/suite.ts';
import { ip } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import type { Lines } from './client.ts';
import { Site } from './site.ts';
import { NAMESPACE, type Workload } from './workload.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
const MACHINES_PATH = `/apis/cluster.x-k8s.io/v1beta1/namespaces/${NAMESPACE}/machines`;
/** Name, address, port, labels: the values that the examples select. */
const MACHINES = [
  ['boot', '10.0.0.31', 22, { 'infrastructure.cluster.x-k8s.io/machine-name': 'bootstrap' }],
  ['worker-1', '10.0.0.32', 30_080, { 'node-role': 'worker' }],
  ['worker-2', '10.0.0.33', 30_080, { 'node-role': 'edge' }],
  ['control-1', '10.0.0.34', 8132, { 'cluster.x-k8s.io/control-plane': '' }],
  ['blue', '10.0.0.35', 6379, { app: 'redis', generation: 'blue' }],
  ['green', '10.0.0.36', 6379, { app: 'redis', generation: 'green' }],
] as const;

interface Greeting {
  readonly who: string;
  readonly ms: number;
  readonly error?: string;
}

let site: Site;
let cluster: Workload;
const servers: NetnsServer[] = [];
const running: Lines[] = [];

beforeAll(async () => {
  site = await Site.start({
    flags: ['--ignored-selector-labels', 'generation', '--health-interval', '500ms'],
  });
  cluster = await site.addWorkload({ name: 'kube-1' }, ['net-1', 'net-2']);
  await site.management.addCluster(cluster);
  for (const [name, address, port, labels] of MACHINES) {
    ip('-n', cluster.name, 'address', 'add', `${address}/24`, 'dev', 'br0');
    servers.push(await NetnsServer.start(cluster.name, 'name', address, String(port), name));
    await addMachine(name, address, labels);
  }
  for (const each of site.instances.values()) each.start();
  await site.proxiedKubeconfig('kube-1');
});
afterAll(async () => {
  for (const each of running) await each.stop();
  for (const each of servers) await each.stop();
  await site?.stop();
});

async function addMachine(name: string, address: string, labels: object): Promise<void> {
  const { client } = site.management;
  const infrastructureRef = { kind: 'OpenStackMachine', name };
  const body = {
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Machine',
    metadata: { name, labels: { 'cluster.x-k8s.io/cluster-name': 'kube-1', ...labels } },
    spec: { clusterName: 'kube-1', bootstrap: {}, infrastructureRef },
  };
  expectStatus(await client.post(MACHINES_PATH, body), 201);
  const status = { phase: 'Running', addresses: [{ type: 'InternalIP', address }] };
  expectStatus(await client.patch(`${MACHINES_PATH}/${name}/status`, { status }), 200);
}

const kubectl = (...args: readonly string[]) => site.management.kubectl('-n', NAMESPACE, ...args);
const isReady = (...names: readonly string[]) =>
  kubectl('wait', '--for=condition=Ready', '--timeout=150s', ...names.map((name) => `al/${name}`));
const greetings = ({ all }: Lines): Greeting[] => all.map((line) => JSON.parse(line) as Greeting);
const failed = (lines: Lines) => greetings(lines).filter(({ who }) => who === '');

function greet(service: string, port: number, everyMs: number): Lines {
  const lines = site.client().greet(`${service}.${NAMESPACE}`, port, everyMs);
  running.push(lines);
  return lines;
}

/** The servers that answer by name on several connections; kube-proxy may need a moment for the first. */
async function whoAnswers(service: string, port: number, count = 8): Promise<string[]> {
  const lines = greet(service, port, 50);
  await site.until(
    `${service} answers`,
    () => greetings(lines).filter(({ who }) => who !== '').length >= count,
  );
  await lines.finish();
  return [...new Set(greetings(lines).map(({ who }) => who))].filter((who) => who !== '').sort();
}

test('the definition can be installed while Isthmus runs, and every example is served', async () => {
  await kubectl('apply', '-f', join(DEPLOY, 'crds'));
  await site.until('listeners can be written', () =>
    kubectl('apply', '-f', join(DEPLOY, 'examples', 'listeners')).then(
      () => true,
      () => false,
    ),
  );
  // Allows all clients: the example allows only the networks of an office.
  await kubectl(
    'patch',
    'al',
    'bootstrap-ssh',
    '--type=merge',
    '-p',
    '{"spec":{"allowedCIDRs":["10.250.0.0/24"]}}',
  );
  await isReady('bootstrap-ssh', 'workers-http', 'konnectivity', 'web', 'web-preview');
  console.log(await kubectl('get', 'al', '-o', 'wide'));
  expect(await site.management.names('services')).toEqual(
    expect.arrayContaining([
      'kube-1',
      'kube-1-bootstrap-ssh',
      'kube-1-http',
      'kube-1-web',
      'kube-1-web-preview',
    ]),
  );
});

test('port 22 reaches only the bootstrap machine, by name, also while the API server is down', async () => {
  expect(await whoAnswers('kube-1-bootstrap-ssh', 22)).toEqual(['boot']);
  await cluster.kill();
  await site.until(
    'the slices of the cluster are gone',
    async () => (await site.management.slices('kube-1')).length === 0,
  );
  expect(await whoAnswers('kube-1-bootstrap-ssh', 22)).toEqual(['boot']);
  await site.until(
    'both lead there',
    async () => (await site.management.slices('kube-1-bootstrap-ssh')).length === 2,
  );
  await cluster.revive();
});

test('several workers share the connections, and control plane machines get none', async () => {
  expect(await whoAnswers('kube-1-http', 80, 30)).toEqual(['worker-1', 'worker-2']);
});

test('a promotion under load loses no connection', async () => {
  const load = greet('kube-1-web', 6379, 10);
  await site.until('blue answers', () => greetings(load).at(-1)?.who === 'blue');
  const before = load.all.length;
  const start = performance.now();
  await kubectl(
    'patch',
    'al',
    'web',
    '--type=merge',
    '-p',
    '{"spec":{"rolloutLabels":{"generation":"green"}}}',
  );
  const patchedMs = performance.now() - start;
  await site.until('green answers', () => greetings(load).at(-1)?.who === 'green');
  const took = performance.now() - start;
  await new Promise((resolve) => setTimeout(resolve, 3000));
  await kubectl('label', 'machine', 'blue', 'generation=green', '--overwrite');
  await site.until(
    'both answer',
    () =>
      new Set(
        greetings(load)
          .slice(-20)
          .map(({ who }) => who),
      ).size === 2,
  );
  await kubectl('label', 'machine', 'green', 'generation=old', '--overwrite');
  await site.until('only blue answers', () =>
    greetings(load)
      .slice(-20)
      .every(({ who }) => who === 'blue'),
  );
  await load.finish();
  const during = greetings(load).slice(before);
  console.log(
    `promotion: kubectl took ${patchedMs.toFixed(0)} ms, the first connection to green came ${took.toFixed(0)} ms after it began; ` +
      `${during.length} connections, ${failed(load).length} failed`,
  );
  expect(failed(load)).toEqual([]);
  expect(during.length).toBeGreaterThan(100);
});

test('an orderly stop of an instance drops no connection', async () => {
  await kubectl('label', 'machine', 'green', 'generation=green', '--overwrite');
  const load = greet('kube-1-web', 6379, 10);
  await site.until('it answers', () => greetings(load).some(({ who }) => who !== ''));
  await site.instance('net-1').stop('SIGTERM');
  expect(await site.management.slices('kube-1-web')).toHaveLength(1);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  await load.finish();
  console.log(`SIGTERM of one of two: ${load.all.length} connections, ${failed(load).length} failed`);
  expect(failed(load)).toEqual([]);
  site.instance('net-1').start();
  await site.until('it is back', async () => (await site.management.slices('kube-1-web')).length === 2);
});

test('the selector is immutable, and an invalid request is reported in status and Events', async () => {
  const edit = kubectl(
    'patch',
    'al',
    'web',
    '--type=merge',
    '-p',
    '{"spec":{"selector":{"matchLabels":{"app":"x"}}}}',
  );
  await expect(edit).rejects.toThrow(/Selector is immutable/);
  await kubectl('patch', 'al', 'web', '--type=merge', '-p', '{"spec":{"rolloutLabels":{"app":"x"}}}');
  const accepted = () =>
    kubectl('get', 'al', 'web', '-o', 'jsonpath={.status.conditions[?(@.type=="Accepted")].message}');
  await site.until('it says why', async () => (await accepted()).includes('--ignored-selector-labels'));
  const events = () => kubectl('get', 'events', '--field-selector', 'involvedObject.kind=AdditionalListener');
  await site.until('an Event reports it', async () => (await events()).includes('Invalid'));
});

test('deleting the listeners deletes all their objects, and no object of the cluster', async () => {
  // In two steps: Isthmus delays a deletion of most objects at once.
  await kubectl('delete', 'al', 'web', 'web-preview', 'konnectivity');
  await site.until('three are gone', async () => (await site.management.names('services')).length === 3);
  await kubectl('delete', 'al', '--all');
  await site.until(
    'only the cluster is left',
    async () => (await site.management.names('services')).join() === 'kube-1',
  );
  expect(
    (await site.management.names('endpointslices')).filter((name) => !/^kube-1-net-\d$/.test(name)),
  ).toEqual([]);
});
