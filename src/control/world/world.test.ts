import { describe, expect, test } from 'vitest';
import { ModelApi } from '../../../test/support/kubernetes/model-api.ts';
import type { NetnsEntry, NetnsSnapshot } from '../../netns/netns-directory.ts';
import { endpointSliceOf } from '../objects/published-objects.ts';
import type { ClusterFacts, ClusterReading, SourceSnapshot } from '../sources/cluster-source.ts';
import { type World, worldOf } from './world.ts';

const facts = (name: string): ClusterFacts => ({
  key: `ns/${name}`,
  name,
  namespace: 'ns',
  origin: `${name}.yaml`,
  networkIds: ['net'],
  address: '10.0.0.1',
  port: 6443,
});
const proxied = (name: string): ClusterReading => ({ kind: 'proxied', facts: facts(name) });
const other = (kind: 'pending' | 'invalid' | 'not-proxied', name: string): ClusterReading => {
  const { key, namespace, origin } = facts(name);
  return { kind, key, name, namespace, origin, reason: 'because' };
};
const source = (clusters: readonly ClusterReading[], complete = true): SourceSnapshot => ({
  complete,
  clusters,
  problems: [],
});
const entry = (name: string, identity = '1'): NetnsEntry => ({ name, path: `/run/netns/${name}`, identity });
const netns = (
  entries: readonly NetnsEntry[],
  complete = true,
  problems: NetnsSnapshot['problems'] = [],
): NetnsSnapshot => ({
  complete,
  entries,
  problems,
});
const observed = (clusters: SourceSnapshot, namespaces = netns([])) => ({
  source: clusters,
  netns: namespaces,
  health: new Map(),
});

describe('a world', () => {
  test('is frozen and sorted for any order of the observations', () => {
    const world = worldOf(
      observed(source([proxied('b'), proxied('a')]), netns([entry('z'), entry('y')])),
      null,
    );
    expect(world.clusters).toEqual([proxied('a'), proxied('b')]);
    expect(world.netns.map(({ name }) => name)).toEqual(['y', 'z']);
    expect(Object.isFrozen(world) && Object.isFrozen(world.clusters) && Object.isFrozen(world.netns)).toBe(
      true,
    );
  });

  test.each([
    [true, true, true],
    [false, true, false],
    [true, false, false],
  ])('with source complete %s and netns complete %s is complete %s', (clusters, namespaces, complete) => {
    expect(worldOf(observed(source([], clusters), netns([], namespaces)), null).complete).toBe(complete);
  });

  test('contains each key once, with the first reading by origin', () => {
    const second: ClusterReading = { kind: 'proxied', facts: { ...facts('a'), origin: 'z.yaml' } };
    expect(worldOf(observed(source([second, proxied('a')])), null).clusters).toEqual([proxied('a')]);
  });
});

describe('the last known facts of a cluster', () => {
  const before = worldOf(observed(source([proxied('a')])), null);
  test.each<[string, SourceSnapshot, readonly string[]]>([
    ['stay while it is pending', source([other('pending', 'a')]), ['ns/a']],
    ['stay while it is invalid', source([other('invalid', 'a')]), ['ns/a']],
    ['are dropped when it is no longer proxied', source([other('not-proxied', 'a')]), []],
    ['are dropped when a complete snapshot lacks it', source([]), []],
    ['stay when an incomplete snapshot lacks it', source([], false), ['ns/a']],
    [
      'are dropped when an incomplete snapshot has it as not proxied',
      source([other('not-proxied', 'a')], false),
      [],
    ],
    [
      'do not exist for a cluster that was never proxied',
      source([other('pending', 'b'), proxied('a')]),
      ['ns/a'],
    ],
  ])('%s', (_title, now, keys) => {
    expect([...worldOf(observed(now), before).lastKnown.keys()]).toEqual(keys);
  });

  test('survive any number of turns, and follow the newest facts', () => {
    let world = worldOf(observed(source([{ kind: 'proxied', facts: { ...facts('a'), port: 7 } }])), before);
    for (let i = 0; i < 3; i++) world = worldOf(observed(source([other('pending', 'a')])), world);
    expect(world.lastKnown.get('ns/a')?.port).toBe(7);
  });
});

describe('netns of an unreadable directory', () => {
  const before = worldOf(observed(source([]), netns([entry('a'), entry('b'), entry('c')])), null);
  test('stay, unless a current entry or problem replaces them', () => {
    const now = netns([entry('b', 'new')], false, [{ name: 'c', reason: 'not a netns' }]);
    expect(worldOf(observed(source([]), now), before).netns).toEqual([entry('a'), entry('b', 'new')]);
  });
  test('stay over several turns', () => {
    const blind = worldOf(observed(source([]), netns([], false)), before);
    expect(worldOf(observed(source([]), netns([], false)), blind).netns).toEqual(before.netns);
  });
  test('are removed once the directory is readable again', () => {
    expect(worldOf(observed(source([]), netns([entry('a')])), before).netns).toEqual([entry('a')]);
  });
});

