// Probes every target repeatedly and keeps its health. One timer serves all targets. The monitor never exceeds the configured number
// of probes, even if many targets are added or many dials fail at once. Targets without a verdict have their own queue and
// rate. After a start no target has a verdict, and at the normal rate the last of 1000 targets would be up after 12 s.
import type { HealthSettings } from './health-settings.ts';
import type { Probe, ProbeOutcome, ProbeTarget } from './probe.ts';
import { ProbeQueue } from './probe-queue.ts';
import {
  type Due,
  delayAfterProbeMs,
  firstDueMs,
  firstSpareDueMs,
  shareOf,
  slackOf,
  stretchedIntervalMs,
  type Urgency,
  urgencyAfterProbe,
} from './schedule.ts';
import { nextVerdict, type TargetHealth, UNPROVEN, type Verdict } from './target-health.ts';

interface Tracked extends Due {
  target: ProbeTarget;
  verdict: Verdict;
  health: TargetHealth;
  /** Infinity while a probe runs. */
  dueMs: number;
  slackMs: number;
  urgency: Urgency;
  queue: ProbeQueue<Tracked>;
  startedMs: number;
  /** Cancels the probe; null if none runs. */
  cancel: (() => void) | null;
  dialFailedMeanwhile: boolean;
}

export interface HealthMonitorOptions {
  readonly probe: Probe;
  readonly settings: HealthSettings;
  /** Called only when `up` changes. Every probe changes `lastProbe`, which is visible in `snapshot`. */
  readonly onChange: (key: string, health: TargetHealth) => void;
  /** Called when a target that is down fails after no probe, or after a passed one: it is settled down. `onChange` is not called then. */
  readonly onSettledDown?: () => void;
  /** A target that did not count as up passed a probe. It is called before the `onChange` of the same probe. */
  readonly onAnswer?: (key: string) => void;
  readonly random?: () => number;
}

/** The maximum share of concurrent probes for new targets. The rest is for known targets, even if many new targets time out. */
const SHARE_OF_NEWCOMERS = 0.8;

