// Looks at the world whenever something says "look again", decides, and hands over what changed. Holds no logic of its
// own: triggers carry no data, turns never overlap, and a turn that fails is reported and tried again.
import type { ProbeTarget } from '../health/probe.ts';
import type { TargetHealth } from '../health/target-health.ts';
import type { NetnsSnapshot } from '../netns/netns-snapshot.ts';
import type { PortOutcome } from '../routing/route-table.ts';
import { settledDesired } from './desired/desired-equality.ts';
import {
  type Desired,
  type DesiredSettings,
  type DesiredState,
  desiredState,
} from './desired/desired-state.ts';
import type { Plan } from './plan/plan.ts';
import { withPublications } from './plan/published-status.ts';
import type { ClusterSource } from './sources/cluster-source.ts';
import type { ListenerSnapshot } from './sources/listener-snapshot.ts';
import type { KubeWorld } from './world/kube-world.ts';
import { type World, type WorldSettings, worldOf } from './world/world.ts';

export type TriggerReason =
  | 'start'
  | 'source'
  | 'netns'
  | 'backend-up'
  | 'backend-down'
  | 'tick'
  | 'kubernetes'
  | 'ports';

/** Keeps the objects in Kubernetes; there is none where clusters come from files. */
export interface Publisher {
  observe(): KubeWorld;
  /** Pure but for what it remembers from one plan to the next. */
  plan(kube: KubeWorld, desired: DesiredState): Plan;
  /** Returns at once; what comes of it is told by `trigger('kubernetes')`. */
  apply(plan: Plan): void;
}

export interface ControlLoopDependencies {
  readonly source: ClusterSource;
  readonly netns: {
    snapshot(): NetnsSnapshot;
    /** Asked for at each tick; what it finds is told by `trigger('netns')`, or seen in this same turn if it is quick. */
    rescan(): unknown;
  };
  readonly health: {
    snapshot(): ReadonlyMap<string, TargetHealth>;
    /** Called only when the set changed. */
    setTargets(targets: readonly ProbeTarget[]): void;
  };
  /** Absent where there are none. */
  readonly listeners?: { snapshot(): ListenerSnapshot } | null;
  readonly publisher?: Publisher | null;
  /** What came of each port that was asked for. */
  readonly ports?: () => ReadonlyMap<string, PortOutcome>;
  readonly settings: DesiredSettings;
  readonly worldSettings?: WorldSettings;
  /** Called only when something changed; parts that did not are the same references as before. */
  readonly publish: (desired: Desired) => void;
  /** How long each turn took, whatever came of it. */
  readonly onTurn?: (durationMs: number) => void;
  readonly onTurnError: (error: unknown) => void;
  readonly intervalMs: number;
}

/** How long after a turn something may wait for company: so many times what that turn took, and never longer than `mostMs`. */
interface Patience {
  readonly turns: number;
  readonly mostMs: number;
}

/**
 * A thousand clusters that come up, or are published, at once are thousands of verdicts, answers and watch events: turns for them take
 * a quarter of the thread's time at most. Who falls is told of with hardly a wait: clients are being sent there. After a time in
 * which nothing happened nobody waits, and what is not listed here never does.
 */
const PATIENCE: Partial<Record<TriggerReason, Patience>> = {
  kubernetes: { turns: 3, mostMs: 250 },
  'backend-up': { turns: 3, mostMs: 100 },
  'backend-down': { turns: 1, mostMs: 20 },
};

export class ControlLoop {
  readonly #dependencies: ControlLoopDependencies;
  #world: World | null = null;
  #desired: Desired | null = null;
  #state: 'new' | 'starting' | 'running' | 'stopped' = 'new';
  #ticker: NodeJS.Timeout | null = null;
  #pending: NodeJS.Immediate | null = null;
  #later: NodeJS.Timeout | null = null;
  #laterMs = Number.POSITIVE_INFINITY;
  #turnEndedMs = Number.NEGATIVE_INFINITY;
  #turnTookMs = 0;

