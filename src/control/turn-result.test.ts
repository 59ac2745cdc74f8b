import { expect, test } from 'vitest';
import { EMPTY_ROUTE_TABLE } from '../routing/route-table.ts';
import type { ClusterStatus } from './desired/cluster-status.ts';
import { TurnCache } from './objects/turn-cache.ts';
import { NO_MEMORY, type Plan, type PublicationStatus } from './plan/plan.ts';
import { turnResult } from './turn-result.ts';

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
    publications: new Map([['a', publication]]),
    problems: [
      { origin: 'z', reason: 'x' },
      { origin: 'a', reason: 'y' },
      { origin: 'a', reason: 'x' },
    ],
    servesAll: true,
    servesNone: null,
    memory: NO_MEMORY,
    lookAgainAtMs: null,
  };
  const shown = turnResult(desired, plan, new TurnCache());
  expect(shown.clusters.map((each) => each.publication ?? null)).toEqual([publication, null, null]);
  expect(shown.clusters[1]).toBe(desired.clusters[1]);
  expect(desired.clusters.some((each) => 'publication' in each)).toBe(false);
  // The order of the fields in the JSON of /status: the publication comes last.
  expect(JSON.stringify(shown.clusters[0])).toBe(
    `${JSON.stringify(desired.clusters[0]).slice(0, -1)},"publication":${JSON.stringify(publication)}}`,
  );
  expect(shown.problems.map(({ origin, reason }) => origin + reason)).toEqual(['ax', 'ay', 'mx', 'zx']);
  expect(shown).toMatchObject({ complete: true, routes: EMPTY_ROUTE_TABLE, heldPorts: [17_001] });
});
