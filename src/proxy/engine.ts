// The border between mechanism and policy. An engine knows sockets, network namespaces and bytes; it never parses TLS and
// never knows a cluster. A policy knows those; it never touches a socket. Every engine passes test/conformance/engine.ts.
import type { NetnsRef } from '../netns/netns-ref.ts';
import type { Backend } from '../routing/route-table.ts';

export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** What the engine asks when a connection is new (`immediate`) or has new bytes (`hello`). Valid during the call only. */
export interface Question {
  readonly listener: string;
  readonly client: Peer;
  /** All bytes received so far, from the first; empty in `immediate` mode. Must not be kept: the buffer is reused. */
  readonly bytes: Uint8Array;
  /** What the last answer for this connection carried as `note`; undefined at the first question. */
  readonly note: unknown;
}

/** A bound that connections have in common: over `limit` of those with this key, a newcomer is sent away with the farewell. */
export interface Share {
  readonly key: string;
  readonly limit: number;
  /** Shares of one group have slots that no other group can take (`Engine.shareSlots`). Absent: the share is its own group. */
  readonly group?: string;
}

/** How the slots of routed connections are shared out among the groups of shares. */
export interface SlotShares {
  /** Kept for each group. */
  readonly reserved: number;
  /** For all groups, once their own are taken; less what groups hold that had more before, or are not counted any more. */
  readonly common: number;
  /** Those that there are now. */
  readonly groups: ReadonlySet<string>;
}

/**
 * `in-order`, which is the default: as they are named.
 * `least-connections`: they are equals. First the one to which this engine has the fewest connections that were balanced so (from the
 * beginning of the dial to the end, by key); of several the one that has waited longest; those that have just failed come last. An
 * engine need not try more than 64. The list should be the same object while it says the same: it may have thousands of members.
 */
export type Balance = 'in-order' | 'least-connections';

/** `note` is the policy's own: the engine hands it back with the next question and in the report, and never looks inside. */
export type Decision =
  /** Ask again once at least `minBytes` bytes (counted from the first) have arrived. */
  | { readonly kind: 'more'; readonly minBytes: number; readonly note: unknown }
  | {
      readonly kind: 'candidates';
      /** Tried until one connects, as `balance` says. */
      readonly backends: readonly Backend[];
      readonly balance?: Balance;
      /** How many of the bytes received are not for the backend (a PROXY header); the rest is replayed exactly once. */
      readonly skipBytes: number;
      /** Sent to the client when no candidate could be reached, or the share is used up; null closes without a word. */
      readonly farewell: Uint8Array | null;
      /** What the connection counts among, from now to its end; null: nothing. */
      readonly share: Share | null;
      readonly note: unknown;
    }
  /** Send these bytes, then close so that they arrive. */
  | { readonly kind: 'alert'; readonly bytes: Uint8Array; readonly note: unknown }
  | { readonly kind: 'close'; readonly note: unknown };

/** What the policy would say, right now, to a plain ClientHello for a name: `candidates` that skip nothing. */
export interface PreparedAnswer {
  readonly backends: readonly Backend[];
  readonly balance?: Balance;
  readonly farewell: Uint8Array | null;
  readonly share: Share | null;
  /** Shared by all connections that get this answer: nobody may change what it holds. */
  readonly note: unknown;
}

export type Outcome =
  | 'finished' // both sides closed in order
  | 'client-reset' // a reset of one side was passed on to the other
  | 'backend-reset'
  | 'client-timeout' // a dead peer: nothing acknowledged for the dead-peer timeout
  | 'backend-timeout'
  | 'alert-sent' // the policy's answer was `alert`
  | 'closed' // the policy's answer was `close`
  | 'client-left' // before there was anything to decide or to connect
  | 'hello-timeout'
  | 'hello-too-large'
  | 'evicted-hello' // made way for newcomers while all slots, or all memory for hellos, were taken
  | 'dial-failed' // no candidate could be reached
  | 'refused-connections' // over a bound: refused at once
  | 'refused-descriptors'
  | 'refused-dials'
  | 'refused-hello-memory'
  | 'refused-share' // over the limit of the share that the policy named
  | 'refused-slots' // the slots of its group and all common ones are taken
  | 'policy-error' // the policy threw: a bug, contained in this connection
  | 'drain-expired' // reset at the end of the drain
  | 'stopped'; // reset because the engine was closed

export interface DialAttempt {
  readonly backend: Backend;
  readonly durationMs: number;
  /** null when it connected; else a code such as ECONNREFUSED, ETIMEDOUT, ENETNSCHANGED. */
  readonly error: string | null;
}

