// The interface between mechanism and policy. An engine handles sockets, network namespaces and bytes, but no TLS and no clusters.
// A policy handles TLS and clusters, but never a socket. Every engine passes test/conformance/engine.ts.
import { closeSync } from 'node:fs';
import type { NetnsRef } from '../netns/netns-ref.ts';
import type { Backend } from '../routing/route-table.ts';

export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** What the engine asks the policy: about a new connection (`immediate`) or about new bytes (`hello`). Valid during the call only. */
export interface Question {
  readonly listener: string;
  readonly client: Peer;
  /** All bytes received so far, from the first. Empty in `immediate` mode. The engine reuses the buffer, so the policy must not keep it. */
  readonly bytes: Uint8Array;
  /** The `note` of the last answer for this connection. undefined at the first question. */
  readonly note: unknown;
}

/** A limit for all connections with the same key. Beyond `limit`, the engine rejects a new connection with the farewell. */
export interface Share {
  readonly key: string;
  readonly limit: number;
  /** Each group of shares has reserved slots, which no other group can use (`Engine.shareSlots`). Default: a group of this share alone. */
  readonly group?: string;
}

/** How the groups of shares divide the slots for routed connections. */
export interface SlotShares {
  /** Slots reserved for each group. */
  readonly reserved: number;
  /**
   * Slots for any group that has used its reserved slots. After `reserved` shrank or a group was removed, connections may still hold more
   * reserved slots than allowed. The engine subtracts these from `common`.
   */
  readonly common: number;
  /** The current groups. */
  readonly groups: ReadonlySet<string>;
}

/**
 * `in-order` (default): the engine tries the backends in the order of the list.
 *
 * `least-connections`: the engine tries the backend with the fewest connections first. It counts its own connections of this balance
 * by backend key, from the start of the dial to the end. Among equals, the least recently chosen backend comes first. Backends that
 * failed recently come last. An engine may give up after 64 backends. Pass the same array object while its content is unchanged: the
 * list may have thousands of members.
 */
export type Balance = 'in-order' | 'least-connections';

/** `note` belongs to the policy. The engine returns it with the next question and in the report, and never reads it. */
export type Decision =
  /** Ask again once at least `minBytes` bytes (counted from the first) have arrived. */
  | { readonly kind: 'more'; readonly minBytes: number; readonly note: unknown }
  | {
      readonly kind: 'candidates';
      /** Tried in the order of `balance` until one connects. */
      readonly backends: readonly Backend[];
      readonly balance?: Balance;
      /** The leading bytes that are not for the backend (a PROXY header). The engine replays the rest exactly once. */
      readonly skipBytes: number;
      /** Sent to the client when no candidate is reachable or the share is full. null sends nothing before the close. */
      readonly farewell: Uint8Array | null;
      /** The share that counts this connection until it ends. null: none. */
      readonly share: Share | null;
      readonly note: unknown;
    }
  /** The engine sends these bytes and closes without a reset, so that the client receives them. */
  | { readonly kind: 'alert'; readonly bytes: Uint8Array; readonly note: unknown }
  | { readonly kind: 'close'; readonly note: unknown };

/** The policy's current answer to a plain ClientHello for one name: `candidates` with `skipBytes` 0. */
export interface PreparedAnswer {
  readonly backends: readonly Backend[];
  readonly balance?: Balance;
  readonly farewell: Uint8Array | null;
  readonly share: Share | null;
  /** Shared by all connections that get this answer: treat it as immutable. */
  readonly note: unknown;
}

/** native/outcomes.ts defines the meaning of each outcome. */
export type Outcome =
  | 'finished'
  | 'client-reset'
  | 'backend-reset'
  | 'client-timeout'
  | 'backend-timeout'
  | 'alert-sent'
  | 'closed'
  | 'client-left'
  | 'hello-timeout'
  | 'hello-too-large'
  | 'evicted-hello'
  | 'dial-failed'
  | 'refused-connections'
  | 'refused-descriptors'
  | 'refused-dials'
  | 'refused-hello-memory'
  | 'refused-share'
  | 'refused-slots'
  | 'policy-error'
  | 'drain-expired'
  | 'stopped';

export interface DialAttempt {
  readonly backend: Backend;
  readonly durationMs: number;
  /** null on success, else a code such as ECONNREFUSED, ETIMEDOUT, ENETNSCHANGED. */
  readonly error: string | null;
}

