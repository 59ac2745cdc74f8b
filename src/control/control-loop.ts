// The control loop. Each turn builds the World and computes the desired state, publishes changes to the main thread, and
// applies the plan. Triggers carry no data, turns never overlap, and a failed turn is reported and retried at the next trigger.
import type { ProbeTarget } from '../health/probe.ts';
import type { CertificateReading } from '../health/server-certificate.ts';
import type { TargetHealth } from '../health/target-health.ts';
import type { NetnsSnapshot } from '../netns/netns-directory.ts';
import type { PortOutcome } from '../routing/route-table.ts';
import type { DesiredSettings } from './desired/desired-context.ts';
import { type DesiredState, desiredState } from './desired/desired-state.ts';
import type { TurnCache } from './objects/turn-cache.ts';
import type { Plan } from './plan/plan.ts';
import { settledResult } from './settled-result.ts';
import type { ClusterSource } from './sources/cluster-source.ts';
import type { ListenerSnapshot } from './sources/listener-snapshot.ts';
import type { MachineFacts } from './sources/machine.ts';
import { type TurnResult, turnResult } from './turn-result.ts';
import type { KubeWorld } from './world/kube-world.ts';
import { type World, type WorldSettings, worldOf } from './world/world.ts';

export type TriggerReason =
  | 'start'
  | 'source'
  | 'netns'
  | 'backend-up'
  | 'backend-down'
  | 'backend-settled-down'
  | 'certificate'
  | 'tick'
  | 'kubernetes'
  | 'ports';

/** Maintains the objects in Kubernetes. Absent when clusters come from files. */
export interface Publisher {
  /** Reads mirrors. Starts no request. */
  observe(): KubeWorld;
  /** Computes the plan from the observation, the desired state and the memory of the last applied plan. Starts no request. */
  plan(kube: KubeWorld, desired: DesiredState): Plan;
  /** Starts everything that the plan contains, and returns at once. Results arrive later as `trigger('kubernetes')`. */
  apply(plan: Plan): void;
}

export interface ControlLoopOptions {
  readonly source: ClusterSource;
  readonly netns: {
    snapshot(): NetnsSnapshot;
    /** Called at each tick. A fast result is part of the same turn; a later result arrives as `trigger('netns')`. */
    rescan(): unknown;
  };
  readonly health: {
    snapshot(): ReadonlyMap<string, TargetHealth>;
    /** Called only when the set changed. */
    setTargets(targets: readonly ProbeTarget[]): void;
  };
  /** Absent: no certificate is read. */
  readonly certificates?: {
    snapshot(): ReadonlyMap<string, CertificateReading>;
    /** Called only when the set changed. */
    setTargets(targets: readonly ProbeTarget[]): void;
  };
  /** Absent if additional listeners are not in use. */
  readonly listeners?: { snapshot(): ListenerSnapshot } | null;
  /** The Machines of control planes. Absent if they are not in use. */
  readonly controlPlanes?: { snapshot(): readonly MachineFacts[]; isKnown(): boolean } | null;
  readonly publisher?: Publisher | null;
  /** The outcome of each requested port. */
  readonly ports?: () => ReadonlyMap<string, PortOutcome>;
  readonly settings: DesiredSettings;
  /** Shared with the publisher of this loop only. */
  readonly cache: TurnCache;
  readonly worldSettings?: WorldSettings;
  /** Called only after a change. Unchanged parts keep their references. */
  readonly publish: (desired: TurnResult) => void;
  /** The duration of each turn, successful or not. */
  readonly onTurn?: (durationMs: number) => void;
  readonly onTurnError: (error: unknown) => void;
  readonly intervalMs: number;
}

/**
 * How long a trigger waits after a turn, so that several triggers share the next turn. The wait is `turns` times the duration of the last
 * turn, at most `mostMs`.
 */
interface Patience {
  readonly turns: number;
  readonly mostMs: number;
}

