// Whether the process that holds the Lease of our name is alive: only a *change* of the Lease proves it. A process that may not take the
// Lease from a live holder waits until the Lease expires, or until the holder is certain to stay. Starts no requests.

import { HOST_ANNOTATION, PROCESS_ANNOTATION } from '../objects/object-labels.ts';
import { LEASE_SECONDS, type LeaseObject } from '../objects/published-objects.ts';

export interface LeaseHolder {
  readonly holder: string;
  /** The boot id of its host; empty: unknown. */
  readonly host: string;
  /** For an operator: pid and host name. Empty: not recorded. */
  readonly process: string;
}

export type RivalVerdict =
  /** No process renews the Lease. */
  | { readonly kind: 'none' }
  /** Only the expiry of the Lease can show whether its holder is alive. */
  | { readonly kind: 'unknown' }
  /** `certain`: the holder renewed the Lease after this process had waited for one Lease duration. */
  | ({ readonly kind: 'alive'; readonly certain: boolean } & LeaseHolder);

/** Another process uses the name: this instance publishes nothing until that changes. */
export class NameTakenError extends Error {
  readonly code = 'name-taken';

  constructor(instance: string, { holder, host, process }: LeaseHolder, isOurHost: boolean) {
    const who = isOurHost ? 'another process on this host' : 'another host';
    const boot = isOurHost || host === '' ? '' : `, with boot id ${host}`;
    const shown = process === '' ? holder : `${holder} (${process})`;
    const fix = isOurHost
      ? 'stop it, or start this one with --take-over, or give each its own --node-name'
      : 'give each host its own host name or --node-name';
    super(
      `${who} also uses the name ${instance}: ${shown}${boot}, is alive and holds the Lease; ` +
        `this instance publishes nothing: ${fix}`,
    );
  }
}

/** Bounds the duration in a Lease, so that every dead holder expires. */
const MAX_DURATION_S = 300;
/** While the API answers, a live holder writes at least this often: a renewal and the limit of its request take 18 s. */
const RENEWS_WITHIN_MS = 20_000;

export class LeaseRival {
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #seen: { readonly renewal: string; readonly atMs: number } | null = null;
  #since: { readonly atMs: number; renewedAfterMs: number | null } | null = null;
  #missingSinceMs: number | null = null;

  /** `now` is monotonic. The age of the Lease proves nothing: an API outage stops the renewals of a live holder too. */
  verdict(lease: LeaseObject, own: string, now: number): RivalVerdict {
    const { holderIdentity: holder = '', renewTime = '', leaseDurationSeconds } = lease.spec ?? {};
    if (holder === '' || holder === own) return this.#none();
    const seconds = Math.max(leaseDurationSeconds ?? 0, LEASE_SECONDS);
    const durationMs = Math.min(seconds, MAX_DURATION_S) * 1000;
    const renewal = `${holder} ${renewTime}`;
    this.#missingSinceMs = null;
    if (this.#isAfterGap(now) && this.#seen !== null) this.#seen = { ...this.#seen, atMs: now };
    this.#since ??= { atMs: now, renewedAfterMs: null };
    if (this.#seen === null) this.#seen = { renewal, atMs: now };
    else if (this.#seen.renewal !== renewal) {
      this.#seen = { renewal, atMs: now };
      this.#since.renewedAfterMs = now - this.#since.atMs;
    } else if (now - this.#seen.atMs > durationMs) return this.#none();
    const { renewedAfterMs } = this.#since;
    if (renewedAfterMs === null) return { kind: 'unknown' };
    return { kind: 'alive', certain: renewedAfterMs >= durationMs, ...leaseHolder(lease) };
  }

  /**
   * For a Lease that does not exist. False while a live holder may still create it again with its next renewal. Another client may have
   * deleted it, and the holder must keep it. The price: this also waits after a holder that ended and deleted the Lease itself.
   */
  mayCreate(now: number): boolean {
    if (this.#since === null || this.#since.renewedAfterMs === null) return true;
    if (this.#isAfterGap(now)) this.#missingSinceMs = null;
    this.#missingSinceMs ??= now;
    return now - this.#missingSinceMs > RENEWS_WITHIN_MS;
  }

  /** This process holds the Lease. */
  forget(): void {
    this.#seen = null;
    this.#since = null;
    this.#missingSinceMs = null;
  }

  /** Two reads far apart do not show that the holder was silent in between: while the API is unreachable, no process can renew. */
  #isAfterGap(now: number): boolean {
    const isGap = now - this.#lookedAtMs > RENEWS_WITHIN_MS;
    this.#lookedAtMs = now;
    return isGap;
  }

  #none(): RivalVerdict {
    this.forget();
    return { kind: 'none' };
  }
}

export function leaseHolder({ metadata, spec }: LeaseObject): LeaseHolder {
  const { [HOST_ANNOTATION]: host = '', [PROCESS_ANNOTATION]: process = '' } = metadata?.annotations ?? {};
  return { holder: spec?.holderIdentity ?? '', host, process };
}
