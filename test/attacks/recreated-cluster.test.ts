// A cluster is deleted, and another tenant creates an OpenStackCluster of the same name before the next resync of this instance. The new
// object must not enter the network of the former one. A restore looks the same to the API and keeps its route.
import { describe, expect, test } from 'vitest';
import type { ClusterFacts, ClusterReading } from '../../src/control/sources/cluster-source.ts';
import type { World } from '../../src/control/world/world.ts';
import {
  desiredFor,
  keyAt,
  listener,
  machine,
  NAMESPACE,
  NETNS,
  NETWORK,
  worldFor,
} from '../support/kubernetes/listeners.ts';

const ENDPOINT = 'https://10.0.0.5:6443';
const WORKER = { role: 'worker' };
const API_SERVER = `10.0.0.5:6443@${NETNS.path}#${NETNS.identity}`;
const UP = [API_SERVER, keyAt('10.0.0.11'), keyAt('10.0.0.66')];

const identity = (uid: string, directServer: string | null, name: string) => ({
  key: `${NAMESPACE}/kube-1-x`,
  name,
  namespace: NAMESPACE,
  origin: 'kube-1',
  object: {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    name: 'kube-1-x',
    uid,
    directServer,
    deleting: false,
  },
});

const FACTS: ClusterFacts = {
  ...identity('former', ENDPOINT, 'kube-1'),
  networkIds: [NETWORK],
  clusterNetworkId: NETWORK,
  address: '10.0.0.5',
  port: 6443,
};

const former = (): World =>
  worldFor({
    clusters: [{ kind: 'proxied', facts: FACTS }],
    listeners: [listener('ssh')],
    machines: [machine('w-1', '10.0.0.11', WORKER)],
    up: UP,
  });

/** The result of the next observation: an object without a status, and a machine that the new owner created. */
function nextLook(now: ClusterReading, complete = true) {
  const machines = [machine('evil', '10.0.0.66', WORKER)];
  const facts = { clusters: [now], complete, listeners: [listener('ssh')], machines, up: UP };
  const world = worldFor(facts, worldFor(facts, former()));
  const { clusters, listeners, routes, backends } = desiredFor(world);
  return {
    state: clusters[0]?.state,
    apiServer: clusters[0]?.apiServer?.address,
    routed: [...routes.byServerName.values()].flatMap((route) => route.backends.map(({ key }) => key)),
    probed: backends.map(({ key }) => key),
    listener: listeners[0]?.state,
  };
}

const made = (uid: string, endpoint: string | null, name = 'kube-1'): ClusterReading => ({
  kind: 'pending',
  ...identity(uid, endpoint, name),
  reason: 'no status',
});

const NOTHING = { state: 'pending', apiServer: undefined, routed: [], probed: [], listener: 'pending' };

describe('an object recreated under the name of another', () => {
  test.each<[string, ClusterReading, boolean]>([
    ['without an endpoint', made('new', null), true],
    ['with an endpoint of its own', made('new', 'https://10.0.0.66:6443'), true],
    ['without an endpoint, while the list is incomplete', made('new', null), false],
  ])('%s inherits neither route nor network', (_title, now, complete) => {
    expect(nextLook(now, complete)).toEqual(NOTHING);
  });

  test('that belongs to another cluster inherits nothing, whatever its endpoint', () => {
    expect(nextLook(made('new', ENDPOINT, 'kube-2'))).toMatchObject({ routed: [], probed: [] });
  });

  test('that a restore created keeps the route to the former API server, and gives its network to no machine', () => {
    const { state, apiServer, routed, probed, listener } = nextLook(made('new', ENDPOINT));
    expect([state, apiServer, listener]).toEqual(['pending', '10.0.0.5', 'pending']);
    expect(new Set(routed)).toEqual(new Set([API_SERVER]));
    expect(probed).toEqual([API_SERVER]);
  });
});

test('an object that lost its status keeps its route, network and machines', () => {
  const { state, apiServer, probed, listener } = nextLook(made('former', ENDPOINT));
  expect([state, apiServer, listener]).toEqual(['pending', '10.0.0.5', 'pending']);
  expect(probed).toEqual([API_SERVER, keyAt('10.0.0.66')].sort());
});
