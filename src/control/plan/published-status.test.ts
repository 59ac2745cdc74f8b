import { expect, test } from 'vitest';
import { EMPTY_ROUTE_TABLE } from '../../routing/route-table.ts';
import type { ClusterStatus } from '../desired/cluster-status.ts';
import type { PublicationStatus } from '../desired/publication.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { NO_MEMORY, type Plan } from './plan.ts';
import { withPublications } from './published-status.ts';

const status = (name: string, origin: string, serverNames: readonly string[]): ClusterStatus => ({
  name,
  namespace: 'ns',
  origin,
  state: 'serving',
  reason: '',
  serverNames,
  backends: [],
});
const publication: PublicationStatus = {
  service: 'ours',
  slice: 'ready',
  readyInstances: 1,
  kubeconfig: 'proxied',
  problem: null,
};

test('only the holder of a name is shown as published, and all problems are sorted', () => {
  const desired = {
    complete: true,
    routes: EMPTY_ROUTE_TABLE,
    backends: [],
    clusters: [status('a', 'first', ['a.ns']), status('a', 'second', []), status('b', 'third', ['b.ns'])],
    problems: [{ origin: 'm', reason: 'x' }],
    ports: [],
    heldPorts: [17_001],
    listeners: [],
  };
  const plan: Plan = {
    actions: [],
    events: [],
    leaseReads: [],
    listeners: new Map(),
    clusters: new Map([['a', publication]]),
    problems: [
      { origin: 'z', reason: 'x' },
      { origin: 'a', reason: 'y' },
      { origin: 'a', reason: 'x' },
    ],
    memory: NO_MEMORY,
    lookAgainAtMs: null,
  };
  const shown = withPublications(desired, plan, new TurnCache());
  expect(shown.clusters.map((each) => each.publication ?? null)).toEqual([publication, null, null]);
  expect(shown.clusters[1]).toBe(desired.clusters[1]);
  expect(shown.problems.map(({ origin, reason }) => origin + reason)).toEqual(['ax', 'ay', 'mx', 'zx']);
  expect(shown).toMatchObject({ complete: true, routes: EMPTY_ROUTE_TABLE, heldPorts: [17_001] });
});
