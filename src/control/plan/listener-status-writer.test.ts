// Several instances and one listener that nobody serves: who writes its status, how often, and what it says in the end.
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

/** What an instance sees: its machines, that nobody answers there, or that it has no netns. */
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

/** What is not facts: it was told to end; it looks for clusters elsewhere by now. */
type View = SiteFacts & { readonly draining?: boolean; readonly elsewhere?: boolean };

class Site {
  readonly #api = new ModelApi();
  readonly #instances = new Map<string, { world: World | null; memory: PlanMemory }>();
  #status: Told | null = null;
  /** Every write: who, and the reason of Ready. */
  readonly writes: string[] = [];

  /** Everybody has turns for so long; those not named are dead. */
  run(ms: number, views: Readonly<Record<string, View>>): void {
    const names = Object.keys(views).sort();
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      const fellows = names.filter((name) => views[name]?.elsewhere !== true);
      for (const [rank, name] of fellows.entries())
        this.#turn(name, views[name] as View, { rank, live: new Set(names), fellows: new Set(fellows) });
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
    const desired = desiredState(world, { namespace: NAMESPACE, defaultCluster: null });
    const { actions, memory } = diff(kube, desired, SETTINGS, known.memory);
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

describe('where nobody serves a listener', () => {
  test('an instance that has the netns writes, although the first of the living has none', () => {
    const site = new Site();
    site.run(60_000, { 'net-1': far, 'net-2': far, 'net-3': near });
    // Once more, when its Service is there.
    expect(new Set(site.writes)).toEqual(new Set(['net-3 Unhealthy']));
    expect(site.writes.length).toBeLessThanOrEqual(2);
  });

  test('the first of the living writes after some seconds where nobody has the netns', () => {
    const site = new Site();
    site.run(5900, { 'net-1': far, 'net-2': far });
    expect(site.writes).toEqual([]);
    site.run(60_000, { 'net-1': far, 'net-2': far });
    expect(site.writes).toEqual(['net-1 NoNetns']);
  });

  test('what everybody sees alike is written at once, by the first of the living', () => {
    const site = new Site();
    site.run(STEP_MS, { 'net-1': empty(far), 'net-2': empty(near) });
    expect(site.writes).toEqual(['net-1 NoMembers']);
  });

  test('machines that come are told by who has the netns, and never as that there is none', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': empty(far), 'net-2': empty(near) });
    site.run(60_000, { 'net-1': far, 'net-2': near });
    expect(site.last).toBe('net-2 Unhealthy');
    expect(site.writes.filter((each) => each.endsWith('NoNetns'))).toEqual([]);
  });

  test('one that comes to have the netns takes over from who had none', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': far, 'net-2': far });
    site.run(20_000, { 'net-1': far, 'net-2': near });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(60_000, { 'net-1': far, 'net-2': far });
    expect(site.last).toBe('net-2 NoNetns');
  });

  test.each([
    ['the one that wrote dies, and another has the netns', near, 'net-3 Unhealthy'],
    ['the one that wrote dies, and nobody else has it', far, 'net-1 NoNetns'],
  ])('%s', (_title, other, last) => {
    const site = new Site();
    site.run(20_000, { 'net-1': far, 'net-2': near, 'net-3': other });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(60_000, { 'net-1': far, 'net-3': other });
    expect(site.last).toBe(last);
    expect(site.writes.filter((each) => each === 'net-1 NoNetns').length).toBe(other === far ? 1 : 0);
  });

  test('two that see different things do not take turns', () => {
    const site = new Site();
    const views = { 'net-1': nearWithoutPort, 'net-2': near, 'net-3': nearWithoutPort };
    site.run(30_000, views);
    const before = site.writes.length;
    site.run(120_000, views);
    expect(site.writes.length).toBe(before);
    expect(before).toBeLessThanOrEqual(4);
  });

  test('one that does not know its machines yet leaves it to who has the netns', () => {
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

  test('one that hears of no machine any more leaves it to who does, until that one says so too', () => {
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
    ['another has the netns', near, 'net-3 Unhealthy'],
    ['nobody else has it', far, 'net-1 NoNetns'],
    ['there are no machines left', empty(far), 'net-1 NoMembers'],
  ])('while the last that served drains, it is not said to be served: %s', (_title, other, last) => {
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

  test('one that looks for clusters elsewhere by now has nothing to say any more', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': far, 'net-2': near });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(30_000, { 'net-1': far, 'net-2': { ...near, elsewhere: true } });
    expect(site.last).toBe('net-1 NoNetns');
  });
});
