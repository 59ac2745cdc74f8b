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
import { MASS_DELETE_LASTS_MS } from '../world/mass-delete-breaker.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type Plan, type PlanMemory } from './plan.ts';

const SECRET = `${NAMESPACE}/prod-kubeconfig`;
const PROXIED = 'https://prod.magnum-system:6443';
const DIRECT = 'https://10.0.0.5:6443';

/** What a plan does, and must not do, with incomplete information. */
describe('with incomplete information', () => {
  let api: ModelApi;
  let memory: PlanMemory;
  beforeEach(() => {
    api = new ModelApi();
    memory = NO_MEMORY;
  });
  const planned = (
    publications: readonly Publication[],
    world: Partial<KubeWorld> = {},
    vanishedSinceMs: number | null = null,
  ): Plan => {
    const kube = { ...api.seenBy({}), ...world };
    const plan = diff(kube, desiredWith(publications, { vanishedSinceMs }), {
      settings: SETTINGS,
      memory,
      cache: new TurnCache(),
    });
    memory = plan.memory;
    return plan;
  };
  const settle = (publications: readonly Publication[]): void => {
    for (let i = 0; i < 10; i += 1) api.carryOut(planned(publications).actions);
    expect(planned(publications).actions).toEqual([]);
  };
  const pass = (publications: readonly Publication[], turns: number, world: Partial<KubeWorld> = {}) => {
    let plan = planned(publications, world);
    for (let i = 0; i < turns; i += 1) {
      api.carryOut(plan.actions);
      api.nowMs += 5000;
      plan = planned(publications, world);
    }
    return plan;
  };

  test.each<[string, Partial<KubeWorld>]>([
    ['were never listed', { kubeconfigs: null, kubeconfigsWatched: false }],
    ['are not watched, so an absent one may exist', { kubeconfigsWatched: false }],
  ])('the Service of a cluster that is no longer proxied stays while kubeconfigs %s', (_title, world) => {
    settle([publication('prod')]);
    const leaving = [publication('prod', { want: 'leaving' })];
    const blind = { ...world };
    const plan = pass(leaving, 10, blind);
    expect([...api.services.keys()]).toEqual(['prod']);
    expect(plan.publications.get('prod')?.problem).toContain('cannot be watched');
    expect(plan.publications.get('prod')?.kubeconfig).toBe(world.kubeconfigs === null ? 'unread' : 'absent');
    pass(leaving, 3);
    expect([...api.services.keys()]).toEqual([]);
  });

  test('with our Lease not renewed, no slice is created; an existing one stays, and is withdrawn as usual', () => {
    const lapsed = (self: Partial<KubeWorld['self']> = {}) => ({
      self: { ...api.seenBy({}).self, lapsed: true, ...self },
    });
    const live = [publication('prod')];
    const plan = pass(live, 5, lapsed());
    expect(plan.actions).toEqual([]);
    expect({ services: api.services.size, slices: api.slices.size }).toEqual({ services: 1, slices: 0 });
    expect(plan.publications.get('prod')?.problem).toContain('our Lease is not renewed');
    settle(live);
    expect(api.slices.size).toBe(1);
    expect(planned(live, lapsed()).actions).toEqual([]);
    const kinds = ({ actions }: Plan) => actions.map(({ kind, name }) => `${kind} ${name}`);
    expect(kinds(planned(live, lapsed({ draining: true })))).toEqual(['patch prod-net-1']);
    expect(kinds(planned([publication('prod', { want: 'down' })], lapsed()))).toEqual(['delete prod-net-1']);
  });

  test('the Service also stays while Secrets are not watched, because a kubeconfig may have our annotation by now', () => {
    api.putSecret(SECRET, DIRECT);
    settle([publication('prod', { want: 'down' })]);
    const leaving = [publication('prod', { want: 'leaving' })];
    pass(leaving, 10, { kubeconfigsWatched: false });
    expect([...api.services.keys()]).toEqual(['prod']);
    pass(leaving, 3);
    expect([...api.services.keys()]).toEqual([]);
  });

  test('a slice stays while its Service is deleted and created again', () => {
    settle([publication('prod')]);
    api.services.delete('prod');
    const { actions } = planned([publication('prod')]);
    expect(actions.map(({ kind, resource }) => `${kind} ${resource}`)).toEqual(['create services']);
    api.carryOut(actions);
    expect(planned([publication('prod')]).actions).toEqual([]);
  });

  test('a slice stays while its Service is being deleted, and none is added', () => {
    settle([publication('prod')]);
    const service = api.services.get('prod');
    const deleting = { ...service?.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    api.services.set('prod', { ...service, metadata: deleting });
    expect(planned([publication('prod')]).actions).toEqual([]);
    api.slices.clear();
    const plan = planned([publication('prod')]);
    expect(plan.actions).toEqual([]);
    expect(plan.publications.get('prod')?.problem).toContain('is being deleted');
  });

  test('a copy of our slice under another name is never changed', () => {
    settle([publication('prod')]);
    const [slice] = api.slices.values();
    api.put('slices', { ...slice!, metadata: { ...slice!.metadata, name: 'copy', uid: 'copy' } });
    expect(planned([publication('prod')]).actions).toEqual([]);
    pass([publication('prod', { want: 'down' })], 3);
    pass([], 5);
    expect([...api.slices.keys()]).toEqual(['copy']);
  });

  test('a cluster that is being deleted gets no new owner references, and existing ones stay', () => {
    const deleting = publication('prod', { object: { ...publication('prod').object!, deleting: true } });
    settle([deleting]);
    expect(api.services.get('prod')?.metadata?.ownerReferences).toBeUndefined();
    settle([publication('prod')]);
    const owned = api.services.get('prod')?.metadata?.ownerReferences;
    expect(owned).toHaveLength(1);
    settle([deleting]);
    expect(api.services.get('prod')?.metadata?.ownerReferences).toEqual(owned);
  });

  test('objects of vanished clusters share the wait of the clusters instead of starting a second one', () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((name) => publication(name));
    settle(all);
    const vanishedAtMs = api.nowMs;
    expect(planned([], {}, null).problems).toMatchObject([{ origin: 'mass delete' }]);
    memory = { ...memory, breakerSinceMs: null };
    api.nowMs += MASS_DELETE_LASTS_MS;
    const plan = planned([], {}, vanishedAtMs);
    expect(plan.problems).toEqual([]);
    expect(plan.actions.map(({ kind, resource }) => `${kind} ${resource}`)).toEqual(
      Array.from({ length: 5 }, () => 'delete endpointslices'),
    );
  });

  test('a kubeconfig that changed between two turns is read and rewritten again', () => {
    api.putSecret(SECRET, DIRECT);
    settle([publication('prod')]);
    expect(api.secrets.get(SECRET)?.server).toBe(PROXIED);
    api.putSecret(SECRET, DIRECT, PROXIED);
    const { actions } = planned([publication('prod')]);
    expect(actions).toMatchObject([{ kind: 'kubeconfig', server: PROXIED }]);
    settle([publication('prod')]);
    expect(api.secrets.get(SECRET)?.server).toBe(PROXIED);
  });

  test('a timestamp is renewed ten seconds after it was written, for any number of turns in between', () => {
    const beside = () => {
      const kube = api.seenBy({}, { mode: 'timestamp' });
      const plan = diff(kube, desiredWith([publication('prod')]), {
        settings: SETTINGS,
        memory,
        cache: new TurnCache(),
      });
      memory = plan.memory;
      api.carryOut(plan.actions);
      return plan;
    };
    for (let i = 0; i < 3; i += 1) beside();
    const atMs = beside().lookAgainAtMs;
    for (let i = 0; i < 9; i += 1) {
      api.nowMs += 1000;
      const plan = beside();
      expect(plan.actions).toEqual([]);
      expect(plan.lookAgainAtMs).toBe(atMs);
    }
    api.nowMs = atMs ?? Number.NaN;
    expect(beside().actions).toMatchObject([{ kind: 'patch', resource: 'endpointslices' }]);
  });

  test('a jump of the wall clock causes one write per timestamp and no other write', () => {
    const at = (wallMs: number) => {
      const kube = { ...api.seenBy({}, { mode: 'timestamp' }), wallMs };
      const plan = diff(kube, desiredWith([publication('prod')]), {
        settings: SETTINGS,
        memory,
        cache: new TurnCache(),
      });
      memory = plan.memory;
      api.carryOut(plan.actions);
      return plan;
    };
    for (let i = 0; i < 3; i += 1) at(1e12);
    for (const jumped of [5e11, 2e12, 0, 1e12]) {
      const { actions } = at(jumped);
      expect(actions).toHaveLength(1);
      expect(JSON.stringify(actions)).toContain('timestamp');
      const still = at(jumped);
      expect(still.actions).toEqual([]);
      // Neither a jump into the past nor one of ten years into the future.
      expect(still.lookAgainAtMs).toBe(api.nowMs + 10_000);
    }
  });
});
