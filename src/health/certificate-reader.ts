// Reads the certificate of each backend that passes its health checks: once after it came up, and again within a day. Never per probe. A
// backend that never answers delays no other: the rate times the timeout is less than the number of places.

import type { Handshake, HandshakeResult } from './certificate-handshake.ts';
import type { ProbeTarget } from './probe.ts';
import { ProbeQueue } from './probe-queue.ts';
import type { Due, Urgency } from './schedule.ts';
import type { CertificateReading } from './server-certificate.ts';
import { expiryOf, rereadAfterMs } from './server-certificate.ts';

/** A handshake needs about 2 ms on the thread of the control loop. */
const HANDSHAKES_PER_SECOND = 40;
const PLACES = 128;
/** A backend that goes up and down all the time is not read more often. */
const LEAST_GAP_MS = 60_000;
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 60 * 60 * 1000;
/** Before the first success: the kubeconfig waits for the names. */
const LAST_FIRST_RETRY_MS = 5 * 60 * 1000;
const JITTER = 0.1;

interface Tracked extends Due {
  target: ProbeTarget;
  reading: CertificateReading | null;
  isUp: boolean;
  /** Infinity while nothing is due. */
  dueMs: number;
  slackMs: number;
  urgency: Urgency;
  startedMs: number;
  failures: number;
  /** The backend went down during the handshake, so the result may be of an earlier server. */
  isOld: boolean;
  cancel: (() => void) | null;
}

export interface CertificateReaderOptions {
  readonly handshake: Handshake;
  /** Called after each reading that differs from the last one. */
  readonly onChange: () => void;
  readonly random?: () => number;
  readonly wallNow?: () => number;
}

export class CertificateReader {
  readonly #handshake: Handshake;
  readonly #onChange: () => void;
  readonly #random: () => number;
  readonly #wallNow: () => number;
  readonly #queue = new ProbeQueue<Tracked>(HANDSHAKES_PER_SECOND, PLACES);
  readonly #tracked = new Map<string, Tracked>();
  #readings: ReadonlyMap<string, CertificateReading> = new Map();
  #whenIdle: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor({ handshake, onChange, random = Math.random, wallNow = Date.now }: CertificateReaderOptions) {
    this.#handshake = handshake;
    this.#onChange = onChange;
    this.#random = random;
    this.#wallNow = wallNow;
  }

  /** Only API servers: machines of additional listeners may speak any protocol. */
  setTargets(targets: readonly ProbeTarget[]): void {
    if (this.#stopped) return;
    const servers = targets.filter(({ check }) => check === undefined);
    const wanted = new Set(servers.map(({ key }) => key));
    let isLess = false;
    for (const [key, tracked] of this.#tracked) {
      if (wanted.has(key)) continue;
      this.#tracked.delete(key);
      this.#queue.members.delete(tracked);
      tracked.cancel?.();
      isLess ||= tracked.reading !== null;
    }
    for (const target of servers) {
      const known = this.#tracked.get(target.key);
      if (known !== undefined) known.target = target;
      else this.#add(target);
    }
    if (isLess) this.#publish();
  }

  /** The backend answered a health check while it did not count as up. */
  answered(key: string): void {
    const tracked = this.#tracked.get(key);
    if (tracked === undefined || tracked.isUp) return;
    tracked.isUp = true;
    if (tracked.cancel !== null) return;
    tracked.dueMs = Math.max(performance.now(), tracked.startedMs + LEAST_GAP_MS);
    tracked.slackMs = 0;
    tracked.urgency = 1;
    this.#turn();
  }

  /** The backend is down: the next answer may come from another server. */
  lost(key: string): void {
    const tracked = this.#tracked.get(key);
    if (tracked === undefined) return;
    tracked.isUp = false;
    tracked.isOld = tracked.cancel !== null;
    tracked.dueMs = Number.POSITIVE_INFINITY;
  }

  /** By backend key. The same reference while nothing changes. A backend without an entry was not read yet. */
  snapshot(): ReadonlyMap<string, CertificateReading> {
    return this.#readings;
  }

  /** When it resolves, all sockets are closed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { cancel } of this.#tracked.values()) cancel?.();
    if (this.#queue.running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  #add(target: ProbeTarget): void {
    const tracked: Tracked = {
      target,
      reading: null,
      isUp: false,
      dueMs: Number.POSITIVE_INFINITY,
      slackMs: 0,
      urgency: 1,
      startedMs: Number.NEGATIVE_INFINITY,
      failures: 0,
      isOld: false,
      cancel: null,
    };
    this.#tracked.set(target.key, tracked);
    this.#queue.members.add(tracked);
  }

  #turn(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#stopped) return;
    const nowMs = performance.now();
    const { picks, wakeMs } = this.#queue.take(nowMs, LEAST_GAP_MS, PLACES);
    for (const tracked of picks) this.#start(tracked, nowMs);
    // A timer cannot wait longer than 24 days. A read is due within a day.
    if (Number.isFinite(wakeMs)) this.#timer = setTimeout(() => this.#turn(), Math.ceil(wakeMs - nowMs));
  }

  #start(tracked: Tracked, nowMs: number): void {
    tracked.startedMs = nowMs;
    tracked.isOld = false;
    tracked.dueMs = Number.POSITIVE_INFINITY;
    tracked.cancel = this.#handshake.start(tracked.target, (result) => {
      this.#queue.ended();
      tracked.cancel = null;
      if (!this.#stopped && this.#tracked.get(tracked.target.key) === tracked) this.#ended(tracked, result);
      else this.#turn();
      if (this.#queue.running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
  }

  #ended(tracked: Tracked, result: HandshakeResult): void {
    const before = tracked.reading;
    const after = this.#readingOf(before, result);
    tracked.failures = 'error' in result ? tracked.failures + 1 : 0;
    const isEqual = before !== null && JSON.stringify(before) === JSON.stringify(after);
    if (!isEqual) tracked.reading = after;
    if (tracked.isUp) tracked.dueMs = performance.now() + this.#delayMs(tracked);
    tracked.urgency = 0;
    this.#turn();
    if (!isEqual) {
      this.#publish();
      this.#onChange();
    }
  }

  #readingOf(before: CertificateReading | null, result: HandshakeResult): CertificateReading {
    const certificate = 'error' in result ? (before?.certificate ?? null) : result.certificate;
    return Object.freeze({
      certificate,
      expiry: certificate === null ? 'valid' : expiryOf(certificate, this.#wallNow()),
      error: 'error' in result ? result.error : null,
    });
  }

  #delayMs({ failures, reading, isOld }: Tracked): number {
    if (isOld) return LEAST_GAP_MS;
    const jitter = 1 - JITTER + 2 * JITTER * this.#random();
    const certificate = reading?.certificate ?? null;
    const lastMs = certificate === null ? LAST_FIRST_RETRY_MS : LAST_RETRY_MS;
    if (failures > 0) return jitter * Math.min(lastMs, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20));
    return jitter * (certificate === null ? LAST_RETRY_MS : rereadAfterMs(certificate, this.#wallNow()));
  }

  #publish(): void {
    const readings = new Map<string, CertificateReading>();
    for (const [key, { reading }] of this.#tracked) if (reading !== null) readings.set(key, reading);
    this.#readings = readings;
  }
}
