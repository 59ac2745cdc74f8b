// Probes every target again and again and keeps what is known of each. One timer for all; it never starts more probes than the
// settings allow, however many targets are added or dials fail at once. Targets without a verdict are a lane of their own: after a
// start those are all, and at the pace of the others the last of 1000 would be served after 13 s.
import type { HealthSettings } from './health-settings.ts';
import { Lane } from './lane.ts';
import type { Probe, ProbeOutcome, ProbeTarget } from './probe.ts';
import {
  type Due,
  delayAfterProbeMs,
  firstDueMs,
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
  lane: Lane<Tracked>;
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

/** Of the places; the others stay for targets that clients are sent to, however many new ones wait for their timeout. */
const SHARE_OF_NEWCOMERS = 0.8;

export class HealthMonitor {
  readonly #probe: Probe;
  readonly #settings: HealthSettings;
  readonly #onChange: HealthMonitorDeps['onChange'];
  readonly #random: () => number;
  readonly #known: Lane<Tracked>;
  readonly #newcomers: Lane<Tracked>;
  readonly #tracked = new Map<string, Tracked>();
  #whenIdle: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #wakeMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor({ probe, settings, onChange, random = Math.random }: HealthMonitorDeps) {
    this.#probe = probe;
    this.#settings = settings;
    this.#onChange = onChange;
    this.#random = random;
    const { maxConcurrent, maxProbesPerSecond, maxFirstProbesPerSecond } = settings;
    this.#known = new Lane(maxProbesPerSecond, maxConcurrent);
    this.#newcomers = new Lane(maxFirstProbesPerSecond, Math.ceil(maxConcurrent * SHARE_OF_NEWCOMERS));
  }

  /** A target whose key stays keeps its state; a new one starts down and is probed soon. */
  setTargets(targets: readonly ProbeTarget[]): void {
    if (this.#stopped) return;
    const wanted = new Set(targets.map(({ key }) => key));
    for (const [key, tracked] of this.#tracked) {
      if (wanted.has(key)) continue;
      this.#tracked.delete(key);
      tracked.lane.members.delete(tracked);
      tracked.cancel?.();
    }
    const nowMs = performance.now();
    let added = 0;
    for (const target of targets) {
      const known = this.#tracked.get(target.key);
      if (known !== undefined) {
        known.target = target;
        continue;
      }
      const tracked = newcomer(target, this.#newcomers, firstDueMs(this.#settings, nowMs, added++));
      this.#tracked.set(target.key, tracked);
      this.#newcomers.members.add(tracked);
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

  get #running(): number {
    return this.#known.running + this.#newcomers.running;
  }

  /** Starts what is due and allowed now, and sets the timer to when there may be more. */
  #turn(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#wakeMs = Number.POSITIVE_INFINITY;
    if (this.#stopped) return;
    const nowMs = performance.now();
    const intervalMs = stretchedIntervalMs(this.#settings, this.#tracked.size);
    for (const lane of [this.#known, this.#newcomers]) {
      const most = this.#settings.maxConcurrent - this.#running;
      const { picks, wakeMs } = lane.take(nowMs, intervalMs, most);
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
    const { lane } = tracked;
    tracked.cancel = this.#probe.start(tracked.target, (outcome) => {
      const hadNoPlace = lane.isFull || this.#running >= this.#settings.maxConcurrent;
      lane.ended();
      // Not if it was removed meanwhile, perhaps even added again: what was found belongs to nobody.
      if (!this.#stopped && this.#tracked.get(tracked.target.key) === tracked) this.#judge(tracked, outcome);
      if (hadNoPlace) this.#turn();
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
    const nowMs = performance.now();
    tracked.dueMs = nowMs + waitMs;
    tracked.slackMs = slackOf(waitMs);
    tracked.urgency = hurried ? 2 : urgencyAfterProbe(verdict);
    if (verdict.up || !ok) this.#welcome(tracked);
    this.#wakeBy(tracked.dueMs, nowMs);
    if (flipped) this.#onChange(tracked.target.key, tracked.health);
  }

  /** It has a verdict now: up, or not for the time being. */
  #welcome(tracked: Tracked): void {
    if (tracked.lane === this.#known) return;
    tracked.lane.members.delete(tracked);
    tracked.lane = this.#known;
    this.#known.members.add(tracked);
  }
}

function newcomer(target: ProbeTarget, lane: Lane<Tracked>, dueMs: number): Tracked {
  return {
    target,
    verdict: UNPROVEN,
    health: Object.freeze({ up: false, sinceMs: Date.now(), lastProbe: null }),
    dueMs,
    slackMs: 0,
    urgency: 1,
    lane,
    startedMs: Number.NEGATIVE_INFINITY,
    cancel: null,
    dialFailedMeanwhile: false,
  };
}