describe('a cluster that is no longer proxied', () => {
  const SETTINGS = { departureMs: 5000, allowMassDelete: false };
  const setup = () => {
    const api = new ModelApi();
    let world: World | null = null;
    const turn = (...clusters: ClusterReading[]): World => {
      world = worldOf({ ...observed(source(clusters)), kube: api.seenBy({}) }, world, SETTINGS);
      return world;
    };
    const publish = (instance = 'net-1') =>
      api.put(
        'slices',
        endpointSliceOf({
          cluster: 'a',
          namespace: 'ns',
          owner: null,
          instance,
          address: '192.0.2.1',
          family: 'IPv4',
          port: 6443,
          nodeName: null,
          mode: 'lease',
          timestamp: null,
          terminating: false,
          tags: {},
        }),
      );
    return { api, turn, publish };
  };

  test('keeps its route until our slice is deleted and all nodes had time to see it', () => {
    const { api, turn, publish } = setup();
    turn(proxied('a'));
    publish();
    for (let i = 0; i < 5; i += 1) {
      expect([...turn(other('not-proxied', 'a')).departing.keys()]).toEqual(['ns/a']);
      api.nowMs += 60_000;
    }
    turn(other('not-proxied', 'a'));
    api.slices.clear();
    api.nowMs += 4999;
    expect(turn(other('not-proxied', 'a')).departing.get('ns/a')?.facts).toEqual(facts('a'));
    api.nowMs += 1;
    expect(turn(other('not-proxied', 'a')).departing.size).toBe(0);
    expect(turn(other('not-proxied', 'a')).departing.size).toBe(0);
  });

  test('does not keep its route for a slice of another instance', () => {
    const { api, turn, publish } = setup();
    turn(proxied('a'));
    publish('net-2');
    turn(other('not-proxied', 'a'));
    api.nowMs += 5000;
    expect(turn(other('not-proxied', 'a')).departing.size).toBe(0);
  });

  test('restarts its withdrawal if it was proxied in between, and needs none if it is deleted or was never proxied', () => {
    const { api, turn } = setup();
    turn(proxied('a'));
    turn(other('not-proxied', 'a'));
    api.nowMs += 4000;
    expect(turn(proxied('a')).departing.size).toBe(0);
    turn(other('not-proxied', 'a'));
    api.nowMs += 4000;
    expect(turn(other('not-proxied', 'a')).departing.size).toBe(1);
    expect(turn().departing.size).toBe(0);
    expect(turn(other('not-proxied', 'b')).departing.size).toBe(0);
  });
});

describe('clusters that mostly disappear at once', () => {
  const SETTINGS = { departureMs: 0, allowMassDelete: false };
  const all = ['a', 'b', 'c', 'd', 'e'].map(proxied);
  const names = (world: World) => [...world.lastKnown.keys()];

  test('stay known in an incomplete world until the waiting time ends or they return', () => {
    const api = new ModelApi();
    const turn = (clusters: readonly ClusterReading[], before: World | null) =>
      worldOf({ ...observed(source(clusters)), kube: api.seenBy({}) }, before, SETTINGS);
    let world = turn(all, null);
    expect(world.complete).toBe(true);
    world = turn([], world);
    expect(world).toMatchObject({ complete: false, vanishedSinceMs: api.nowMs });
    expect(names(world)).toHaveLength(5);
    const back = turn(all, world);
    expect(back).toMatchObject({ complete: true, vanishedSinceMs: null });
    api.nowMs += 5 * 60_000;
    world = turn([], world);
    expect(names(world)).toEqual([]);
    expect(world.complete).toBe(true);
    api.nowMs += 10_000;
    expect(turn([], world).vanishedSinceMs).toBeNull();
  });

  test('do not include those that were never proxied', () => {
    const api = new ModelApi();
    const turn = (clusters: readonly ClusterReading[], before: World | null) =>
      worldOf({ ...observed(source(clusters)), kube: api.seenBy({}) }, before, SETTINGS);
    const odd = ['v', 'w', 'x', 'y', 'z'].map((name) => other('invalid', name));
    const world = turn([proxied('a')], turn([proxied('a'), ...odd], null));
    expect(world).toMatchObject({ complete: true, vanishedSinceMs: null });
    expect(world.clusters).toHaveLength(1);
  });

  test('are gone at once if they come from files, because an emptied directory is intended', () => {
    const world = worldOf(observed(source([])), worldOf(observed(source(all)), null), SETTINGS);
    expect(names(world)).toEqual([]);
    expect(world.complete).toBe(true);
  });
});