/** How one connection ended. There is exactly one for each accepted connection. */
export interface ConnectionReport {
  readonly listener: string;
  readonly client: Peer;
  /** undefined when the connection ended before the policy was asked. */
  readonly note: unknown;
  readonly outcome: Outcome;
  readonly attempts: readonly DialAttempt[];
  /** The backend that was connected. */
  readonly backend: Backend | null;
  readonly bytesFromClient: number;
  readonly bytesFromBackend: number;
  readonly durationMs: number;
}

export interface Policy {
  decide(question: Question): Decision;
  /** A candidate could not be reached: told at once, since health wants to know before the connection has ended. */
  dialFailed(backend: Backend, error: string): void;
  ended(report: ConnectionReport): void;
}

export interface ListenerSpec {
  readonly name: string;
  /** undefined listens on all addresses, IPv4 and IPv6. */
  readonly host: string | undefined;
  /** 0 takes any free port. */
  readonly port: number;
  /**
   * A socket that listens already, in place of `host` and `port`: another process handed it over, and may hold it too. It is the
   * engine's from now on, also when opening fails, and is never shut down.
   */
  readonly fd?: number;
  /** `hello` reads first and asks about the bytes; `immediate` asks before reading (SSH, for one, has no hello). */
  readonly mode: 'hello' | 'immediate';
  readonly policy: Policy;
}

export interface Listener {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /**
   * By server name, in place of what was prepared before. An engine may give such an answer instead of asking, where it is certain
   * that asking would give the same; it may as well always ask. An answer that has not changed should be the same object.
   */
  prepare(answers: ReadonlyMap<string, PreparedAnswer>): void;
  /** The socket's descriptor, to hand it over; it stays the engine's. -1 once it is closed. */
  readonly fd: number;
  /** Stops accepting; connections go on. `leaveOpen`: somebody it was handed to accepts in our place. */
  close(options?: { readonly leaveOpen?: boolean }): Promise<void>;
}

export interface EngineLimits {
  /**
   * Once all are taken, a newcomer evicts a connection that is not routed yet, or was refused and lingers: the oldest of the address
   * (IPv6: of the /64) that holds most of them. Only while all are routed is a newcomer refused.
   */
  readonly maxConnections: number;
  /** Connections being opened to backends, in total and to one backend, so that one black hole cannot take all. */
  readonly maxPendingDials: number;
  readonly maxPendingDialsPerBackend: number;
  /** Dials that a backend may always have under way, however many wait for other backends. */
  readonly reservedDialsPerBackend: number;
  /** From accept to a complete hello, in total. */
  readonly helloTimeoutMs: number;
  readonly maxHelloBytes: number;
  /** Hello bytes held for all connections together; beyond it the oldest long hello is evicted, as above. */
  readonly maxHelloMemoryBytes: number;
  readonly connectTimeoutMs: number;
  /**
   * A peer that has acknowledged nothing for so long is dead: TCP_USER_TIMEOUT and keepalive, on both sides. One that
   * acknowledges but takes no bytes is slow, and is not cut. 0 leaves it to the kernel.
   */
  readonly deadPeerTimeoutMs: number;
  /** Handles on network namespaces that are kept open; beyond it one is opened for each dial. */
  readonly maxNetnsHandles: number;
  /** Pipes for an engine that splices. */
  readonly maxPipes: number;
  /** How long we wait for a client to read an alert and close. */
  readonly lingerMs: number;
}

export interface EngineStats {
  readonly connections: number;
  readonly pendingDials: number;
  readonly helloMemoryBytes: number;
  readonly netnsHandles: number;
}

export interface DrainResult {
  readonly finished: number;
  readonly reset: number;
}

export interface Engine {
  openListener(spec: ListenerSpec): Promise<Listener>;
  /** Those that are open. */
  listeners(): readonly Listener[];
  /** The netns that routes name now: handles on all others are closed. Established connections are not touched. */
  retainNetns(refs: Iterable<NetnsRef>): void;
  stats(): EngineStats;
  /** Until it is called, all slots are common. Again now and then: slots that a former group held come free. */
  shareSlots(slots: SlotShares): void;
  /** Dials under way to the backends with these keys fail at once with EBACKENDDOWN; the next candidate is tried. */
  abortDials(keys: Iterable<string>): void;
  /** Open connections by the key of their share; those without any are left out. */
  shares(): ReadonlyMap<string, number>;
  /** Stops accepting everywhere, lets connections finish, resets after `timeoutMs` what is left. */
  drain(timeoutMs: number): Promise<DrainResult>;
  /** Ends everything at once; from now on no listener opens (ERR_ENGINE_STOPPED). */
  close(): Promise<void>;
}
