// A tenant writes Machines of control planes: for a cluster of another namespace, with foreign and refused addresses, and by the thousand.
// They steer no client of another cluster, nothing is dialled in another network for them, and they slow down no other cluster.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Isthmus } from '../support/isthmus.ts';
import { Management } from '../support/kubernetes/management.ts';
import { FAST } from '../support/kubernetes/publish-site.ts';
import { type AttackNetwork, AttackNetworks, answerOf, TARGET } from '../support/network/attack-networks.ts';
import { dialsToNowhereIn } from '../support/network/netns-dials.ts';
import { until } from '../support/tcp.ts';

const TENANT = 'tenant-b';
const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';
/** No netns of this test has a route to these addresses. */
const NOWHERE = '10.99.0.66';
const MANY = 3000;

const networks = new AttackNetworks();
let management: Management;
let isthmus: Isthmus;
let victim: AttackNetwork;
let own: AttackNetwork;

beforeAll(async () => {
  victim = await networks.add('victim');
  own = await networks.add('tenant');
  management = await Management.start();
  management.api.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANT } });
  management.addCluster({ name: 'victim', networkId: victim.networkId, ...TARGET });
  // The API server of the tenant does not answer, so all of its Machines are needed.
  management.api.store.create({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'OpenStackCluster',
    metadata: { name: 'tenant-x', namespace: TENANT, labels: { [CLUSTER_LABEL]: 'tenant' } },
    spec: {
      identityRef: { name: 'clouds', cloudName: 'default' },
      disableAPIServerFloatingIP: true,
      controlPlaneEndpoint: { host: '10.99.0.1', port: TARGET.port },
    },
    status: { ready: true, network: { id: own.networkId, name: 'own' } },
  });
  isthmus = management.instance('net-1');
  await isthmus.start(...FAST, '--cluster-namespace', '*');
});
afterAll(async () => {
  await management.stop();
  await networks.stop();
});

function addMachine(name: string, cluster: string, address: string, labels: object = {}): void {
  management.api.store.create({
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Machine',
    metadata: { name, namespace: TENANT, labels: { 'cluster.x-k8s.io/control-plane': '', ...labels } },
    spec: { clusterName: cluster, bootstrap: {}, infrastructureRef: {} },
    status: { phase: 'Running', addresses: [{ type: 'InternalIP', address }] },
  });
}

const waysOf = async (cluster: string) =>
  (await isthmus.untilState(cluster, cluster === 'victim' ? 'serving' : 'unhealthy')).backends.map(
    ({ machine = '', address, netns }) => [machine, address, netns],
  );

test('hostile Machines become no way to another cluster, and are dialled only in the network of their own', async () => {
  await isthmus.untilState('victim', 'serving');
  const nowhere = dialsToNowhereIn(victim.netns);
  addMachine('by-name', 'victim', NOWHERE);
  addMachine('by-label', 'tenant-2', NOWHERE, { [CLUSTER_LABEL]: 'victim' });
  addMachine('by-path', '../magnum-system/victim', NOWHERE);
  addMachine('a-loopback', 'tenant', '127.0.0.1');
  addMachine('b-metadata', 'tenant', '169.254.169.254');
  addMachine('c-embedded', 'tenant', '64:ff9b::7f00:1');
  for (let i = 0; i < MANY; i += 1)
    addMachine(`m-${String(i).padStart(5, '0')}`, 'tenant', `10.99.${1 + (i >> 8)}.${i & 255}`);
  await until('seven of them are ways of the own cluster', async () => (await waysOf('tenant')).length === 8);
  expect((await waysOf('tenant')).slice(1).map(([machine]) => machine)).toEqual(
    Array.from({ length: 7 }, (_, i) => `m-0000${i}`),
  );
  expect(new Set((await waysOf('tenant')).map(([, , netns]) => netns))).toEqual(new Set([own.netns]));
  await until('they are dialled', () => dialsToNowhereIn(own.netns) > 7);

  expect(await waysOf('victim')).toEqual([['', TARGET.address, victim.netns]]);
  expect(dialsToNowhereIn(victim.netns)).toBe(nowhere);
  expect(await answerOf(isthmus, 'victim')).toBe('I am victim');
});

test('a Machine that reports the address of another cluster leads to it only inside the own network', async () => {
  // Both networks have this address. In the own one it is the server of the tenant.
  management.api.store.delete({
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Machine',
    namespace: TENANT,
    name: 'm-00000',
  });
  addMachine('0-first', 'tenant', TARGET.address);
  await until('it serves the own cluster', async () => (await answerOf(isthmus, 'tenant')) === 'I am tenant');
  const before = victim.dials();
  for (let i = 0; i < 10; i += 1) expect(await answerOf(isthmus, 'tenant')).toBe('I am tenant');
  // Probes of the victim's own API server go on: two and a half in a second.
  expect(victim.dials() - before).toBeLessThan(10);
});

test('a flood of Machine edits delays no other cluster', async () => {
  const ref = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine', namespace: TENANT };
  for (let round = 0; round < 20; round += 1) {
    for (let i = 1; i < 100; i += 1)
      management.api.store.patch(
        { ...ref, name: `m-${String(i).padStart(5, '0')}` },
        { status: { addresses: [{ type: 'InternalIP', address: `10.99.${100 + round}.${i}` }] } },
        'status',
      );
    expect(await answerOf(isthmus, 'victim')).toBe('I am victim');
  }
  // A cluster that is created in the meantime is served.
  const late = await networks.add('late');
  management.addCluster({ name: 'late', networkId: late.networkId, ...TARGET });
  await isthmus.untilState('late', 'serving');
  expect(await answerOf(isthmus, 'late')).toBe('I am late');
});
