// Listener data that the World keeps between turns: last valid specs, and listeners that are being withdrawn.
import { describe, expect, test } from 'vitest';
import {
  desiredFor,
  keyAt,
  listener,
  machine,
  NAMESPACE,
  pendingCluster,
  type SiteFacts,
  worldFor,
} from '../../../test/support/kubernetes/listeners.ts';
import { ModelApi } from '../../../test/support/kubernetes/model-api.ts';
import { serviceOf } from '../objects/published-objects.ts';

const OTHER = { selector: { matchLabels: { role: 'edge' } } };
const site: SiteFacts = {
  listeners: [listener('ssh')],
  machines: [machine('w-1', '10.0.0.11', { role: 'worker' }), machine('e-1', '10.0.0.12', { role: 'edge' })],
  up: [keyAt('10.0.0.11'), keyAt('10.0.0.12')],
  ports: { ssh: { kind: 'open', port: 17_001 } },
};
const routed = (world: ReturnType<typeof worldFor>) =>
  desiredFor(world).ports.flatMap(({ route }) => route.backends.map(({ address }) => address));

describe('an invalid spec', () => {
  test('leaves the last valid spec in effect', () => {
    const first = worldFor(site);
    const second = worldFor(
      { ...site, listeners: [listener('ssh', { rolloutLabels: { role: 'x' } })] },
      first,
    );
    const [status] = desiredFor(second).listeners;
    expect(status?.state).toBe('invalid');
    expect(status?.reason).toMatch(/only keys in the operator's.*stays in effect$/s);
    expect(status?.detail).toBe('1 of 1 machines answers');
    const third = worldFor(
      { ...site, listeners: [listener('ssh', { rolloutLabels: { role: 'x' } })], up: [] },
      second,
    );
    const [later] = desiredFor(third).listeners;
    expect(later?.detail).toContain('none of its machines is ready');
    expect(later?.reason).toBe(status?.reason);
    expect(routed(second)).toEqual(['10.0.0.11']);
    expect(desiredFor(worldFor(site, second)).listeners[0]?.state).toBe('serving');
  });

  test('without an earlier valid one gives no port and no publication', () => {
    const world = worldFor({ ...site, listeners: [listener('ssh', { protocol: 'UDP' })] });
    const { listeners, ports, publications } = desiredFor(world);
    expect(listeners[0]).toMatchObject({ state: 'invalid', service: null, members: [] });
    expect([ports, publications.filter(({ listener: of }) => of)]).toEqual([[], []]);
  });
});

describe('an edit of the selector that an old API server accepted', () => {
  const edited = { ...site, listeners: [listener('ssh', OTHER)] };

  test('is rejected, and the machines stay the same', () => {
    const world = worldFor(edited, worldFor(site));
    expect(desiredFor(world).listeners[0]).toMatchObject({
      state: 'invalid',
      reason: expect.stringContaining('Selector is immutable'),
    });
    expect(routed(world)).toEqual(['10.0.0.11']);
    // Also in later turns, not only in the first one.
    expect(routed(worldFor(edited, world))).toEqual(['10.0.0.11']);
  });

  const published = (reading = listener('ssh')) => {
    const api = new ModelApi();
    const [publication] = desiredFor(worldFor({ ...site, listeners: [reading] })).publications.filter(
      ({ listener: of }) => of,
    );
    if (publication?.listener === undefined) throw new Error('the listener has no publication');
    api.put(
      'services',
      serviceOf({
        cluster: 'kube-1',
        namespace: NAMESPACE,
        owner: null,
        mode: 'lease',
        tags: {},
        listener: publication.listener,
      }),
    );
    return api;
  };

  test('is rejected after a restart too, because the Service records the selector', () => {
    const kube = published().seenBy({});
    const { listeners, ports, reserved } = desiredFor(worldFor({ ...edited, kube }));
    expect(listeners[0]?.reason).toContain('Selector is immutable');
    expect(ports).toEqual([]);
    // The Service stays until the edit is undone.
    expect(reserved).toEqual(['kube-1/kube-1-ssh']);
    expect(desiredFor(worldFor({ ...site, kube })).listeners[0]?.state).toBe('serving');
  });

  test('is rejected like an edit of the cluster name, which must not reach machines of another cluster', () => {
    const other = listener('ssh', { clusterName: 'kube-2' });
    const clusters = [pendingCluster('kube-1'), pendingCluster('kube-2')];
    const machines = [machine('x-1', '10.0.0.11', { role: 'worker' }, { cluster: 'kube-2' })];
    const kube = published().seenBy({});
    const { listeners, ports, reserved } = desiredFor(
      worldFor({ ...site, clusters, machines, listeners: [other], kube }),
    );
    expect(listeners[0]).toMatchObject({ state: 'invalid', members: [] });
    expect(listeners[0]?.reason).toContain(
      'spec.clusterName was changed, but it is immutable; restore kube-1',
    );
    expect(ports).toEqual([]);
    expect(reserved).toEqual(['kube-1/kube-1-ssh']);
  });

  test('is treated the same by all instances: the record on the Service takes precedence over the memory of an instance', () => {
    const kube = published(listener('ssh', OTHER)).seenBy({});
    const world = worldFor({ ...edited, kube }, worldFor(site));
    expect(desiredFor(world).listeners[0]?.state).toBe('serving');
    expect(routed(world)).toEqual(['10.0.0.12']);
  });

  test('is not an edit if the listener was recreated', () => {
    const recreated = listener('ssh', OTHER, { uid: 'another' });
    const kube = published().seenBy({});
    expect(routed(worldFor({ ...site, listeners: [recreated], kube }))).toEqual(['10.0.0.12']);
    expect(routed(worldFor({ ...site, listeners: [recreated] }, worldFor(site)))).toEqual(['10.0.0.12']);
  });
});

describe('a deleted listener', () => {
  const kube = (api: ModelApi) => api.seenBy({});
  const gone = { ...site, listeners: [] };

  test('keeps its port and its route until its slice is deleted and all nodes had time to see it', () => {
    const api = new ModelApi();
    let world = worldFor({ ...site, kube: kube(api) });
    world = worldFor({ ...gone, kube: kube(api) }, world);
    const { publications, listeners, ports } = desiredFor(world);
    expect(listeners).toEqual([]);
    expect(publications.at(-1)).toMatchObject({ want: 'leaving', listener: { service: 'kube-1-ssh' } });
    expect(ports).toHaveLength(1);
    api.nowMs += 4999;
    world = worldFor({ ...gone, kube: kube(api) }, world);
    expect(desiredFor(world).ports).toHaveLength(1);
    api.nowMs += 1;
    world = worldFor({ ...gone, kube: kube(api) }, world);
    expect(desiredFor(world).ports).toEqual([]);
  });

  test('still routes to its machines if it was the last one, although the machines are no longer watched', () => {
    const api = new ModelApi();
    const before = worldFor({ ...site, kube: kube(api) });
    const unwatched = { ...gone, machines: [], snapshot: { machinesKnown: false }, kube: kube(api) };
    let world = worldFor(unwatched, before);
    expect(routed(world)).toEqual(['10.0.0.11']);
    expect(routed(worldFor(unwatched, world))).toEqual(['10.0.0.11']);
    api.nowMs += 5000;
    world = worldFor({ ...unwatched, kube: kube(api) }, world);
    expect([desiredFor(world).ports, world.listeners.machines]).toEqual([[], []]);
  });

  test('is withdrawn in the same order while its deletion is pending', () => {
    const api = new ModelApi();
    const deleting = listener('ssh', {}, { deletionTimestamp: '2026-08-02T00:00:00Z' });
    const world = worldFor(
      { ...site, listeners: [deleting], kube: kube(api) },
      worldFor({ ...site, kube: kube(api) }),
    );
    expect(desiredFor(world).publications.at(-1)?.want).toBe('leaving');
  });

  test('stays while the list of listeners is incomplete', () => {
    const api = new ModelApi();
    const before = worldFor({ ...site, kube: kube(api) });
    const world = worldFor({ ...gone, snapshot: { complete: false }, kube: kube(api) }, before);
    expect(desiredFor(world).listeners[0]?.state).toBe('serving');
    expect(desiredFor(world).listenersComplete).toBe(false);
  });

  test('stays for some minutes if most listeners disappear at once', () => {
    const api = new ModelApi();
    const many = Array.from({ length: 9 }, (_, i) => listener(`l-${i}`));
    const before = worldFor({ ...site, listeners: many, kube: kube(api) });
    let world = worldFor({ ...gone, kube: kube(api) }, before);
    expect(desiredFor(world).listeners).toHaveLength(9);
    expect(desiredFor(world).problems.map(({ origin }) => origin)).toContain('mass delete');
    // The machines are no longer watched, but the routes to them stay.
    const unwatched = { ...gone, machines: [], snapshot: { machinesKnown: false }, kube: kube(api) };
    world = worldFor(unwatched, world);
    expect(routed(world)).toEqual(Array.from({ length: 9 }, () => '10.0.0.11'));
    const back = { ...unwatched, listeners: many };
    expect(routed(worldFor(back, world))).toEqual(Array.from({ length: 9 }, () => '10.0.0.11'));
    api.nowMs += 5 * 60_000;
    world = worldFor({ ...gone, kube: kube(api) }, world);
    expect(desiredFor(world).listeners).toEqual([]);
  });

  test('that is recreated for another cluster gets its port only after no client uses it for the old machines', () => {
    const api = new ModelApi();
    const clusters = [pendingCluster('kube-1'), pendingCluster('kube-2')];
    const machines = [
      ...(site.machines ?? []),
      machine('x-1', '10.0.0.12', { role: 'worker' }, { cluster: 'kube-2' }),
    ];
    const both = { ...site, clusters, machines };
    const recreated = {
      ...both,
      listeners: [listener('ssh', { clusterName: 'kube-2' }, { uid: 'another' })],
    };
    const published = (world: ReturnType<typeof worldFor>) =>
      desiredFor(world).publications.filter(({ listener: of }) => of);
    for (const between of [null, { ...both, listeners: [] }]) {
      let world = worldFor({ ...both, kube: kube(api) });
      if (between !== null) world = worldFor({ ...between, kube: kube(api) }, world);
      for (const waitMs of [0, 4999]) {
        api.nowMs += waitMs;
        world = worldFor({ ...recreated, kube: kube(api) }, world);
        expect(routed(world)).toEqual(['10.0.0.11']);
        expect(published(world)).toMatchObject([{ cluster: 'kube-1', want: 'leaving' }]);
      }
      api.nowMs += 1;
      world = worldFor({ ...recreated, kube: kube(api) }, world);
      world = worldFor({ ...recreated, kube: kube(api) }, world);
      expect(routed(world)).toEqual(['10.0.0.12']);
      expect(published(world)).toMatchObject([{ cluster: 'kube-2', want: 'live' }]);
    }
  });

  test('that returns during its withdrawal is served as before', () => {
    const api = new ModelApi();
    const before = worldFor({ ...site, kube: kube(api) });
    const away = worldFor({ ...gone, kube: kube(api) }, before);
    const back = worldFor({ ...site, kube: kube(api) }, away);
    expect(desiredFor(back).publications.at(-1)?.want).toBe('live');
    expect(desiredFor(back).ports).toHaveLength(1);
  });
});

describe('a listener from a file', () => {
  const fromFile = (spec: object = {}) => listener('ssh', spec, { uid: undefined });

  test('may change in all its fields, because the operator writes it', () => {
    const first = worldFor({ ...site, listeners: [fromFile()] });
    const edited = fromFile({ selector: { matchLabels: { role: 'edge' } } });
    const second = worldFor({ ...site, listeners: [edited] }, first);
    expect(second.listeners.listeners[0]).toMatchObject({ problems: [], definition: edited.definition });
  });

  test('keeps its last valid spec after an invalid edit, and disappears at once when removed', () => {
    const first = worldFor({ ...site, listeners: [fromFile()] });
    const second = worldFor({ ...site, listeners: [fromFile({ protocol: 'UDP' })] }, first);
    expect(desiredFor(second).listeners[0]).toMatchObject({ state: 'invalid' });
    expect(routed(second)).toEqual(['10.0.0.11']);
    expect(desiredFor(worldFor({ ...site, listeners: [] }, second)).ports).toEqual([]);
  });
});