/** How one connection ended. The engine sends exactly one report for each accepted connection. */
export interface ConnectionReport {
  readonly listener: string;
  readonly client: Peer;
  /** undefined when the connection ended before the first question. */
  readonly note: unknown;
  readonly outcome: Outcome;
  readonly attempts: readonly DialAttempt[];
  /** The backend that accepted the dial; null: none did. */
  readonly backend: Backend | null;
  readonly bytesFromClient: number;
  readonly bytesFromBackend: number;
  readonly durationMs: number;
}

export interface Policy {
  decide(question: Question): Decision;
  /** A dial failed. The engine calls this at once, because a probe of the backend must not wait until the connection ends. */
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
   * A socket that already listens, used instead of `host` and `port`. Another process handed it over and may still hold it. The engine
   * owns it, even when opening fails, and never calls shutdown() on it.
   */
  readonly fd?: number;
  /**
   * With `hello` the engine reads bytes and then asks the policy about them. With `immediate` it asks before it reads,
   * because a protocol such as SSH has no hello.
   */
  readonly mode: 'hello' | 'immediate';
  readonly policy: Policy;
}

export interface Listener {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /**
   * Replaces the prepared answers, by server name. An engine may use such an answer instead of asking the policy, but only where the
   * policy would give the same answer. It may also ignore them. Pass the same object for an unchanged answer.
   */
  prepare(answers: ReadonlyMap<string, PreparedAnswer>): void;
  /** The socket's descriptor, for a handover. The engine still owns it. -1 after close. */
  readonly fd: number;
  /** Stops accepting; open connections continue. `leaveOpen`: another process also holds the socket, and accepts from now on. */
  close(options?: { readonly leaveOpen?: boolean }): Promise<void>;
}

export interface EngineLimits {
  /**
   * At this limit a new connection evicts one that is not routed yet, or that was rejected and still lingers. The engine picks the
   * source address (IPv6: the /64) with the most such connections and evicts its oldest. If all connections are routed, the engine
   * rejects the new one.
   */
  readonly maxConnections: number;
  /** The limits of pending dials, in total and per backend. One unresponsive backend must not use all of them. */
  readonly maxPendingDials: number;
  readonly maxPendingDialsPerBackend: number;
  /** Each backend may always have this many dials in progress, even when `maxPendingDials` is reached. */
  readonly reservedDialsPerBackend: number;
  /** The total time from accept to a complete hello. */
  readonly helloTimeoutMs: number;
  readonly maxHelloBytes: number;
  /** Hello memory of all connections together. Beyond it the engine evicts a long hello, chosen as in `maxConnections`. */
  readonly maxHelloMemoryBytes: number;
  readonly connectTimeoutMs: number;
  /**
   * A peer that acknowledges nothing for this long is dead: TCP_USER_TIMEOUT and keepalive, on both sides. A peer that
   * acknowledges but keeps its window closed is slow, and the engine keeps it. 0 uses the kernel's defaults.
   */
  readonly deadPeerTimeoutMs: number;
  /** Network namespace handles that stay open. Beyond this number, each dial opens its own handle. */
  readonly maxNetnsHandles: number;
  /** Pipes for an engine that uses splice(2). */
  readonly maxPipes: number;
  /** How long the engine waits for a client to read an alert and close. */
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
  /** The open listeners. */
  listeners(): readonly Listener[];
  /** `refs` are the netns of the current routes. The engine closes the handles of all others. Established connections continue. */
  retainNetns(refs: Iterable<NetnsRef>): void;
  stats(): EngineStats;
  /** Before the first call, all slots are common. Call it periodically: only a call makes the slots of removed groups available again. */
  shareSlots(slots: SlotShares): void;
  /** Dials in progress to the backends with these keys fail at once with EBACKENDDOWN. The engine tries the next candidate. */
  abortDials(keys: Iterable<string>): void;
  /** Open connections by share key. Connections without a share are not counted. */
  shares(): ReadonlyMap<string, number>;
  /** Closes all listeners, waits for the connections to finish, and resets the remaining ones after `timeoutMs`. */
  drain(timeoutMs: number): Promise<DrainResult>;
  /** Ends all listeners and connections at once. After that, opening a listener fails with ERR_ENGINE_STOPPED. */
  close(): Promise<void>;
}

/**
 * For a listener that is opened after the engine began to close. The engine has already stopped all listeners and connections, and would
 * never stop this one.
 */
export class EngineClosedError extends Error {
  override readonly name = 'EngineClosedError';
  readonly code = 'ERR_ENGINE_STOPPED';

  constructor() {
    super('the engine is closed');
  }
}

/** Returns the error to throw. Closes the descriptor of the spec, if any: the engine already owns it. */
export function engineClosed({ fd }: ListenerSpec): EngineClosedError {
  if (fd !== undefined) closeSync(fd);
  return new EngineClosedError();
}
