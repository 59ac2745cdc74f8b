import { expect, test } from 'vitest';
import type { Desired } from '../control/desired/desired-state.ts';
import { fallenBackends } from './fallen-backends.ts';

type Watched = Pick<Desired, 'clusters' | 'listeners'>;

const cluster = (name: string, ...backends: readonly (readonly [string, boolean])[]) =>
  ({ name, backends: backends.map(([key, up]) => ({ key, up })) }) as unknown as Desired['clusters'][number];
const listener = (name: string, ...members: readonly (readonly [string | null, boolean])[]) =>
  ({ name, members: members.map(([key, up]) => ({ key, up })) }) as unknown as Desired['listeners'][number];
const state = (clusters: Desired['clusters'], listeners: Desired['listeners'] = []): Watched => ({
  clusters,
  listeners,
});

test('a backend of a cluster or of a listener that goes from up to down has fallen', () => {
  const before = state([cluster('alpha', ['a', true], ['b', true])], [listener('web', ['m', true])]);
  const after = state([cluster('alpha', ['a', false], ['b', true])], [listener('web', ['m', false])]);
  expect(fallenBackends(before, after)).toEqual(['a', 'm']);
});

test('a backend that left for another reason has not fallen: a relabelled member, a deleted cluster', () => {
  const before = state([cluster('alpha', ['a', true])], [listener('web', ['m', true], ['n', true])]);
  const after = state([], [listener('web', ['m', true], [null, false])]);
  expect(fallenBackends(before, after)).toEqual([]);
});

test('a backend that was down before has not fallen, and an unchanged cluster is skipped', () => {
  const same = cluster('alpha', ['a', true]);
  const before = state([same, cluster('beta', ['b', false])]);
  const after = state([same, cluster('beta', ['b', false])]);
  expect(fallenBackends(before, after)).toEqual([]);
  expect(fallenBackends(before, before)).toEqual([]);
});
