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
import type { ListenerState, ListenerStatus } from '../desired/listener-status.ts';
import type { Peers } from '../instance/instance-state.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { World } from '../world/world.ts';
import { diff } from './diff.ts';
import { type WriterTurn, writerTurn } from './listener-status-writer.ts';
import { NO_MEMORY, type PlanMemory } from './plan.ts';

const STEP_MS = 100;

interface EventDraft {
  readonly observedBy: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

/** The view of an instance: the machines, that none answers, or that it has no netns. */
const MACHINES = [machine('w-1', '10.0.0.11', { role: 'worker' })];
const withNetns: SiteFacts = { machines: MACHINES, down: [keyAt('10.0.0.11')] };
const withNetnsButNoPort: SiteFacts = {
  machines: MACHINES,
  up: [keyAt('10.0.0.11')],
  ports: { ssh: { kind: 'failed', reason: 'the range is full' } },
};
const serving: SiteFacts = { ...withNetnsButNoPort, ports: { ssh: { kind: 'open', port: 17_001 } } };
const withoutNetns: SiteFacts = { machines: MACHINES, netns: [] };
const empty = (facts: SiteFacts): SiteFacts => ({ ...facts, machines: [] });

/** State of the instance itself: it drains, or it serves another cluster namespace. */
type View = SiteFacts & { readonly draining?: boolean; readonly elsewhere?: boolean };

class Site {
  readonly #api = new ModelApi();
  readonly #instances = new Map<string, { world: World | null; memory: PlanMemory }>();
  #status: EventDraft | null = null;
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
      this.#status = structuredClone(action.status) as unknown as EventDraft;
      const ready = this.#status.conditions.find(({ type }) => type === 'Ready');
      this.writes.push(`${name} ${ready?.reason}`);
    }
  }
}

describe('when no instance serves a listener', () => {
  test('an instance with the netns writes, although the first live instance has none', () => {
    const site = new Site();
    site.run(60_000, { 'net-1': withoutNetns, 'net-2': withoutNetns, 'net-3': withNetns });
    // A second write follows when its Service exists.
    expect(new Set(site.writes)).toEqual(new Set(['net-3 Unhealthy']));
    expect(site.writes.length).toBeLessThanOrEqual(2);
  });

  test('the first live instance writes after some seconds when no instance has the netns', () => {
    const site = new Site();
    site.run(5900, { 'net-1': withoutNetns, 'net-2': withoutNetns });
    expect(site.writes).toEqual([]);
    site.run(60_000, { 'net-1': withoutNetns, 'net-2': withoutNetns });
    expect(site.writes).toEqual(['net-1 NoNetns']);
  });

  test('a state that all instances see is written at once, by the first live instance', () => {
    const site = new Site();
    site.run(STEP_MS, { 'net-1': empty(withoutNetns), 'net-2': empty(withNetns) });
    expect(site.writes).toEqual(['net-1 NoMembers']);
  });

  test('new machines are reported by the instance with the netns, and never as NoNetns', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': empty(withoutNetns), 'net-2': empty(withNetns) });
    site.run(60_000, { 'net-1': withoutNetns, 'net-2': withNetns });
    expect(site.last).toBe('net-2 Unhealthy');
    expect(site.writes.filter((each) => each.endsWith('NoNetns'))).toEqual([]);
  });

  test('an instance that gets the netns takes over from a writer without it', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': withoutNetns, 'net-2': withoutNetns });
    site.run(20_000, { 'net-1': withoutNetns, 'net-2': withNetns });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(60_000, { 'net-1': withoutNetns, 'net-2': withoutNetns });
    expect(site.last).toBe('net-2 NoNetns');
  });

  test.each([
    ['the writer dies, and another instance has the netns', withNetns, 'net-3 Unhealthy'],
    ['the writer dies, and no other instance has the netns', withoutNetns, 'net-1 NoNetns'],
  ])('%s', (_title, other, last) => {
    const site = new Site();
    site.run(20_000, { 'net-1': withoutNetns, 'net-2': withNetns, 'net-3': other });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(60_000, { 'net-1': withoutNetns, 'net-3': other });
    expect(site.last).toBe(last);
    expect(site.writes.filter((each) => each === 'net-1 NoNetns').length).toBe(
      other === withoutNetns ? 1 : 0,
    );
  });

  test('two instances with different views do not overwrite each other', () => {
    const site = new Site();
    const views = { 'net-1': withNetnsButNoPort, 'net-2': withNetns, 'net-3': withNetnsButNoPort };
    site.run(30_000, views);
    const before = site.writes.length;
    site.run(120_000, views);
    expect(site.writes.length).toBe(before);
    expect(before).toBeLessThanOrEqual(4);
  });

  test('an instance without known machines leaves the status to an instance with the netns', () => {
    const site = new Site();
    const unknown: SiteFacts = { machines: [], snapshot: { machinesKnown: false } };
    site.run(30_000, { 'net-1': unknown, 'net-2': withNetns });
    const before = site.writes.length;
    site.run(120_000, { 'net-1': unknown, 'net-2': withNetns });
    expect(site.writes.slice(before)).toEqual([]);
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(20_000, { 'net-1': unknown });
    expect(site.last).toBe('net-1 Pending');
  });

  test('an instance that sees no machines any more leaves the status to the writer that still does', () => {
    const site = new Site();
    site.run(30_000, { 'net-1': empty(withoutNetns), 'net-2': withNetns });
    const before = site.writes.length;
    site.run(120_000, { 'net-1': empty(withoutNetns), 'net-2': withNetns });
    expect(site.writes.slice(before)).toEqual([]);
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(20_000, { 'net-1': empty(withoutNetns), 'net-2': empty(withNetns) });
    expect(site.writes.slice(before)).toEqual(['net-2 NoMembers']);
  });

  test.each([
    ['another instance has the netns', withNetns, 'net-3 Unhealthy'],
    ['no other instance has the netns', withoutNetns, 'net-1 NoNetns'],
    ['there are no machines left', empty(withoutNetns), 'net-1 NoMembers'],
  ])('while the last serving instance drains, the status is not Serving: %s', (_title, other, last) => {
    const site = new Site();
    site.run(20_000, { 'net-1': withoutNetns, 'net-2': serving, 'net-3': withoutNetns });
    expect(site.last).toBe('net-2 Serving');
    site.run(30_000, {
      'net-1': other === withNetns ? withoutNetns : other,
      'net-2': { ...serving, draining: true },
      'net-3': other,
    });
    expect(site.last).toBe(last);
    expect(site.writes.filter((each) => each.endsWith('NoNetns')).length).toBe(
      other === withoutNetns ? 1 : 0,
    );
  });

  test('an instance that moved to another cluster namespace no longer counts as the writer', () => {
    const site = new Site();
    site.run(20_000, { 'net-1': withoutNetns, 'net-2': withNetns });
    expect(site.last).toBe('net-2 Unhealthy');
    site.run(30_000, { 'net-1': withoutNetns, 'net-2': { ...withNetns, elsewhere: true } });
    expect(site.last).toBe('net-1 NoNetns');
  });
});

