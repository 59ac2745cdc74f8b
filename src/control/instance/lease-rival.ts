// Two hosts that go by one name: whether the Lease of our name is renewed by a live process on another host. A successor on the
// same host, and one after its restart, may take it over; a stranger's may not be taken, or the two would take it from each other
// for ever. Only *change* says that somebody lives. Asks nothing itself.
import type { LeaseObject } from '../objects/cluster-shape.ts';
import { HOST_ANNOTATION } from '../objects/object-labels.ts';

export type RivalVerdict =
  /** It is ours to take. */
  | { readonly kind: 'none' }
  /** Of another host, or of this one before it was started again: nobody can tell before the Lease has run out. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'alive'; readonly holder: string; readonly host: string };

/** The name is somebody else's: nothing is published from here until that changes. */
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
/** A Lease cannot make its holder immortal. */
const MAX_DURATION_S = 300;
/** By the clock on the wall, which may be wrong: only what is so old that no clock in use could explain it. */
const CERTAINLY_OLD_MS = 120_000;

export class LeaseRival {
  readonly #host: string;
  #seen: { readonly renewal: string; readonly atMs: number; readonly lives: boolean } | null = null;

  /** The host's boot id; empty where it cannot be known, and then nobody is a rival. */
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