export class HealthMonitor {
  readonly #probe: Probe;
  readonly #settings: HealthSettings;
  readonly #onChange: HealthMonitorOptions['onChange'];
  readonly #onSettledDown: () => void;
  readonly #onAnswer: NonNullable<HealthMonitorOptions['onAnswer']>;
  readonly #random: () => number;
  readonly #known: ProbeQueue<Tracked>;
  readonly #newcomers: ProbeQueue<Tracked>;
  readonly #tracked = new Map<string, Tracked>();
  /** The sum of the shares of all targets. */
  #load = 0;
  #whenIdle: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #wakeMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor({
    probe,
    settings,
    onChange,
    onSettledDown = () => {},
    onAnswer = () => {},
    random = Math.random,
  }: HealthMonitorOptions) {
    this.#probe = probe;
    this.#settings = settings;
    this.#onChange = onChange;
    this.#onSettledDown = onSettledDown;
    this.#onAnswer = onAnswer;
    this.#random = random;
    const { maxConcurrent, maxProbesPerSecond, maxFirstProbesPerSecond } = settings;
    this.#known = new ProbeQueue(maxProbesPerSecond, maxConcurrent);
    this.#newcomers = new ProbeQueue(maxFirstProbesPerSecond, Math.ceil(maxConcurrent * SHARE_OF_NEWCOMERS));
  }

  /** A target with a known key keeps its state. A new target starts down and is probed soon. */
  setTargets(targets: readonly ProbeTarget[]): void {
    if (this.#stopped) return;
    const wanted = new Set(targets.map(({ key }) => key));
    for (const [key, tracked] of this.#tracked) {
      if (wanted.has(key)) continue;
      this.#tracked.delete(key);
      tracked.queue.members.delete(tracked);
      tracked.cancel?.();
    }
    const nowMs = performance.now();
    let added = 0;
    const newSpares: Tracked[] = [];
    for (const target of targets) {
      const known = this.#tracked.get(target.key);
      if (known !== undefined) {
        const wasSpare = known.target.way === 'spare';
        const isSpare = target.way === 'spare';
        known.target = target;
        if (wasSpare && !isSpare) hasten(known, nowMs);
        if (isSpare && !wasSpare && known.startedMs === Number.NEGATIVE_INFINITY) newSpares.push(known);
        continue;
      }
      const tracked = newcomer(target, this.#newcomers, nowMs);
      if (target.way === 'spare') newSpares.push(tracked);
      else tracked.dueMs = firstDueMs(this.#settings, nowMs, added++);
      this.#tracked.set(target.key, tracked);
      this.#newcomers.members.add(tracked);
    }
    this.#load = 0;
    for (const { target, verdict } of this.#tracked.values()) this.#load += shareOf(target, verdict);
    this.#spread(newSpares, nowMs);
    this.#turn();
  }

  /** At a start all ways are new. Their probes are spread over one interval, so that they cause no burst. */
  #spread(spares: readonly Tracked[], nowMs: number): void {
    const [first] = spares;
    if (first === undefined) return;
    const settledMs = stretchedIntervalMs(this.#settings, this.#load) / shareOf(first.target, first.verdict);
    spares.forEach((spare, index) => {
      spare.dueMs = firstSpareDueMs(nowMs, settledMs, index, spares.length);
      spare.urgency = 0;
    });
  }

  /** A client's dial to the target failed: probe it now, but not more often than the fast interval allows. */
  dialFailed(key: string): void {
    const tracked = this.#tracked.get(key);
    if (tracked === undefined || !tracked.health.up) return; // a down target is not in use; this dial began earlier
    if (tracked.cancel !== null) {
      tracked.dialFailedMeanwhile = true;
      return;
    }
    const soonestMs = Math.max(performance.now(), tracked.startedMs + this.#settings.fastIntervalMs);
    tracked.dueMs = Math.min(tracked.dueMs, soonestMs);
    tracked.urgency = 2;
    this.#turn();
  }

  snapshot(): ReadonlyMap<string, TargetHealth> {
    return new Map(Array.from(this.#tracked, ([key, { health }]) => [key, health]));
  }

  /** Each target is up or has failed, except for spares, for which nothing waits. */
  get isSettled(): boolean {
    for (const { target, health } of this.#tracked.values())
      if (target.way !== 'spare' && !health.up && health.lastProbe?.ok !== false) return false;
    return true;
  }

  /** Cancels the running probes. When it resolves, all their sockets and netns handles are closed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { cancel } of this.#tracked.values()) cancel?.();
    if (this.#running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  get #running(): number {
    return this.#known.running + this.#newcomers.running;
  }

  /** Starts the probes that are due and allowed now, and sets the timer for the next ones. */
  #turn(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#wakeMs = Number.POSITIVE_INFINITY;
    if (this.#stopped) return;
    const nowMs = performance.now();
    const intervalMs = stretchedIntervalMs(this.#settings, this.#load);
    for (const queue of [this.#known, this.#newcomers]) {
      const most = this.#settings.maxConcurrent - this.#running;
      const { picks, wakeMs } = queue.take(nowMs, intervalMs, most);
      for (const tracked of picks) this.#start(tracked, nowMs);
      this.#wakeBy(wakeMs, nowMs);
    }
  }

  #wakeBy(wakeMs: number, nowMs: number): void {
    if (this.#stopped || wakeMs >= this.#wakeMs) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#wakeMs = wakeMs;
    this.#timer = setTimeout(() => this.#turn(), Math.ceil(wakeMs - nowMs));
  }

  #start(tracked: Tracked, nowMs: number): void {
    tracked.startedMs = nowMs;
    tracked.dueMs = Number.POSITIVE_INFINITY;
    tracked.dialFailedMeanwhile = false;
    const { queue } = tracked;
    tracked.cancel = this.#probe.start(tracked.target, (outcome) => {
      const hadNoPlace = queue.isFull || this.#running >= this.#settings.maxConcurrent;
      queue.ended();
      // Ignore the result if the target was removed during the probe, even if a target with the same key was added again.
      if (!this.#stopped && this.#tracked.get(tracked.target.key) === tracked)
        this.#applyOutcome(tracked, outcome);
      if (hadNoPlace) this.#turn();
      if (this.#running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
  }

  #applyOutcome(tracked: Tracked, { ok, error, durationMs }: ProbeOutcome): void {
    tracked.cancel = null;
    if (ok && !tracked.verdict.up) this.#onAnswer(tracked.target.key);
    const verdict = nextVerdict(tracked.verdict, ok, this.#settings);
    const flipped = verdict.up !== tracked.verdict.up;
    const atMs = Date.now();
    const isNews = !ok && !flipped && !verdict.up && tracked.health.lastProbe?.ok !== false;
    this.#load += shareOf(tracked.target, verdict) - shareOf(tracked.target, tracked.verdict);
    tracked.verdict = verdict;
    tracked.health = Object.freeze({
      up: verdict.up,
      sinceMs: flipped ? atMs : tracked.health.sinceMs,
      lastProbe: Object.freeze({ atMs, ok, durationMs, error }),
    });
    const delayMs = delayAfterProbeMs(tracked, this.#settings, this.#load, this.#random());
    const isUrgent = tracked.dialFailedMeanwhile && verdict.up;
    const waitMs = isUrgent ? Math.min(delayMs, this.#settings.fastIntervalMs) : delayMs;
    const nowMs = performance.now();
    tracked.dueMs = nowMs + waitMs;
    tracked.slackMs = slackOf(waitMs);
    tracked.urgency = isUrgent ? 2 : urgencyAfterProbe(verdict);
    if (verdict.up || !ok) this.#moveToKnown(tracked);
    this.#wakeBy(tracked.dueMs, nowMs);
    if (flipped) this.#onChange(tracked.target.key, tracked.health);
    else if (isNews) this.#onSettledDown();
  }

  /** The target has a verdict now, up or down: moves it to the queue of known targets. */
  #moveToKnown(tracked: Tracked): void {
    if (tracked.queue === this.#known) return;
    tracked.queue.members.delete(tracked);
    tracked.queue = this.#known;
    this.#known.members.add(tracked);
  }
}

/** The better ways went down: probes the target now. If it has no verdict yet, clients wait for it. */
function hasten(tracked: Tracked, nowMs: number): void {
  tracked.dueMs = tracked.cancel === null ? Math.min(tracked.dueMs, nowMs) : tracked.dueMs;
  tracked.slackMs = 0;
  tracked.urgency = 1;
}

function newcomer(target: ProbeTarget, queue: ProbeQueue<Tracked>, dueMs: number): Tracked {
  return {
    target,
    verdict: UNPROVEN,
    health: Object.freeze({ up: false, sinceMs: Date.now(), lastProbe: null }),
    dueMs,
    slackMs: 0,
    urgency: 1,
    queue,
    startedMs: Number.NEGATIVE_INFINITY,
    cancel: null,
    dialFailedMeanwhile: false,
  };
}