  constructor(dependencies: ControlLoopDependencies) {
    this.#dependencies = dependencies;
  }

  /** Starts the source; resolves after the first turn. Rejects only if the source cannot be started at all. */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error('a control loop starts once');
    this.#state = 'starting';
    await this.#dependencies.source.start(() => this.trigger('source'));
    // Stopped meanwhile: TypeScript cannot know that `stop` ran during the await.
    if ((this.#state as string) === 'stopped') return;
    this.#state = 'running';
    this.#turn();
    this.#ticker = setInterval(() => this.#tick(), this.#dependencies.intervalMs);
  }

  /** Any number of triggers until the event loop comes round, or until patience ends, make one turn. */
  trigger(reason: TriggerReason): void {
    // Before the source has spoken once there is nothing to decide from.
    if (this.#state !== 'running' || this.#pending !== null) return;
    const { turns, mostMs } = PATIENCE[reason] ?? { turns: 0, mostMs: 0 };
    const atMs = this.#turnEndedMs + Math.min(mostMs, turns * this.#turnTookMs);
    const waitMs = atMs - performance.now();
    if (waitMs < 1) {
      this.#soon();
      return;
    }
    if (atMs >= this.#laterMs) return;
    if (this.#later !== null) clearTimeout(this.#later);
    this.#laterMs = atMs;
    this.#later = setTimeout(() => this.#soon(), waitMs);
  }

  /** Whoever waits for what was triggered so far: it is looked at in this round of the event loop, and not later. */
  hurry(): void {
    if (this.#later !== null) this.#soon();
  }

  #soon(): void {
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = null;
    this.#laterMs = Number.POSITIVE_INFINITY;
    this.#pending = setImmediate(() => {
      this.#pending = null;
      this.#turn();
    });
  }

  /** What was last handed over. */
  last(): Desired | null {
    return this.#desired;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    if (this.#ticker !== null) clearInterval(this.#ticker);
    if (this.#pending !== null) clearImmediate(this.#pending);
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = null;
    this.#ticker = null;
    this.#pending = null;
    await this.#dependencies.source.stop();
  }

  #tick(): void {
    try {
      this.#dependencies.netns.rescan();
    } catch (error) {
      this.#dependencies.onTurnError(error);
    }
    this.trigger('tick');
  }

  #turn(): void {
    const { source, netns, health, listeners, publisher, ports } = this.#dependencies;
    const { settings, worldSettings, publish, onTurn, onTurnError } = this.#dependencies;
    const startedMs = performance.now();
    try {
      const world = worldOf(
        {
          source: source.snapshot(),
          netns: netns.snapshot(),
          health: health.snapshot(),
          kube: publisher?.observe() ?? null,
          ports: ports?.() ?? new Map(),
          ...(listeners && { listeners: listeners.snapshot() }),
        },
        this.#world,
        worldSettings,
      );
      this.#world = world;
      const decided = desiredState(world, settings);
      const plan = world.kube === null ? null : (publisher?.plan(world.kube, decided) ?? null);
      const before = this.#desired;
      const desired = settledDesired(before, plan === null ? decided : withPublications(decided, plan));
      if (desired !== before) {
        // A backend is probed before it is routed to: new ones are not up yet, so they are in no route of this turn.
        if (desired.backends !== before?.backends) health.setTargets(desired.backends);
        publish(desired);
      }
      // Only now: nobody is sent here before the route is there.
      if (plan !== null) publisher?.apply(plan);
      // Last: a turn that failed halfway counts as not done, and the next one does all of it again.
      this.#desired = desired;
    } catch (error) {
      onTurnError(error);
    } finally {
      this.#turnEndedMs = performance.now();
      this.#turnTookMs = this.#turnEndedMs - startedMs;
      onTurn?.(this.#turnTookMs);
    }
  }
}