describe('the turn of the instance net-2 for a listener without a slice', () => {
  const MEMBER = {
    machine: 'w-1',
    key: null,
    address: null,
    state: 'NotReady',
    up: false,
    reason: '',
  } as const;
  const seen = (state: ListenerState, netns: string | null = null): ListenerStatus => ({
    name: 'ssh',
    namespace: 'default',
    cluster: 'kube-1',
    protocol: 'TCP',
    port: 22,
    targetPort: 22,
    service: 'kube-1-ssh',
    listenPort: null,
    serverNames: [],
    state,
    reason: '',
    detail: null,
    members: netns === null ? [] : [{ ...MEMBER, netns }],
  });
  const close = seen('unhealthy');
  const common = seen('no-members');
  const starting = seen('pending');
  const blind = seen('no-netns');

  /** The last report: its writer and its reason of Ready. net-3 is dead. */
  type Report = readonly [observedBy: string, reason: string] | null;
  const now: WriterTurn = { waitMs: 0, claims: false };
  const later: WriterTurn = { waitMs: 6000, claims: false };
  const turn = (waitMs: number, claims = false): WriterTurn => ({ waitMs, claims });

  test.each<[title: string, view: ListenerStatus, rank: number, report: Report, expected: WriterTurn | null]>(
    [
      ['close: writes at once as the first one', close, 0, null, now],
      ['close: writes in the order of the ranks', close, 3, null, turn(600)],
      ['close: waits at most four seconds for its rank', close, 50, null, turn(4000)],
      ['close: corrects its own report at once', close, 3, ['net-2', 'NoMembers'], now],
      ['close: leaves a close report to the live peer', close, 0, ['net-1', 'NotPublished'], null],
      ['close: leaves an equal report to the live peer', close, 0, ['net-1', 'Pending'], null],
      ['close: replaces a worse report of a live peer', close, 1, ['net-1', 'NoNetns'], turn(200)],
      ['close: claims the report of a dead instance', close, 1, ['net-3', 'Unhealthy'], turn(200, true)],
      ['close: gives a live peer time to correct Serving', close, 1, ['net-1', 'Serving'], turn(1200, true)],
      ['close: pending with a netns is a close view', seen('pending', 'qdhcp-1'), 3, null, turn(600)],
      ['common: the first one writes at once', common, 0, null, now],
      ['common: another one does not write', common, 1, null, null],
      ['common: the first one replaces a distant report', common, 0, ['net-1', 'NoNetns'], now],
      ['common: the live peer with a close report writes', common, 0, ['net-1', 'Unhealthy'], null],
      ['common: writes after its own close report', common, 3, ['net-2', 'Unhealthy'], now],
      ['common: the first one follows a dead instance', common, 0, ['net-3', 'Unhealthy'], now],
      ['starting: the first one writes at once', starting, 0, null, now],
      ['starting: another one does not write', starting, 1, null, null],
      ['starting: waits before it replaces a peer', starting, 0, ['net-1', 'NoNetns'], later],
      ['starting: waits before it replaces Serving', starting, 0, ['net-1', 'Serving'], later],
      ['starting: the live peer with a close report writes', starting, 0, ['net-1', 'Unhealthy'], null],
      ['starting: waits after its own close report', starting, 1, ['net-2', 'Unhealthy'], later],
      ['blind: the first one waits for better reports', blind, 0, null, later],
      ['blind: another one does not write', blind, 1, null, null],
      ['blind: the last writer continues', blind, 3, ['net-2', 'NoMembers'], later],
      ['blind: leaves any report to the live peer', blind, 0, ['net-1', 'NoMembers'], null],
      ['blind: the first one follows a dead instance', blind, 0, ['net-3', 'Unhealthy'], later],
    ],
  )('%s', (_title, view, rank, report, expected) => {
    const live = new Set(['net-1', 'net-2']);
    const kube = new ModelApi().seenBy({ instance: 'net-2' }, { rank, live, sameScope: live });
    const found = report && { observedBy: report[0], conditions: [{ type: 'Ready', reason: report[1] }] };
    expect(writerTurn(view, 'Pending', found, kube)).toEqual(expected);
  });
});
