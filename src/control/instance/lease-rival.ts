// Detects two hosts with the same name: whether a live process on another host renews the Lease of our name. A successor process on
// the same host may take the Lease over, also after a reboot. A process on another host must not: the two would take it from each
// other forever. Only a *change* proves that the other process is alive. Starts no requests.

import { HOST_ANNOTATION } from '../objects/object-labels.ts';
import type { LeaseObject } from '../objects/published-objects.ts';

export type RivalVerdict =
  /** This process may take the Lease. */
  | { readonly kind: 'none' }
  /** The holder is another host, or this host before a reboot. Only the expiry of the Lease can show which. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'alive'; readonly holder: string; readonly host: string };

/** Another host uses the name: this instance publishes nothing until that changes. */
export class NameTakenError extends Error {
  readonly code = 'name-taken';

  constructor(instance: string, holder: string, host: string) {
    super(
      `another host also goes by the name ${instance}: ${holder}, with boot id ${host}, lives and holds the Lease; ` +
        'nothing is published from here until each has a host name, or a --node-name, of its own',
    );
  }
}

const DEFAULT_DURATION_S = 30;
/** Bounds the duration in a Lease, so no holder becomes immortal. */
const MAX_DURATION_S = 300;
/** By the wall clock, which may be wrong. So the limit is larger than the error of any clock in use. */
const CERTAINLY_OLD_MS = 120_000;

export class LeaseRival {
  readonly #host: string;
  #seen: { readonly renewal: string; readonly atMs: number; readonly lives: boolean } | null = null;

  /** `host`: the boot id of this host. If it is empty, no rival is ever found. */
  constructor(host: string) {
    this.#host = host;
  }

  /** `now` is monotonic. */
  judge(lease: LeaseObject, own: string, now: number, wallNow: number): RivalVerdict {
    const { holderIdentity: holder = '', renewTime = '', leaseDurationSeconds } = lease.spec ?? {};
    const host = lease.metadata?.annotations?.[HOST_ANNOTATION] ?? '';
    if (holder === '' || holder === own || host === '' || this.#host === '' || host === this.#host) {
      this.#seen = null;
      return { kind: 'none' };
    }
    const seconds = Math.max(leaseDurationSeconds ?? 0, DEFAULT_DURATION_S);
    const durationMs = Math.min(seconds, MAX_DURATION_S) * 1000;
    const renewal = `${holder} ${renewTime}`;
    const before = this.#seen;
    if (before === null && wallNow - Date.parse(renewTime) > CERTAINLY_OLD_MS) return { kind: 'none' };
    if (before === null || before.renewal !== renewal)
      this.#seen = { renewal, atMs: now, lives: before !== null };
    else if (now - before.atMs > durationMs) {
      this.#seen = null;
      return { kind: 'none' };
    }
    return this.#seen?.lives === true ? { kind: 'alive', holder, host } : { kind: 'unknown' };
  }
}
