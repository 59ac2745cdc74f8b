// What the World keeps of listeners from one turn to the next: what could not be used now, and what is being taken back.
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
import { serviceOf } from '../objects/cluster-shape.ts';

const OTHER = { selector: { matchLabels: { role: 'edge' } } };
const site: SiteFacts = {
  listeners: [listener('ssh')],
  machines: [machine('w-1', '10.0.0.11', { role: 'worker' }), machine('e-1', '10.0.0.12', { role: 'edge' })],
  up: [keyAt('10.0.0.11'), keyAt('10.0.0.12')],
  ports: { ssh: { kind: 'open', port: 17_001 } },
};
const routed = (world: ReturnType<typeof worldFor>) =>
  desiredFor(world).ports.flatMap(({ route }) => route.backends.map(({ address }) => address));

describe('what cannot be used', () => {
  test('takes nothing away that was asked for before', () => {
    const first = worldFor(site);
    const second = worldFor(
      { ...site, listeners: [listener('ssh', { rolloutLabels: { role: 'x' } })] },
      first,
    );
    const [status] = desiredFor(second).listeners;
    expect(status?.state).toBe('invalid');
    expect(status?.reason).toMatch(/only those that the operator names.*is kept$/s);
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

  test('is nothing where it never could be', () => {
    const world = worldFor({ ...site, listeners: [listener('ssh', { protocol: 'UDP' })] });
    const { listeners, ports, publications } = desiredFor(world);
    expect(listeners[0]).toMatchObject({ state: 'invalid', service: null, members: [] });
    expect([ports, publications.filter(({ listener: of }) => of)]).toEqual([[], []]);
  });
});

describe('an edit of the selector that an old API server let through', () => {
  const edited = { ...site, listeners: [listener('ssh', OTHER)] };

  test('is refused, and the machines stay those of before', () => {
    const world = worldFor(edited, worldFor(site));
    expect(desiredFor(world).listeners[0]).toMatchObject({
      state: 'invalid',
      reason: expect.stringContaining('Selector is immutable'),
    });
    expect(routed(world)).toEqual(['10.0.0.11']);
    // Turn after turn, and not only in the first one.
    expect(routed(worldFor(edited, world))).toEqual(['10.0.0.11']);
  });

  const published = (reading = listener('ssh')) => {
    const api = new ModelApi();
    const [publication] = desiredFor(worldFor({ ...site, listeners: [reading] })).publications.filter(
      ({ listener: of }) => of,
    );
    if (publication?.listener === undefined) throw new Error('there is none');
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

  test('is refused after a restart too: its Service says what it was made with', () => {
    const kube = published().seenBy({});
    const { listeners, ports, reserved } = desiredFor(worldFor({ ...edited, kube }));
    expect(listeners[0]?.reason).toContain('Selector is immutable');
    expect(ports).toEqual([]);
    // Its Service waits for the edit to be undone.
    expect(reserved).toEqual(['kube-1/kube-1-ssh']);
    expect(desiredFor(worldFor({ ...site, kube })).listeners[0]?.state).toBe('serving');
  });

  test('and so is one of its cluster, whose machines were never asked for', () => {
    const other = listener('ssh', { clusterName: 'kube-2' });
    const clusters = [pendingCluster('kube-1'), pendingCluster('kube-2')];
    const machines = [machine('x-1', '10.0.0.11', { role: 'worker' }, { cluster: 'kube-2' })];
    const kube = published().seenBy({});
    const { listeners, ports, reserved } = desiredFor(
      worldFor({ ...site, clusters, machines, listeners: [other], kube }),
    );
    expect(listeners[0]).toMatchObject({ state: 'invalid', members: [] });
    expect(listeners[0]?.reason).toContain('spec.clusterName was changed, and is immutable; it was kube-1');
    expect(ports).toEqual([]);
    expect(reserved).toEqual(['kube-1/kube-1-ssh']);
  });

  test('is judged alike by all instances: what the Service says goes before what one of them remembers', () => {
    const kube = published(listener('ssh', OTHER)).seenBy({});
    const world = worldFor({ ...edited, kube }, worldFor(site));
    expect(desiredFor(world).listeners[0]?.state).toBe('serving');
    expect(routed(world)).toEqual(['10.0.0.12']);
  });

  test('is none where the listener was made anew', () => {
    const anew = listener('ssh', OTHER, { uid: 'another' });
    const kube = published().seenBy({});
    expect(routed(worldFor({ ...site, listeners: [anew], kube }))).toEqual(['10.0.0.12']);
    expect(routed(worldFor({ ...site, listeners: [anew] }, worldFor(site)))).toEqual(['10.0.0.12']);
  });
});

describe('a listener that goes', () => {
  const kube = (api: ModelApi) => api.seenBy({});
  const gone = { ...site, listeners: [] };

  test('keeps its port and its route until its slice is gone and everybody has heard of it', () => {
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

  test('as the last one still leads to its machines, which nobody watches any more', () => {
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

  test('that is only being deleted goes in the same order', () => {
    const api = new ModelApi();
    const deleting = listener('ssh', {}, { deletionTimestamp: '2026-08-02T00:00:00Z' });
    const world = worldFor(
      { ...site, listeners: [deleting], kube: kube(api) },
      worldFor({ ...site, kube: kube(api) }),
    );
    expect(desiredFor(world).publications.at(-1)?.want).toBe('leaving');
  });

  test('stays while nobody can tell', () => {
    const api = new ModelApi();
    const before = worldFor({ ...site, kube: kube(api) });
    const world = worldFor({ ...gone, snapshot: { complete: false }, kube: kube(api) }, before);
    expect(desiredFor(world).listeners[0]?.state).toBe('serving');
    expect(desiredFor(world).listenersComplete).toBe(false);
  });

  test('with most of the others at once is not believed at first', () => {
    const api = new ModelApi();
    const many = Array.from({ length: 9 }, (_, i) => listener(`l-${i}`));
    const before = worldFor({ ...site, listeners: many, kube: kube(api) });
    let world = worldFor({ ...gone, kube: kube(api) }, before);
    expect(desiredFor(world).listeners).toHaveLength(9);
    expect(desiredFor(world).problems.map(({ origin }) => origin)).toContain('mass delete');
    // Nobody watches the machines now: they are led to all the same.
    const unwatched = { ...gone, machines: [], snapshot: { machinesKnown: false }, kube: kube(api) };
    world = worldFor(unwatched, world);
    expect(routed(world)).toEqual(Array.from({ length: 9 }, () => '10.0.0.11'));
    const back = { ...unwatched, listeners: many };
    expect(routed(worldFor(back, world))).toEqual(Array.from({ length: 9 }, () => '10.0.0.11'));
    api.nowMs += 5 * 60_000;
    world = worldFor({ ...gone, kube: kube(api) }, world);
    expect(desiredFor(world).listeners).toEqual([]);
  });

  test('and is made anew for another cluster gets its port only when nobody is sent to the old machines by it', () => {
    const api = new ModelApi();
    const clusters = [pendingCluster('kube-1'), pendingCluster('kube-2')];
    const machines = [
      ...(site.machines ?? []),
      machine('x-1', '10.0.0.12', { role: 'worker' }, { cluster: 'kube-2' }),
    ];
    const both = { ...site, clusters, machines };
    const anew = { ...both, listeners: [listener('ssh', { clusterName: 'kube-2' }, { uid: 'another' })] };
    const published = (world: ReturnType<typeof worldFor>) =>
      desiredFor(world).publications.filter(({ listener: of }) => of);
    for (const between of [null, { ...both, listeners: [] }]) {
      let world = worldFor({ ...both, kube: kube(api) });
      if (between !== null) world = worldFor({ ...between, kube: kube(api) }, world);
      for (const waitMs of [0, 4999]) {
        api.nowMs += waitMs;
        world = worldFor({ ...anew, kube: kube(api) }, world);
        expect(routed(world)).toEqual(['10.0.0.11']);
        expect(published(world)).toMatchObject([{ cluster: 'kube-1', want: 'leaving' }]);
      }
      api.nowMs += 1;
      world = worldFor({ ...anew, kube: kube(api) }, world);
      world = worldFor({ ...anew, kube: kube(api) }, world);
      expect(routed(world)).toEqual(['10.0.0.12']);
      expect(published(world)).toMatchObject([{ cluster: 'kube-2', want: 'live' }]);
    }
  });

  test('and comes back meanwhile is as it was', () => {
    const api = new ModelApi();
    const before = worldFor({ ...site, kube: kube(api) });
    const away = worldFor({ ...gone, kube: kube(api) }, before);
    const back = worldFor({ ...site, kube: kube(api) }, away);
    expect(desiredFor(back).publications.at(-1)?.want).toBe('live');
    expect(desiredFor(back).ports).toHaveLength(1);
  });
});

describe('what was read from a file', () => {
  const fromFile = (spec: object = {}) => listener('ssh', spec, { uid: undefined });

  test('may be edited in all its parts: whoever writes it is the operator', () => {
    const first = worldFor({ ...site, listeners: [fromFile()] });
    const edited = fromFile({ selector: { matchLabels: { role: 'edge' } } });
    const second = worldFor({ ...site, listeners: [edited] }, first);
    expect(second.listeners.listeners[0]).toMatchObject({ problems: [], wish: edited.wish });
  });

  test('keeps what it asked for before where an edit cannot be used, and goes at once', () => {
    const first = worldFor({ ...site, listeners: [fromFile()] });
    const second = worldFor({ ...site, listeners: [fromFile({ protocol: 'UDP' })] }, first);
    expect(desiredFor(second).listeners[0]).toMatchObject({ state: 'invalid' });
    expect(routed(second)).toEqual(['10.0.0.11']);
    expect(desiredFor(worldFor({ ...site, listeners: [] }, second)).ports).toEqual([]);
  });
});
