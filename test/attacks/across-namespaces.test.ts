// A tenant writes Machines and AdditionalListeners into its own namespace that name a cluster of another namespace. Such objects act only
// within the namespace of the OpenStackCluster.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ListenerView } from '../../src/telemetry/status/listener-view.ts';
import type { Isthmus } from '../support/isthmus.ts';
import { Management, NAMESPACE } from '../support/kubernetes/management.ts';
import { FAST } from '../support/kubernetes/publish-site.ts';
import { type AttackNetwork, AttackNetworks, TARGET } from '../support/network/attack-networks.ts';
import { dialsToNowhereIn } from '../support/network/netns-dials.ts';

const TENANT = 'tenant-b';
/** No netns of this test has a route to this address. */
const WANTED = '10.0.0.66';
const WORKER = { role: 'worker' };
const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

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
  management.addMachine('good', 'victim', TARGET.address, WORKER);
  management.addListener('good', listenerSpec('victim'));
  isthmus = management.instance('net-1');
  await isthmus.start(...FAST, '--cluster-namespace', '*', '--listener-ports', '17400-17449');
});
afterAll(async () => {
  await management.stop();
  await networks.stop();
});

const listenerSpec = (clusterName: string) => ({
  clusterName,
  port: TARGET.port,
  selector: { matchLabels: WORKER },
});

function addMachine(
  name: string,
  spec: { clusterName: string },
  labels: Readonly<Record<string, string>>,
): void {
  management.api.store.create({
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Machine',
    metadata: { name, namespace: TENANT, labels: { ...WORKER, ...labels } },
    spec: { ...spec, bootstrap: {}, infrastructureRef: {} },
    status: { phase: 'Running', addresses: [{ type: 'InternalIP', address: WANTED }] },
  });
}

function addListener(name: string, clusterName: string): void {
  management.api.store.create({
    apiVersion: 'isthmus.dev/v1alpha1',
    kind: 'AdditionalListener',
    metadata: { name, namespace: TENANT },
    spec: listenerSpec(clusterName),
  });
}

async function untilListener(
  namespace: string,
  name: string,
  isThere: (view: ListenerView) => boolean,
): Promise<ListenerView> {
  let found: ListenerView | undefined;
  await expect
    .poll(async () => {
      const { listeners } = await isthmus.status();
      found = listeners.find((each) => each.namespace === namespace && each.name === name);
      return found !== undefined && isThere(found);
    })
    .toBe(true);
  return found as ListenerView;
}

test('machines and listeners of another namespace neither join a cluster nor lead into its network', async () => {
  await untilListener(NAMESPACE, 'good', ({ state }) => state === 'serving');
  addMachine('by-name', { clusterName: 'victim' }, {});
  addMachine('by-label', { clusterName: 'tenant' }, { [CLUSTER_LABEL]: 'victim' });
  addMachine('by-path', { clusterName: `../${NAMESPACE}/victim` }, {});
  addListener('about-victim', 'victim');
  // The tenant's own cluster, in its own network, is added last. Once it is served, the proxy has judged the other objects too.
  management.api.store.create({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'OpenStackCluster',
    metadata: { name: 'tenant-x', namespace: TENANT, labels: { [CLUSTER_LABEL]: 'tenant' } },
    spec: {
      identityRef: { name: 'clouds', cloudName: 'default' },
      disableAPIServerFloatingIP: true,
      controlPlaneEndpoint: { host: TARGET.address, port: TARGET.port },
    },
    status: { ready: true, network: { id: own.networkId, name: 'own' } },
  });
  addListener('about-own', 'tenant');

  const mine = await untilListener(TENANT, 'about-own', ({ members }) => members.length > 0);
  expect(mine.members.map(({ machine, netns }) => [machine, netns])).toEqual([['by-label', own.netns]]);
  const foreign = await untilListener(TENANT, 'about-victim', () => true);
  expect(foreign).toMatchObject({ state: 'pending', members: [], listenPort: null });
  expect(foreign.reason).toContain(`there is no cluster victim in namespace ${TENANT}`);
  const good = await untilListener(NAMESPACE, 'good', ({ state }) => state === 'serving');
  expect(good.members.map(({ machine, address, netns }) => [machine, address, netns])).toEqual([
    ['good', TARGET.address, victim.netns],
  ]);
  // The kernel counts a dial to the address of the tenant's machines in the netns that makes it, because no netns has a route to it.
  await expect.poll(() => dialsToNowhereIn(own.netns)).toBeGreaterThan(0);
  expect(dialsToNowhereIn(victim.netns)).toBe(0);
});
