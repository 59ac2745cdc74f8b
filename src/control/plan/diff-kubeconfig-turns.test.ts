// Which instance writes a kubeconfig when the first one is live but cannot write: the next one in turn. Two instances never overwrite
// each other.

import { beforeEach, describe, expect, test } from 'vitest';
import {
  desiredWith,
  ModelApi,
  NAMESPACE,
  publication,
  SETTINGS,
} from '../../../test/support/kubernetes/model-api.ts';
import type { Publication } from '../desired/publication.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type Plan, type PlanMemory } from './plan.ts';

const SECRET = `${NAMESPACE}/prod-kubeconfig`;
const PROXIED = 'https://prod.magnum-system:6443';
const DIRECT = 'https://10.0.0.5:6443';
const NAMES = ['net-1', 'net-2', 'net-3'];
const LIVE = [publication('prod')];
const LEAVING = [publication('prod', { want: 'leaving' })];

let api: ModelApi;
let memories: PlanMemory[];
beforeEach(() => {
  api = new ModelApi();
  memories = NAMES.map(() => NO_MEMORY);
  api.putSecret(SECRET, DIRECT);
});
/** One turn of one instance. The first instance has no permission to read or change Secrets. */
const turn = (place: number, publications: readonly Publication[], world: Partial<KubeWorld> = {}): Plan => {
  const peers = { live: new Set(NAMES), rank: place };
  const kube = { ...api.seenBy({ instance: NAMES[place] as string }, peers), ...world };
  const plan = diff(kube, desiredWith(publications), {
    settings: SETTINGS,
    memory: memories[place] as PlanMemory,
    cache: new TurnCache(),
  });
  memories[place] = plan.memory;
  api.carryOut(place === 0 ? plan.actions.filter(({ resource }) => resource !== 'secrets') : plan.actions);
  return plan;
};
const all = (publications: readonly Publication[], world: Partial<KubeWorld> = {}) =>
  NAMES.map((_, place) => turn(place, publications, world));
/** The places of the instances that plan a write of the kubeconfig. */
const writers = (plans: readonly Plan[]) =>
  plans.flatMap(({ actions }, place) =>
    actions.some(({ resource }) => resource === 'secrets') ? [place] : [],
  );
const server = () => api.secrets.get(SECRET)?.server;

describe('a kubeconfig that the first instance cannot write', () => {
  const up = () => {
    for (let i = 0; i < 3; i += 1) all(LIVE);
    expect(api.slices.size).toBe(3);
    expect(server()).toBe(DIRECT);
  };

  test('is rewritten once, by the second instance, after the turn of the first has passed', () => {
    up();
    expect(turn(1, LIVE).lookAgainAtMs).toBe(api.nowMs + 10_000);
    api.nowMs += 9999;
    expect(writers(all(LIVE))).toEqual([0]);
    api.nowMs += 1;
    expect(writers(all(LIVE))).toEqual([0, 1]);
    expect(api.secrets.get(SECRET)).toMatchObject({ server: PROXIED, recordedServer: PROXIED });
    const { writes } = api;
    for (let i = 0; i < 10; i += 1) {
      api.nowMs += 10_000;
      expect(writers(all(LIVE))).toEqual([]);
    }
    expect(api.writes).toBe(writes);
  });

  test('is restored by the second instance once no instance is ready', () => {
    up();
    api.nowMs += 10_000;
    all(LIVE);
    expect(server()).toBe(PROXIED);
    // In the first turn the slice of the third instance is still ready.
    all(LEAVING);
    all(LEAVING);
    api.nowMs += 9999;
    expect(writers(all(LEAVING))).toEqual([0]);
    api.nowMs += 1;
    expect(writers(all(LEAVING))).toEqual([0, 1]);
    expect(api.secrets.get(SECRET)).toMatchObject({ server: DIRECT, recordedServer: null });
    for (let i = 0; i < 5; i += 1) {
      api.nowMs += 10_000;
      expect(writers(all(LEAVING))).toEqual([]);
    }
    expect(api.services.size).toBe(0);
  });

  test('is not restored while other instances are ready, because they would rewrite it again', () => {
    up();
    api.nowMs += 10_000;
    all(LIVE);
    const { writes } = api;
    for (let i = 0; i < 10; i += 1) {
      expect(writers([turn(0, LIVE), turn(1, LEAVING), turn(2, LIVE)])).toEqual([]);
      api.nowMs += 10_000;
    }
    expect(server()).toBe(PROXIED);
    // Its own slice, first terminating and then deleted.
    expect(api.writes).toBe(writes + 2);
  });

  test('is not written by later instances while Secrets are not watched, because it may already be correct', () => {
    up();
    for (let i = 0; i < 10; i += 1) {
      api.nowMs += 10_000;
      expect(writers(all(LIVE, { kubeconfigsWatched: false }))).toEqual([0]);
    }
    // The time without a watch does not count.
    expect(writers(all(LIVE))).toEqual([0]);
  });
});

test('a kubeconfig with our annotation is read by the first instance only', () => {
  api.putSecret(SECRET, PROXIED, PROXIED);
  for (let i = 0; i < 10; i += 1) {
    expect(writers(all(LIVE))).not.toContain(1);
    api.nowMs += 10_000;
  }
});
