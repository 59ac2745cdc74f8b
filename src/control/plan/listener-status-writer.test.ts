// Several instances and one listener without a slice: which instance writes its status, how often, and the final status.

import { describe, expect, test } from 'vitest';
import {
  keyAt,
  listener,
  machine,
  type SiteFacts,
  worldFor,
} from '../../../test/support/kubernetes/listeners.ts';
import { ModelApi, NAMESPACE, SETTINGS } from '../../../test/support/kubernetes/model-api.ts';
import { desiredState } from '../desired/desired-state.ts';
import type { Peers } from '../instance/instance-state.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { World } from '../world/world.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type PlanMemory } from './plan.ts';

const STEP_MS = 100;

interface Told {
  readonly observedBy: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

/** The view of an instance: the machines, that none answers, or that it has no netns. */
const MACHINES = [machine('w-1', '10.0.0.11', { role: 'worker' })];
const near: SiteFacts = { machines: MACHINES, down: [keyAt('10.0.0.11')] };
const nearWithoutPort: SiteFacts = {
  machines: MACHINES,
  up: [keyAt('10.0.0.11')],
  ports: { ssh: { kind: 'failed', reason: 'the range is full' } },
};
const serving: SiteFacts = { ...nearWithoutPort, ports: { ssh: { kind: 'open', port: 17_001 } } };
const far: SiteFacts = { machines: MACHINES, netns: [] };
const empty = (facts: SiteFacts): SiteFacts => ({ ...facts, machines: [] });

/** State of the instance itself: it drains, or it serves another cluster namespace. */
type View = SiteFacts & { readonly draining?: boolean; readonly elsewhere?: boolean };

class Site {
  readonly #api = new ModelApi();
  readonly #instances = new Map<string, { world: World | null; memory: PlanMemory }>();
  #status: Told | null = null;
  /** Every write: the instance and the reason of Ready. */
  readonly writes: string[] = [];

  /** Runs turns of all named instances for this time. Instances that are not named are dead. */
  run(ms: number, views: Readonly<Record<string, View>>): void {
    const names = Object.keys(views).sort();
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      const sameScope = names.filter((name) => views[name]?.elsewhere !== true);
      for (const [rank, name] of sameScope.entries())
        this.#turn(name, views[name] as View, { rank, live: new Set(names), sameScope: new Set(sameScope) });
      this.#api.nowMs += STEP_MS;
    }
  }

  get last(): string {
    return this.writes.at(-1) ?? 'nothing';
  }

  #turn(name: string, { draining = false, ...facts }: View, peers: Partial<Peers>): void {
    const known = this.#instances.get(name) ?? { world: null, memory: NO_MEMORY };
    const kube = this.#api.seenBy({ instance: name, draining }, peers);
    const listeners = [listener('ssh', {}, this.#status === null ? {} : { status: this.#status })];
    const world = worldFor({ ...facts, listeners, kube }, known.world);
    const desired = desiredState(world, { namespace: NAMESPACE, defaultCluster: null }, new TurnCache());
    const { actions, memory } = diff(kube, desired, {
      settings: SETTINGS,
      memory: known.memory,
      cache: new TurnCache(),
    });
    this.#instances.set(name, { world, memory });
    this.#api.carryOut(actions.filter(({ kind }) => kind !== 'status'));
    for (const action of actions) {
      if (action.kind !== 'status') continue;
      this.#status = structuredClone(action.status) as unknown as Told;
      const ready = this.#status.conditions.find(({ type }) => type === 'Ready');
      this.writes.push(`${name} ${ready?.reason}`);
    }
  }
}

describe('when no instance serves a listener', () => {
  test('an instance with the netns writes, although the first live instance has none', () => {
    const site = new Site();
    site.run(60_000, { 'net-1': far, 'net-2': far, 'net-3': near });
    // A second write follows when its Service exists.
    expect(new Set(site.writes)).toEqual(new Set(['net-3 Unhealthy']));
    expect(site.writes.length).toBeLessThanOrEqual(2);
  });

  test('the first live instance writes after some seconds when no instance has the netns', () => {
    const site = new Site();
    site.run(5900, { 'net-1': far, 'net-2': far });
    expect(site.writes).toEqual([]);
    site.run(60_000, { 'net-1': far, 'net-2': far });
    expect(site.writes).toEqual(['net-1 NoNetns']);
  });

  test('a state that all instances see is written at once, by the first live instance', () => {
    const site = new Site();
    site.run(STEP_MS, { 'net-1': empty(far), 'net-2': empty(near) });
    expect(site.writes).toEqual(['net-1 NoMembers']);
  });

  test('new machines are reported by the instance with the netns, and never as NoNetns', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': empty(far), 'net-2': empty(near) });
    site.run(60_000, { 'net-1': far, 'net-2': near });
    expect(site.last).toBe('net-2 Unhealthy');
    expect(site.writes.filter((each) => each.endsWith('NoNetns'))).toEqual([]);
  });

  test('an instance that gets the netns takes over from a writer without it', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': far, 'net-2': far });
    site.run(20_000, { 'net-1': far, 'net-2': near });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(60_000, { 'net-1': far, 'net-2': far });
    expect(site.last).toBe('net-2 NoNetns');
  });

