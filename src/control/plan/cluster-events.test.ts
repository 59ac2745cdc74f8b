import { describe, expect, test } from 'vitest';
import type { ClusterState, ClusterStatus } from '../desired/cluster-status.ts';
import { CLUSTER_EVENTS } from './cluster-events.ts';
import { type EventMemory, type StatusEventsContext, statusEvents } from './status-events.ts';

type Context = StatusEventsContext<ClusterStatus>;

const object = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'OpenStackCluster',
  name: 'kube-1-x7k2p',
  namespace: 'magnum-system',
  uid: 'u-1',
};
const status = (state: ClusterState, more: Partial<ClusterStatus> = {}): ClusterStatus => ({
  name: 'kube-1',
  namespace: 'magnum-system',
  origin: 'the API',
  state,
  reason: `is ${state}`,
  serverNames: ['kube-1.magnum-system'],
  backends: [],
  ...more,
});
const STATES: readonly ClusterState[] = [
  'serving',
  'unhealthy',
  'no-netns',
  'pending',
  'not-proxied',
  'invalid',
];

function setup(context: Partial<Context> = {}) {
  const clock = { ms: 0 };
  let memory: EventMemory<ClusterStatus> | null = null;
  const changes = (clusters: readonly ClusterStatus[], changed: Partial<Context> = {}) => {
    const all = {
      objectOf: () => object,
      isFirst: true,
      isFirstServing: () => true,
      instance: 'net-1',
      nowMs: clock.ms,
    };
    const result = statusEvents(CLUSTER_EVENTS, clusters, { ...all, ...context, ...changed }, memory);
    memory = result.memory;
    return result.events;
  };
  const turn = (...clusters: ClusterStatus[]) =>
    changes(clusters).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  return { clock, changes, turn };
}

/** Events past the quiet time, with the cluster in this state; null: the cluster is still unknown. */
function settled(state: ClusterState | null, context: Partial<Context> = {}) {
  const world = setup(context);
  world.turn(...(state === null ? [] : [status(state)]));
  world.clock.ms += 3_600_000;
  return world;
}

describe('a change', () => {
  const served = 'Normal Proxied: served by net-1: is serving';
  const unhealthy = 'Warning Unhealthy: no longer served by net-1: is unhealthy';
  const noNetns = 'Warning NoNetns: no longer served by net-1: is no-netns';
  const pending = 'Normal Pending: is pending';
  const invalid = 'Warning Invalid: is invalid';
  const notProxied = 'Normal NotProxied: is not-proxied';
  const NONE = null;
  /** In the order of STATES. */
  const TABLE: readonly [from: ClusterState | null, ...events: (string | null)[]][] = [
    ['serving', NONE, unhealthy, noNetns, pending, notProxied, invalid],
    ['unhealthy', served, NONE, NONE, pending, notProxied, invalid],
    ['no-netns', served, NONE, NONE, pending, notProxied, invalid],
    ['pending', served, NONE, NONE, NONE, notProxied, invalid],
    ['not-proxied', served, NONE, NONE, pending, NONE, invalid],
    ['invalid', served, NONE, NONE, pending, notProxied, NONE],
    [null, served, NONE, NONE, pending, NONE, invalid],
  ];
  const rows = TABLE.flatMap(([from, ...events]) =>
    STATES.map((to, i) => ({ from, to, event: events[i] ?? null })),
  );

  test.each(rows)('from $from to $to reports: $event', ({ from, to, event }) => {
    expect(settled(from).turn(status(to))).toEqual(event === null ? [] : [event]);
  });

  test('is reported once', () => {
    const { turn } = settled('serving');
    expect(turn(status('unhealthy'))).toHaveLength(1);
    expect(turn(status('unhealthy', { reason: 'another backend fails too' }))).toEqual([]);
  });

  test('of the reason alone is reported only for an invalid cluster', () => {
    const { turn } = settled('invalid');
    expect(turn(status('invalid', { reason: 'worse' }))).toEqual(['Warning Invalid: worse']);
    expect(turn(status('invalid', { reason: 'worse' }))).toEqual([]);
  });

  test('from any state to deleted is not reported, because the object no longer exists', () => {
    expect(settled('serving').turn()).toEqual([]);
  });

  test.each<[title: string, more: Partial<ClusterStatus>, reason: string]>([
    ['a name that is invalid for a Service', { name: 'a.b', serverNames: [] }, 'NameInvalid'],
    ['no name', { name: '', serverNames: [] }, 'NameInvalid'],
    ['a name of another cluster', { serverNames: [] }, 'NameConflict'],
    ['any other problem', {}, 'Invalid'],
  ])('to %s has its own reason', (_title, more, reason) => {
    expect(settled(null).turn(status('invalid', more))).toEqual([`Warning ${reason}: is invalid`]);
  });

  test('that all instances see is reported by the first one; any other change by the instance that sees it', () => {
    const events = (from: ClusterState | null, to: ClusterState) =>
      settled(from, { isFirst: false }).turn(status(to));
    for (const to of ['pending', 'invalid', 'not-proxied'] as const)
      expect(events('serving', to)).toEqual([]);
    expect(events('unhealthy', 'serving')).toHaveLength(1);
    expect(events('serving', 'unhealthy')).toHaveLength(1);
  });

  test('of a cluster without an object, or with one that is being deleted, is not reported', () => {
    expect(settled('serving', { objectOf: () => null }).turn(status('unhealthy'))).toEqual([]);
  });

  test('is reported for each cluster separately, with its object', () => {
    const { changes, clock } = setup();
    const context: Partial<Context> = {
      objectOf: ({ name }) => ({ ...object, name: `${name}-object` }),
      isFirst: true,
    };
    changes([status('serving'), status('serving', { name: 'kube-2' })], context);
    clock.ms += 3_600_000;
    const events = changes([status('serving'), status('unhealthy', { name: 'kube-2' })], context);
    expect(events).toEqual([
      {
        object: { ...object, name: 'kube-2-object' },
        type: 'Warning',
        reason: 'Unhealthy',
        message: 'no longer served by net-1: is unhealthy',
      },
    ]);
  });
});

