// Decides for each expired instance whether this instance may delete its objects now. Also decides which Leases must be read
// live first, and how long to wait. Pure: `LivenessTracker` supplies the facts.
import { DEAD_INSTANCE, turnAtMs } from './turn-order.ts';

/** This instance's own renewals, by the clock of `LivenessTracker`. */
export interface OwnRenewals {
  /** Start of the current series of successful renewals; null while they fail. */
  readonly okSinceMs: number | null;
  readonly lastRenewOkMs: number | null;
}

export interface LeaseVerdict {
  /** Instances whose slices and Lease may be deleted now, with preconditions. */
  readonly collect: readonly string[];
  /** Leases to read live first. The caller passes each answer to `confirmed`, then asks for a new verdict. */
  readonly confirm: readonly string[];
  /** Why the objects of some instances stay for now, and the latest time to ask again. */
  readonly waiting: { readonly reason: string; readonly untilMs: number } | null;
}

export interface ExpiredLease {
  readonly name: string;
  readonly instance: string;
  readonly expiredAtMs: number;
  /** When a live read last showed the Lease unchanged. */
  readonly confirmedAtMs: number | null;
}

export interface VerdictFacts {
  readonly nowMs: number;
  readonly own: OwnRenewals;
  readonly expired: readonly ExpiredLease[];
  /** Number of all other instances. */
  readonly peers: number;
  /** Number of live instances before this one. They may delete first. */
  readonly rank: number;
  /** Since when more than half of the peers have been expired; null: fewer are. */
  readonly massSinceMs: number | null;
  /** The current series of successful live reads; null before the first. */
  readonly reads: { readonly sinceMs: number; readonly lastMs: number } | null;
}

/**
 * If most peers expire together, the fault is probably local. Before any deletion, our renewals and live reads must succeed for this long.
 */
const PROOF_MS = 60_000;
/** Renewals happen every 10 s, and one may be late. */
export const RENEWAL_GAP_MS = 25_000;
const CONFIRMATION_MS = 10_000;
const MAX_CONFIRM = 16;

export function leaseVerdict(facts: VerdictFacts): LeaseVerdict {
  const { nowMs, expired, massSinceMs } = facts;
  if (expired.length === 0) return { collect: [], confirm: [], waiting: null };
  if (!renewsItself(facts)) {
    const reason = `our own Lease is not renewed, so ${counted(expired.length)} that seem dead may be alive`;
    return { collect: [], confirm: [], waiting: { reason, untilMs: nowMs + CONFIRMATION_MS } };
  }
  const trustedAtMs = massSinceMs === null ? 0 : massTrustedAtMs(facts, massSinceMs);
  return nowMs < trustedAtMs ? massVerdict(facts, trustedAtMs) : rankedVerdict(facts, trustedAtMs);
}

function renewsItself({ nowMs, own: { okSinceMs, lastRenewOkMs } }: VerdictFacts): boolean {
  return okSinceMs !== null && lastRenewOkMs !== null && nowMs - lastRenewOkMs <= RENEWAL_GAP_MS;
}

/** When the expiry of most peers starts to count as real. */
function massTrustedAtMs({ nowMs, own, reads }: VerdictFacts, massSinceMs: number): number {
  const readingSinceMs = reads !== null && nowMs - reads.lastMs <= RENEWAL_GAP_MS ? reads.sinceMs : nowMs;
  return Math.max(massSinceMs, own.okSinceMs ?? nowMs, readingSinceMs) + PROOF_MS;
}

function massVerdict(facts: VerdictFacts, trustedAtMs: number): LeaseVerdict {
  const { nowMs, expired, peers } = facts;
  const reason =
    `${expired.length} of ${counted(peers)} stopped renewing together: the fault may be local, so their ` +
    'objects stay until our renewals and live reads have succeeded for a minute';
  const untilMs = Math.min(trustedAtMs, nowMs + CONFIRMATION_MS);
  return { collect: [], confirm: unconfirmed(expired, nowMs), waiting: { reason, untilMs } };
}

/** The live instances act in the order of their ranks. Each one first reads the expired Leases live. */
function rankedVerdict({ nowMs, expired, rank }: VerdictFacts, trustedAtMs: number): LeaseVerdict {
  const actsAtMs = ({ expiredAtMs }: ExpiredLease) =>
    turnAtMs(DEAD_INSTANCE, rank, Math.max(expiredAtMs, trustedAtMs));
  const due = expired.filter((lease) => nowMs >= actsAtMs(lease));
  const later = expired.filter((lease) => nowMs < actsAtMs(lease));
  const collect = due.filter((lease) => isConfirmed(lease, nowMs)).map(({ instance }) => instance);
  const confirm = unconfirmed(due, nowMs);
  if (confirm.length > 0) {
    const seem = confirm.length === 1 ? 'seems' : 'seem';
    const reason = `${counted(confirm.length)} ${seem} dead: reading the Lease again`;
    return { collect, confirm, waiting: { reason, untilMs: nowMs + CONFIRMATION_MS } };
  }
  if (later.length === 0) return { collect, confirm, waiting: null };
  const reason = `${counted(later.length)} dead; ${counted(rank)} before this one may delete its objects first`;
  return { collect, confirm, waiting: { reason, untilMs: Math.min(...later.map(actsAtMs)) } };
}

function isConfirmed({ confirmedAtMs }: ExpiredLease, nowMs: number): boolean {
  return confirmedAtMs !== null && nowMs - confirmedAtMs <= CONFIRMATION_MS;
}

function unconfirmed(expired: readonly ExpiredLease[], nowMs: number): string[] {
  return expired
    .filter((lease) => !isConfirmed(lease, nowMs))
    .map(({ name }) => name)
    .slice(0, MAX_CONFIRM);
}

const counted = (count: number): string => `${count} ${count === 1 ? 'instance' : 'instances'}`;
