// Probes every target again and again and keeps what is known of each. One timer for all; it never starts more probes than the
// settings allow, however many targets are added or dials fail at once.
import type { HealthSettings } from './health-settings.ts';
import { Pacer } from './pacer.ts';
import type { Probe, ProbeOutcome } from './probe.ts';
import type { ProbeTarget } from './probe-target.ts';
import {
  type Due,
  delayAfterProbeMs,
  firstDueMs,
  pickDue,
  slackOf,
  stretchedIntervalMs,
  type Urgency,
  urgencyAfterProbe,
} from './schedule.ts';
import type { TargetHealth } from './target-health.ts';
import { nextVerdict, UNPROVEN, type Verdict } from './verdict.ts';

interface Tracked extends Due {
  target: ProbeTarget;
  verdict: Verdict;
  health: TargetHealth;
  /** Infinity while a probe is under way. */
  dueMs: number;
  slackMs: number;
  urgency: Urgency;
  startedMs: number;
  /** Calls the probe off; null when none is under way. */
  cancel: (() => void) | null;
  dialFailedMeanwhile: boolean;
}

export interface HealthMonitorDeps {
  readonly probe: Probe;
  readonly settings: HealthSettings;
  /** Told when `up` changed, and only then: every probe changes `lastProbe`, which `snapshot` shows. */
  readonly onChange: (key: string, health: TargetHealth) => void;
  readonly random?: () => number;
}

export class HealthMonitor {
  readonly #probe: Probe;
  readonly #settings: HealthSettings;
  readonly #onChange: HealthMonitorDeps['onChange'];
  readonly #random: () => number;
  readonly #pacer: Pacer;
  readonly #tracked = new Map<string, Tracked>();
  /** Includes probes of targets that were removed while they ran. */
  #running = 0;
  #whenIdle: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor({ probe, settings, onChange, random = Math.random }: HealthMonitorDeps) {
    this.#probe = probe;
    this.#settings = settings;
    this.#onChange = onChange;
    this.#random = random;
    this.#pacer = new Pacer(settings.maxProbesPerSecond);
  }

  /** A target whose key stays keeps its state; a new one starts down and is probed soon. */
  setTargets(targets: readonly ProbeTarget[]): void {
    if (this.#stopped) return;
    const wanted = new Set(targets.map(({ key }) => key));
    for (const [key, tracked] of this.#tracked) {
      if (wanted.has(key)) continue;
      this.#tracked.delete(key);
      tracked.cancel?.();
    }
    const nowMs = performance.now();
    let added = 0;
    for (const target of targets) {
      const known = this.#tracked.get(target.key);
      if (known !== undefined) known.target = target;
      else this.#tracked.set(target.key, newcomer(target, firstDueMs(this.#settings, nowMs, added++)));
    }
    this.#turn();
  }

  /** Real traffic could not reach it: look at once, though never more often than at the fast interval. */
  dialFailed(key: string): void {
    const tracked = this.#tracked.get(key);
    if (tracked === undefined || !tracked.health.up) return; // what is down is not in use: a dial that was still under way
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

  /** Cancels the probes under way; when it resolves, no socket and no netns is held any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { cancel } of this.#tracked.values()) cancel?.();
    if (this.#running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Starts what is due and allowed now, and sets the timer to when there may be more. */
  #turn(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    let awake = false;
    while (!this.#stopped && this.#running < this.#settings.maxConcurrent) {
      const nowMs = performance.now();
      const waitMs = this.#pacer.waitMs(nowMs);
      if (waitMs > 0) {
        this.#wakeIn(waitMs);
        return;
      }
      const intervalMs = stretchedIntervalMs(this.#settings, this.#tracked.size);
      const { pick, wakeMs } = pickDue(this.#tracked.values(), nowMs, intervalMs, awake);
      if (pick === null) {
        this.#wakeIn(wakeMs - nowMs);
        return;
      }
      this.#pacer.started(nowMs);
      this.#start(pick, nowMs);
      awake = true;
    }
    // At the limit of concurrency the end of a probe is the next turn.
  }

  #wakeIn(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#turn(), Math.ceil(ms));
  }

  #start(tracked: Tracked, nowMs: number): void {
    tracked.startedMs = nowMs;
    tracked.dueMs = Number.POSITIVE_INFINITY;
    tracked.dialFailedMeanwhile = false;
    this.#running += 1;
    tracked.cancel = this.#probe.start(tracked.target, (outcome) => {
      this.#running -= 1;
      // Not if it was removed meanwhile, perhaps even added again: what was found belongs to nobody.
      if (!this.#stopped && this.#tracked.get(tracked.target.key) === tracked) this.#judge(tracked, outcome);
      this.#turn();
      if (this.#running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
  }

  #judge(tracked: Tracked, { ok, error, durationMs }: ProbeOutcome): void {
    tracked.cancel = null;
    const verdict = nextVerdict(tracked.verdict, ok, this.#settings);
    const flipped = verdict.up !== tracked.verdict.up;
    const atMs = Date.now();
    tracked.verdict = verdict;
    tracked.health = Object.freeze({
      up: verdict.up,
      sinceMs: flipped ? atMs : tracked.health.sinceMs,
      lastProbe: Object.freeze({ atMs, ok, durationMs, error }),
    });
    const delayMs = delayAfterProbeMs(verdict, this.#settings, this.#tracked.size, this.#random());
    const hurried = tracked.dialFailedMeanwhile && verdict.up;
    const waitMs = hurried ? Math.min(delayMs, this.#settings.fastIntervalMs) : delayMs;
    tracked.dueMs = performance.now() + waitMs;
    tracked.slackMs = slackOf(waitMs);
    tracked.urgency = hurried ? 2 : urgencyAfterProbe(verdict);
    if (flipped) this.#onChange(tracked.target.key, tracked.health);
  }
}

function newcomer(target: ProbeTarget, dueMs: number): Tracked {
  return {
    target,
    verdict: UNPROVEN,
    health: Object.freeze({ up: false, sinceMs: Date.now(), lastProbe: null }),
    dueMs,
    slackMs: 0,
    urgency: 1,
    startedMs: Number.NEGATIVE_INFINITY,
    cancel: null,
    dialFailedMeanwhile: false,
  };
}