describe('a start', () => {
  test.each(STATES.filter((state) => state !== 'invalid'))(
    'does not report a cluster that is %s',
    (state) => {
      expect(setup().turn(status(state))).toEqual([]);
    },
  );

  test('reports an invalid cluster, because an operator must fix it', () => {
    expect(setup().turn(status('invalid'))).toEqual(['Warning Invalid: is invalid']);
  });

  test('does not report that clusters are served again', () => {
    const { turn, clock } = setup();
    turn(status('unhealthy'));
    clock.ms += 4000;
    expect(turn(status('serving'))).toEqual([]);
    clock.ms += 1000;
    expect(turn(status('unhealthy'))).toHaveLength(1);
    expect(turn(status('serving'))).toHaveLength(1);
  });

  test('ends after a minute: a cluster that is first served after that is reported', () => {
    const { turn, clock } = setup();
    turn(status('unhealthy'));
    clock.ms += 60_000;
    expect(turn(status('serving'))).toHaveLength(1);
  });

  test('does not hide a cluster that appears meanwhile', () => {
    const { turn, clock } = setup();
    turn();
    clock.ms += 1000;
    expect(turn(status('pending'))).toHaveLength(1);
    expect(turn(status('serving'))).toHaveLength(1);
  });
});

describe('the certificate of the API server', () => {
  const certificate = (changes: Partial<NonNullable<ClusterStatus['certificate']>> = {}) => ({
    names: ['kubernetes'],
    omitted: 0,
    notAfter: '2027-01-01T00:00:00.000Z',
    expiry: 'valid' as const,
    verifies: true,
    problems: [],
    ...changes,
  });
  const WITHOUT = { ...status('serving'), serverNames: ['alpha.ns'] };
  const withFacts = (changes: Parameters<typeof certificate>[0] = {}) => ({
    ...WITHOUT,
    certificate: certificate(changes),
  });
  const NAMES =
    'Warning CertificateNames: the certificate of the API server has none of the names that lead to it (alpha.ns): it has kubernetes';
  const soon = (text: string) =>
    `Warning CertificateExpires: the certificate of the API server ${text} at 2027-01-01T00:00:00.000Z: renew it`;

  test.each<[title: string, before: ClusterStatus, after: ClusterStatus, events: readonly string[]]>([
    ['fits', WITHOUT, withFacts(), []],
    ['has no name that leads to it', WITHOUT, withFacts({ verifies: false }), [NAMES]],
    ['loses its names', withFacts(), withFacts({ verifies: false }), [NAMES]],
    ['still has no name', withFacts({ verifies: false }), withFacts({ verifies: false, omitted: 1 }), []],
    ['is fixed', withFacts({ verifies: false }), withFacts(), []],
    ['ends soon', withFacts(), withFacts({ expiry: 'soon' }), [soon('ends')]],
    ['still ends soon', withFacts({ expiry: 'soon' }), withFacts({ expiry: 'soon', omitted: 1 }), []],
    ['has ended', withFacts({ expiry: 'soon' }), withFacts({ expiry: 'expired' }), [soon('ended')]],
    ['fits in no way', WITHOUT, withFacts({ verifies: false, expiry: 'expired' }), [NAMES, soon('ended')]],
  ])('%s', (_title, before, after, events) => {
    const { clock, turn } = setup();
    turn(before);
    clock.ms += 3_600_000;
    expect(turn(after)).toEqual(events);
  });

  test('is reported only by the first instance that serves the cluster', () => {
    const { changes } = setup({ isFirstServing: () => false });
    changes([WITHOUT]);
    expect(changes([withFacts({ verifies: false, expiry: 'soon' })])).toEqual([]);
  });
});
