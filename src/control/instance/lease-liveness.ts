// Judges which instances live, by their Leases, and whose leavings this instance may collect now. Only *change* counts, on
// our own monotonic clock: what time it is elsewhere, or was written into a Lease, decides nothing. Pure but for its memory;
// it reads nothing itself and says which Leases it wants read.
import type { V1Lease } from '@kubernetes/client-node';
import { leaseName } from '../objects/instance-name.ts';
import { INSTANCE_LABEL } from '../objects/object-labels.ts';
import { byText } from '../objects/text-order.ts';
import type { Wire } from '../objects/wire-object.ts';

export interface SeenLease {
  readonly name: string;
  readonly instance: string;
  readonly holder: string | null;
  readonly renewTime: string | null;
  readonly durationSeconds: number | null;
  readonly resourceVersion: string;
}

/** Our own renewals, on the judge's clock. */
export interface OwnRenewals {
  /** When the present unbroken row of successful renewals began; null while they fail. */
  readonly okSinceMs: number | null;
  readonly lastRenewOkMs: number | null;
}

export interface Verdict {
  /** Instances whose slices and Lease may be deleted now, with preconditions. */
  readonly collect: readonly string[];
  /** Leases to read live before that; each answer goes to `confirmed`, and then the verdict is asked for again. */
  readonly confirm: readonly string[];
  /** Why not more is collected, and when to ask again at the latest. */
  readonly waiting: { readonly reason: string; readonly untilMs: number } | null;
}

export interface LivenessSettings {
  readonly now: () => number;
  /** Our own instance: it lives as long as it asks. */
  readonly instance: string;
}

const DEFAULT_DURATION_MS = 30_000;
/** A Lease cannot make its instance immortal, nor dead between two renewals. */
const MIN_DURATION_MS = 5000;
const MAX_DURATION_MS = 300_000;
/** Each rank waits so long for those before it, who then have deleted everything. */
const RANK_MS = 3000;
/** Half of all others gone at once is more often our own trouble than theirs: so long we must have done well ourselves. */
const PROOF_MS = 60_000;
/** Renewals come every 10 s; one may be late. */
const RENEWAL_GAP_MS = 25_000;
const CONFIRMATION_MS = 10_000;
const MAX_CONFIRM = 16;

interface Entry {
  readonly instance: string;
  /** What the list last showed, and what a live read last showed: either may lag behind the other. */
  observed: string;
  live: string | null;
  durationMs: number;
  changedAtMs: number;
  confirmedAtMs: number | null;
}

export class LivenessJudge {
  readonly #now: () => number;
  readonly #ownName: string;
  /** By name of the Lease. No more than the last list and the slices named. */
  #entries = new Map<string, Entry>();
  #massSinceMs: number | null = null;
  #reads: { sinceMs: number; lastMs: number } | null = null;

  constructor({ now, instance }: LivenessSettings) {
    this.#now = now;
    this.#ownName = leaseName(instance);
  }

