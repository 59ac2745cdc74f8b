// Decides from the Leases which instances are alive. An instance is alive if its Lease *changed* recently, by the local monotonic
// clock. Other clocks, and the times in a Lease, do not count. The tracker keeps earlier Leases, but sends no request: it returns
// the names of the Leases that its caller must read.
import type { V1Lease } from '@kubernetes/client-node';
import { leaseName } from '../objects/instance-name.ts';
import { INSTANCE_LABEL } from '../objects/object-labels.ts';
import { byText } from '../objects/text-order.ts';
import type { Wire } from '../objects/wire-object.ts';
import {
  type ExpiredLease,
  type LeaseVerdict,
  leaseVerdict,
  type OwnRenewals,
  RENEWAL_GAP_MS,
} from './lease-verdict.ts';
import { rankAmong } from './turn-order.ts';

export interface SeenLease {
  readonly name: string;
  readonly instance: string;
  readonly holder: string | null;
  readonly renewTime: string | null;
  readonly durationSeconds: number | null;
  readonly resourceVersion: string;
}

export interface LivenessSettings {
  readonly now: () => number;
  /** This instance, which is never reported as dead. */
  readonly instance: string;
}

const DEFAULT_DURATION_MS = 30_000;
/**
 * Bounds for the duration in a Lease. With a longer duration a dead instance would stay for too long; with a shorter
 * one a live instance would expire between two renewals.
 */
const MIN_DURATION_MS = 5000;
const MAX_DURATION_MS = 300_000;
/** If at least this many peers, and more than half of all, expire together, the fault is probably local. */
const MIN_MASS = 3;

interface Entry {
  readonly instance: string;
  /** The last renewal in the list, and the last one in a live read. Either may be older than the other. */
  observed: string;
  live: string | null;
  durationMs: number;
  changedAtMs: number;
  confirmedAtMs: number | null;
}

export class LivenessTracker {
  readonly #now: () => number;
  readonly #instance: string;
  /** By name of the Lease. Bounded by the last list and the instances that slices name. */
  #entries = new Map<string, Entry>();
  #massSinceMs: number | null = null;
  #reads: { sinceMs: number; lastMs: number } | null = null;

  constructor({ now, instance }: LivenessSettings) {
    this.#now = now;
    this.#instance = instance;
  }

  /**
   * Records all existing Leases, and all instances that slices name. If the Lease of an instance was deleted, the instance has
   * one Lease duration to create it again.
   */
  observe(leases: readonly SeenLease[], sliceInstances: Iterable<string> = []): void {
    const now = this.#now();
    const entries = new Map<string, Entry>();
    const see = (name: string, instance: string, stamp: string, durationMs: number) => {
      if (instance === this.#instance) return;
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

  /** Records the result of a live read that `verdict` asked for: the current Lease, or null if it does not exist. */
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

  /** Instances whose Lease duration passed without a renewal, sorted. Only `verdict` allows the deletion of their objects. */
  dead(own: OwnRenewals): readonly string[] {
    return this.#expired(this.#now(), own).map(({ instance }) => instance);
  }

  /** Whether any peer renewed in time. For such a peer, an instance that does not renew is dead. */
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

  verdict(own: OwnRenewals): LeaseVerdict {
    const nowMs = this.#now();
    const expired = this.#expired(nowMs, own);
    const peers = this.#entries.size;
    const isMass = expired.length >= MIN_MASS && expired.length * 2 > peers;
    this.#massSinceMs = isMass ? (this.#massSinceMs ?? nowMs) : null;
    const dead = new Set(expired.map(({ instance }) => instance));
    const live = [...this.#entries.values()].filter(({ instance }) => !dead.has(instance));
    return leaseVerdict({
      nowMs,
      own,
      expired,
      peers,
      rank: rankAmong(
        this.#instance,
        live.map(({ instance }) => instance),
      ),
      massSinceMs: this.#massSinceMs,
      reads: this.#reads,
    });
  }

  /** Sorted by name. */
  #expired(nowMs: number, own: OwnRenewals): ExpiredLease[] {
    return [...this.#entries]
      .map(([name, entry]) => ({
        name,
        instance: entry.instance,
        expiredAtMs: expiresAtMs(entry, own),
        confirmedAtMs: entry.confirmedAtMs,
      }))
      .filter(({ expiredAtMs }) => nowMs >= expiredAtMs)
      .sort((a, b) => byText(a.name, b.name));
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

/**
 * While the API accepts no writes, no instance can renew. So each Lease gets its full duration again, counted from our own
 * first renewal after the outage. While this instance cannot renew its own Lease, no peer counts as dead.
 */
function expiresAtMs({ changedAtMs, durationMs }: Entry, { okSinceMs }: OwnRenewals): number {
  return okSinceMs === null ? Number.POSITIVE_INFINITY : Math.max(changedAtMs, okSinceMs) + durationMs;
}

const ABSENT = 'absent';

/**
 * The parts of a Lease that a renewal changes. Not the resourceVersion: any edit changes it, and an edit does not
 * prove that the instance is alive.
 */
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
