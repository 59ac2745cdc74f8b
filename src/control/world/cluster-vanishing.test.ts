import { describe, expect, test } from 'vitest';
import type { ClusterReading, SourceSnapshot } from '../sources/cluster-source.ts';
import { withoutMassVanishing } from './cluster-vanishing.ts';
import { MASS_DELETE_LASTS_MS } from './mass-delete-breaker.ts';

const reading = (name: string): ClusterReading => ({
  kind: 'proxied',
  facts: {
    key: `ns/${name}`,
    name,
    namespace: 'ns',
    origin: `OpenStackCluster ns/${name}`,
    object: { apiVersion: 'v', name, uid: `uid-${name}`, directServer: null, deleting: false },
    networkIds: ['net'],
    address: '10.0.0.1',
    port: 6443,
  },
});
const unproxied = (name: string): ClusterReading => ({
  kind: 'not-proxied',
  key: `ns/${name}`,
  name,
  namespace: 'ns',
  origin: name,
  object: { apiVersion: 'v', name, uid: `uid-${name}`, directServer: null, deleting: false },
  reason: '',
});
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const BEFORE = NAMES.map(reading);
const source = (names: readonly string[], complete = true): SourceSnapshot => ({
  complete,
  clusters: names.map(reading),
  problems: [],
});
const seen = (now: SourceSnapshot, changes: object = {}) =>
  withoutMassVanishing({
    source: now,
    before: BEFORE,
    sinceMs: null,
    recent: new Map(),
    nowMs: 1000,
    allow: false,
    ...changes,
  });
const keys = ({ source: { clusters } }: ReturnType<typeof withoutMassVanishing>) =>
  clusters.map((each) => (each.kind === 'proxied' ? each.facts.key : each.key)).sort();

describe('clusters that disappear all at once', () => {
  test('still count as present, in an incomplete world with a reason', () => {
    const answer = seen(source([]));
    expect(keys(answer)).toEqual(NAMES.map((name) => `ns/${name}`));
    expect(answer.vanishedSinceMs).toBe(1000);
    expect(answer.source.complete).toBe(false);
    expect(answer.source.problems).toMatchObject([
      { origin: 'mass delete', reason: expect.stringContaining('5 of our 5 objects') },
    ]);
  });

  test('own no objects meanwhile, because the garbage collector deletes objects that refer to them', () => {
    const { clusters } = seen(source(['a'])).source;
    const uids = clusters.map((each) => (each.kind === 'proxied' ? each.facts.object?.uid : null));
    expect(uids).toEqual(['uid-a', null, null, null, null]);
    const again = withoutMassVanishing({
      source: source(['a']),
      before: [...clusters.slice(0, 4), unproxied('e')],
      sinceMs: 1000,
      recent: new Map(),
      nowMs: 2000,
      allow: false,
    });
    // A reading without a uid is reused by reference.
    expect(again.source.clusters.slice(1, 4)).toEqual(clusters.slice(1, 4));
    expect(again.source.clusters[1]).toBe(clusters[1]);
    expect(again.source.clusters[4]).toMatchObject({ kind: 'not-proxied', object: { uid: null } });
  });

  test('count as gone after the waiting time', () => {
    const nowMs = 1000 + MASS_DELETE_LASTS_MS;
    expect(keys(seen(source([]), { sinceMs: 1000, nowMs: nowMs - 1 }))).toHaveLength(5);
    const answer = seen(source([]), { sinceMs: 1000, nowMs });
    expect(answer).toMatchObject({ source: { complete: true, clusters: [] }, vanishedSinceMs: 1000 });
  });

  test('count as gone at once with --allow-mass-delete', () => {
    expect(seen(source([]), { allow: true }).source.clusters).toEqual([]);
  });

  test('that return are used as read, and the waiting time restarts', () => {
    const back = source(NAMES);
    expect(seen(back, { sinceMs: 1000, nowMs: 2000 })).toMatchObject({ source: back, vanishedSinceMs: null });
  });

  test('are not counted while the source is incomplete, and the waiting time continues', () => {
    const blind = source([], false);
    expect(seen(blind, { sinceMs: 500 })).toMatchObject({ source: blind, vanishedSinceMs: 500 });
  });
});

describe('clusters that disappear one after the other', () => {
  const goneBy = (stepMs: number) => {
    let answer = seen(source(NAMES));
    let nowMs = 1000;
    for (let left = 4; left >= 0; left -= 1) {
      nowMs += stepMs;
      answer = seen(source(NAMES.slice(0, left)), {
        before: answer.source.clusters,
        sinceMs: answer.vanishedSinceMs,
        recent: answer.recent,
        nowMs,
      });
    }
    return answer;
  };

  test('within seconds count as one mass deletion and are all kept', () => {
    const answer = goneBy(100);
    expect(keys(answer)).toEqual(NAMES.map((name) => `ns/${name}`));
    expect(answer.source.complete).toBe(false);
  });

  test('with enough time in between count as separate deletions', () => {
    const answer = goneBy(10_000);
    expect(answer.source).toMatchObject({ complete: true, clusters: [] });
    expect(answer.vanishedSinceMs).toBeNull();
  });
});

describe('clusters that disappear', () => {
  test.each([
    ['three of five', ['a', 'b']],
    ['one', ['a', 'b', 'c', 'd']],
  ])('%s together count as deleted: such deletions are normal', (_title, left) => {
    expect(seen(source(left))).toMatchObject({ source: source(left), vanishedSinceMs: null });
  });

  test('count as gone if no earlier turn had them', () => {
    expect(seen(source([]), { before: null })).toMatchObject({ source: source([]), vanishedSinceMs: null });
  });
});