  /**
   * All Leases there are, and all instances that slices name: one without a Lease (somebody deleted it) gets the time of one
   * to show it again.
   */
  observe(leases: readonly SeenLease[], sliceInstances: Iterable<string> = []): void {
    const now = this.#now();
    const entries = new Map<string, Entry>();
    const see = (name: string, instance: string, stamp: string, durationMs: number) => {
      if (name === this.#ownName) return;
      const entry = this.#entries.get(name) ?? newEntry(instance, stamp, now);
      if (stamp !== entry.observed && stamp !== entry.live) touched(entry, now);
      entry.observed = stamp;
      entry.durationMs = durationMs;
      entries.set(name, entry);
    };
    for (const lease of leases) see(lease.name, lease.instance, stampOf(lease), durationOf(lease));
    for (const instance of sliceInstances) {
      const name = leaseName(instance);
      if (!entries.has(name)) see(name, instance, ABSENT, DEFAULT_DURATION_MS);
    }
    this.#entries = entries;
  }

  /** The answer to one `confirm`: the Lease as it is now, or null where there is none. */
  confirmed(name: string, lease: SeenLease | null): void {
    const now = this.#now();
    const lasts = this.#reads !== null && now - this.#reads.lastMs <= RENEWAL_GAP_MS;
    this.#reads = { sinceMs: lasts ? (this.#reads?.sinceMs ?? now) : now, lastMs: now };
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const stamp = lease === null ? ABSENT : stampOf(lease);
    if (stamp !== entry.observed && stamp !== entry.live && lease !== null) touched(entry, now);
    else entry.confirmedAtMs = now;
    entry.live = stamp;
  }

  /** Instances that did not renew for as long as they said they would, sorted. None is to be collected on this word alone. */
  dead(own: OwnRenewals): readonly string[] {
    return this.#expired(this.#now(), own).map(([, { instance }]) => instance);
  }

  /** Whether any renewed within its time: such a one takes an instance that does not for dead. */
  anyRenews(): boolean {
    const now = this.#now();
    return [...this.#entries.values()].some(
      ({ observed, changedAtMs, durationMs }) => observed !== ABSENT && now - changedAtMs < durationMs,
    );
  }

  /** When the next one is dead if nothing is heard of it; null when none can be. */
  nextExpiryMs(own: OwnRenewals): number | null {
    const now = this.#now();
    let next: number | null = null;
    for (const entry of this.#entries.values()) {
      const atMs = expiresAtMs(entry, own);
      if (atMs > now && Number.isFinite(atMs)) next = Math.min(next ?? atMs, atMs);
    }
    return next;
  }

  verdict(own: OwnRenewals): Verdict {
    const now = this.#now();
    const expired = this.#expired(now, own);
    const isMass = expired.length >= 3 && expired.length * 2 > this.#entries.size;
    this.#massSinceMs = isMass ? (this.#massSinceMs ?? now) : null;
    if (expired.length === 0) return { collect: [], confirm: [], waiting: null };

    const isStale = (entry: Entry) =>
      entry.confirmedAtMs === null || now - entry.confirmedAtMs > CONFIRMATION_MS;
    const toConfirm = (entries: readonly [string, Entry][]) =>
      entries
        .filter(([, entry]) => isStale(entry))
        .map(([name]) => name)
        .slice(0, MAX_CONFIRM);

    if (own.okSinceMs === null || own.lastRenewOkMs === null || now - own.lastRenewOkMs > RENEWAL_GAP_MS) {
      const reason = `our own Lease is not renewed, so ${counted(expired.length)} that seem dead may not be`;
      return { collect: [], confirm: [], waiting: { reason, untilMs: now + CONFIRMATION_MS } };
    }
    let trustedAtMs = 0;
    if (this.#massSinceMs !== null) {
      const readingSinceMs =
        this.#reads !== null && now - this.#reads.lastMs <= RENEWAL_GAP_MS ? this.#reads.sinceMs : now;
      trustedAtMs = Math.max(this.#massSinceMs, own.okSinceMs, readingSinceMs) + PROOF_MS;
      if (now < trustedAtMs) {
        const reason =
          `${expired.length} of ${counted(this.#entries.size)} beside us stopped renewing together: that may be our own ` +
          'trouble, so nothing of theirs is collected before a minute of renewals and live reads';
        const untilMs = Math.min(trustedAtMs, now + CONFIRMATION_MS);
        return { collect: [], confirm: toConfirm(expired), waiting: { reason, untilMs } };
      }
    }

    const rank = this.#rank(new Set(expired.map(([name]) => name)));
    const actsAtMs = (entry: Entry) => Math.max(expiresAtMs(entry, own), trustedAtMs) + rank * RANK_MS;
    const due = expired.filter(([, entry]) => now >= actsAtMs(entry));
    const later = expired.filter(([, entry]) => now < actsAtMs(entry));
    const confirm = toConfirm(due);
    return {
      collect: due.filter(([, entry]) => !isStale(entry)).map(([, { instance }]) => instance),
      confirm,
      waiting: waitingFor(
        later.map(([, entry]) => actsAtMs(entry)),
        rank,
        confirm.length,
        now,
      ),
    };
  }

  #expired(now: number, own: OwnRenewals): [name: string, entry: Entry][] {
    return [...this.#entries]
      .filter(([, entry]) => now >= expiresAtMs(entry, own))
      .sort(([a], [b]) => byText(a, b));
  }

  /** How many of the living come before us. */
  #rank(expired: ReadonlySet<string>): number {
    return [...this.#entries.keys()].filter((name) => !expired.has(name) && name < this.#ownName).length;
  }
}

/** A Lease of an instance of ours, or null for one that is somebody else's. */
export function seenLease({ metadata, spec }: Wire<V1Lease>): SeenLease | null {
  const instance = metadata?.labels?.[INSTANCE_LABEL];
  if (instance === undefined || metadata?.name !== leaseName(instance)) return null;
  return {
    name: metadata.name,
    instance,
    holder: spec?.holderIdentity ?? null,
    renewTime: spec?.renewTime ?? null,
    durationSeconds: spec?.leaseDurationSeconds ?? null,
    resourceVersion: metadata.resourceVersion ?? '',
  };
}

function waitingFor(
  laterMs: readonly number[],
  rank: number,
  unconfirmed: number,
  now: number,
): Verdict['waiting'] {
  if (unconfirmed > 0) {
    const reason = `${counted(unconfirmed)} ${unconfirmed === 1 ? 'seems' : 'seem'} dead: reading the Lease once more`;
    return { reason, untilMs: now + CONFIRMATION_MS };
  }
  if (laterMs.length === 0) return null;
  const reason = `${counted(laterMs.length)} dead; ${counted(rank)} before us may collect first`;
  return { reason, untilMs: Math.min(...laterMs) };
}

/**
 * An API that nobody could write to lets every Lease grow old: after it, each has its whole time again from our own first
 * renewal. While we cannot renew ourselves nobody else is dead.
 */
function expiresAtMs({ changedAtMs, durationMs }: Entry, { okSinceMs }: OwnRenewals): number {
  return okSinceMs === null ? Number.POSITIVE_INFINITY : Math.max(changedAtMs, okSinceMs) + durationMs;
}

const ABSENT = 'absent';

/** Not the resourceVersion: anybody's edit changes that, and proves no life. */
const stampOf = ({ renewTime, holder }: SeenLease): string => JSON.stringify([renewTime, holder]);

function durationOf({ durationSeconds }: SeenLease): number {
  if (durationSeconds === null || !(durationSeconds > 0)) return DEFAULT_DURATION_MS;
  return Math.min(Math.max(durationSeconds * 1000, MIN_DURATION_MS), MAX_DURATION_MS);
}

const newEntry = (instance: string, stamp: string, now: number): Entry => ({
  instance,
  observed: stamp,
  live: null,
  durationMs: DEFAULT_DURATION_MS,
  changedAtMs: now,
  confirmedAtMs: null,
});

function touched(entry: Entry, now: number): void {
  entry.changedAtMs = now;
  entry.confirmedAtMs = null;
}

const counted = (count: number): string => `${count} ${count === 1 ? 'instance' : 'instances'}`;
