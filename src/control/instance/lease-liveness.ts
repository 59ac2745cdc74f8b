// Decides from the Leases which instances are alive, and whose objects this instance may collect now. Only a *change* of a
// Lease counts, on the local monotonic clock. Other clocks, and the times in a Lease, decide nothing. Pure except for its
// memory: it reads nothing itself, and returns the names of the Leases to read.
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

/** This instance's own renewals, on the judge's clock. */
export interface OwnRenewals {
  /** Start of the current series of successful renewals; null while they fail. */
  readonly okSinceMs: number | null;
  readonly lastRenewOkMs: number | null;
}

export interface Verdict {
  /** Instances whose slices and Lease may be deleted now, with preconditions. */
  readonly collect: readonly string[];
  /** Leases to read live first. The caller passes each answer to `confirmed`, then asks for a new verdict. */
  readonly confirm: readonly string[];
  /** Why some instances are not collected yet, and the latest time to ask again. */
  readonly waiting: { readonly reason: string; readonly untilMs: number } | null;
}

export interface LivenessSettings {
  readonly now: () => number;
  /** This instance. It is never judged. */
  readonly instance: string;
}

const DEFAULT_DURATION_MS = 30_000;
/** Bounds for the duration in a Lease: no instance becomes immortal, and none expires between two renewals. */
const MIN_DURATION_MS = 5000;
const MAX_DURATION_MS = 300_000;
/** Delay per rank: enough time for the instances before it to delete everything. */
const RANK_MS = 3000;
/** If more than half of the peers expire together, the fault is probably local. Own renewals and live reads must succeed for this long. */
const PROOF_MS = 60_000;
/** Renewals happen every 10 s, and one may be late. */
const RENEWAL_GAP_MS = 25_000;
const CONFIRMATION_MS = 10_000;
const MAX_CONFIRM = 16;

interface Entry {
  readonly instance: string;
  /** The stamps of the last list and of the last live read. Either may lag behind the other. */
  observed: string;
  live: string | null;
  durationMs: number;
  changedAtMs: number;
  confirmedAtMs: number | null;
}

export class LivenessJudge {
  readonly #now: () => number;
  readonly #ownName: string;
  /** By name of the Lease. Bounded by the last list and the instances that slices name. */
  #entries = new Map<string, Entry>();
  #massSinceMs: number | null = null;
  #reads: { sinceMs: number; lastMs: number } | null = null;

  constructor({ now, instance }: LivenessSettings) {
    this.#now = now;
    this.#ownName = leaseName(instance);
  }

  /**
   * Takes all existing Leases, and all instances that slices name. If the Lease of an instance was deleted, the instance has one
   * Lease duration to create it again.
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

  /** Takes the answer to one `confirm`: the current Lease, or null if it does not exist. */
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

  /** Instances whose Lease duration passed without a renewal, sorted. This alone does not allow their collection: see `verdict`. */
  dead(own: OwnRenewals): readonly string[] {
    return this.#expired(this.#now(), own).map(([, { instance }]) => instance);
  }

  /** Whether any peer renewed in time. Such a peer considers an instance that does not renew dead. */
  anyRenews(): boolean {
    const now = this.#now();
    return [...this.#entries.values()].some(
      ({ observed, changedAtMs, durationMs }) => observed !== ABSENT && now - changedAtMs < durationMs,
    );
  }

  /** When the next instance expires if its Lease does not change; null if none can expire. */
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

  /** Number of live instances before this one, by Lease name. */
  #rank(expired: ReadonlySet<string>): number {
    return [...this.#entries.keys()].filter((name) => !expired.has(name) && name < this.#ownName).length;
  }
}

/** null if the Lease does not belong to an Isthmus instance. */
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
 * While the API accepts no writes, all Leases get old. After that, each Lease gets its full duration again, from our first
 * renewal on. While this instance cannot renew its own Lease, no peer counts as dead.
 */
function expiresAtMs({ changedAtMs, durationMs }: Entry, { okSinceMs }: OwnRenewals): number {
  return okSinceMs === null ? Number.POSITIVE_INFINITY : Math.max(changedAtMs, okSinceMs) + durationMs;
}

const ABSENT = 'absent';

/** Excludes the resourceVersion: any edit changes it, and an edit does not prove that the instance is alive. */
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