  test.each([
    ['the writer dies, and another instance has the netns', near, 'net-3 Unhealthy'],
    ['the writer dies, and no other instance has the netns', far, 'net-1 NoNetns'],
  ])('%s', (_title, other, last) => {
    const site = new Site();
    site.run(20_000, { 'net-1': far, 'net-2': near, 'net-3': other });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(60_000, { 'net-1': far, 'net-3': other });
    expect(site.last).toBe(last);
    expect(site.writes.filter((each) => each === 'net-1 NoNetns').length).toBe(other === far ? 1 : 0);
  });

  test('two instances with different views do not overwrite each other', () => {
    const site = new Site();
    const views = { 'net-1': nearWithoutPort, 'net-2': near, 'net-3': nearWithoutPort };
    site.run(30_000, views);
    const before = site.writes.length;
    site.run(120_000, views);
    expect(site.writes.length).toBe(before);
    expect(before).toBeLessThanOrEqual(4);
  });

  test('an instance without known machines leaves the status to an instance with the netns', () => {
    const site = new Site();
    const unknown: SiteFacts = { machines: [], snapshot: { machinesKnown: false } };
    site.run(30_000, { 'net-1': unknown, 'net-2': near });
    const before = site.writes.length;
    site.run(120_000, { 'net-1': unknown, 'net-2': near });
    expect(site.writes.slice(before)).toEqual([]);
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(20_000, { 'net-1': unknown });
    expect(site.last).toBe('net-1 Pending');
  });

  test('an instance that sees no machines any more leaves the status to the writer that still does', () => {
    const site = new Site();
    site.run(30_000, { 'net-1': empty(far), 'net-2': near });
    const before = site.writes.length;
    site.run(120_000, { 'net-1': empty(far), 'net-2': near });
    expect(site.writes.slice(before)).toEqual([]);
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(20_000, { 'net-1': empty(far), 'net-2': empty(near) });
    expect(site.writes.slice(before)).toEqual(['net-2 NoMembers']);
  });

  test.each([
    ['another instance has the netns', near, 'net-3 Unhealthy'],
    ['no other instance has the netns', far, 'net-1 NoNetns'],
    ['there are no machines left', empty(far), 'net-1 NoMembers'],
  ])('while the last serving instance drains, the status is not Serving: %s', (_title, other, last) => {
    const site = new Site();
    site.run(20_000, { 'net-1': far, 'net-2': serving, 'net-3': far });
    expect(site.last).toBe('net-2 Serving');
    site.run(30_000, {
      'net-1': other === near ? far : other,
      'net-2': { ...serving, draining: true },
      'net-3': other,
    });
    expect(site.last).toBe(last);
    expect(site.writes.filter((each) => each.endsWith('NoNetns')).length).toBe(other === far ? 1 : 0);
  });

  test('an instance that moved to another cluster namespace no longer counts as the writer', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': far, 'net-2': near });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(30_000, { 'net-1': far, 'net-2': { ...near, elsewhere: true } });
    expect(site.last).toBe('net-1 NoNetns');
  });
});