/**
 * A thousand clusters that come up or are published at once cause thousands of verdicts, responses and watch events. If each turn is
 * followed by a wait of three turn durations, turns use at most a quarter of the thread's time. `mostMs` bounds the wait. A failed
 * backend waits much less, because clients are still routed to it. The wait counts from the end of the last turn, so a trigger after
 * a quiet period does not wait. A reason without an entry never waits.
 */
const PATIENCE: Partial<Record<TriggerReason, Patience>> = {
  kubernetes: { turns: 3, mostMs: 250 },
  'backend-up': { turns: 3, mostMs: 100 },
  certificate: { turns: 3, mostMs: 250 },
  'backend-down': { turns: 1, mostMs: 20 },
  'backend-settled-down': { turns: 3, mostMs: 100 },
};

export class ControlLoop {
  readonly #options: ControlLoopOptions;
  #world: World | null = null;
  #desired: TurnResult | null = null;
  #state: 'new' | 'starting' | 'running' | 'stopped' = 'new';
  #ticker: NodeJS.Timeout | null = null;
  #pending: NodeJS.Immediate | null = null;
  #later: NodeJS.Timeout | null = null;
  #laterMs = Number.POSITIVE_INFINITY;
  #turnEndedMs = Number.NEGATIVE_INFINITY;
  #turnTookMs = 0;

  constructor(options: ControlLoopOptions) {
    this.#options = options;
  }

  /** Starts the source and resolves after the first turn. Rejects only if the source cannot start. */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error('a control loop starts once');
    this.#state = 'starting';
    await this.#options.source.start(() => this.trigger('source'));
    // `stop` can run during the await; TypeScript still narrows the state to 'starting'.
    if ((this.#state as string) === 'stopped') return;
    this.#state = 'running';
    this.#turn();
    this.#ticker = setInterval(() => this.#tick(), this.#options.intervalMs);
  }

  /** All triggers until the next round of the event loop, or until the wait ends, share one turn. */
  trigger(reason: TriggerReason): void {
    // Before the first snapshot of the source, no turn is possible.
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

  /** Ends the wait: the turn for all pending triggers runs in this round of the event loop. */
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

  /** The state that the loop last published. */
  last(): TurnResult | null {
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
    await this.#options.source.stop();
  }

  #tick(): void {
    try {
      this.#options.netns.rescan();
    } catch (error) {
      this.#options.onTurnError(error);
    }
    this.trigger('tick');
  }

  #turn(): void {
    const { source, netns, health, certificates, listeners, controlPlanes, publisher, ports } = this.#options;
    const { settings, cache, worldSettings, publish, onTurn, onTurnError } = this.#options;
    const startedMs = performance.now();
    try {
      const world = worldOf(
        {
          source: source.snapshot(),
          netns: netns.snapshot(),
          health: health.snapshot(),
          ...(certificates && { certificates: certificates.snapshot() }),
          kube: publisher?.observe() ?? null,
          ports: ports?.() ?? new Map(),
          ...(listeners && { listeners: listeners.snapshot() }),
          ...(controlPlanes && {
            controlPlanes: controlPlanes.snapshot(),
            controlPlanesKnown: controlPlanes.isKnown(),
          }),
        },
        this.#world,
        worldSettings,
      );
      this.#world = world;
      const decided = desiredState(world, settings, cache);
      const plan = world.kube === null ? null : (publisher?.plan(world.kube, decided) ?? null);
      const before = this.#desired;
      const shown = plan === null ? decided : turnResult(decided, plan, cache);
      const desired = settledResult(before, shown);
      if (desired !== before) {
        // Probes of a new backend start here. It is not up yet, so no route of this turn contains it.
        if (desired.backends !== before?.backends) {
          // First, so that the first answer of a new backend finds it.
          certificates?.setTargets(desired.backends);
          health.setTargets(desired.backends);
        }
        publish(desired);
      }
      // Apply after `publish`: Kubernetes must not send clients here before the route exists.
      if (plan !== null) publisher?.apply(plan);
      // This comes last, so that after a turn that failed halfway the next turn repeats everything.
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
