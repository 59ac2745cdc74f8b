// Declares every export of the native addon `linux-netns` and loads it. No other file may load the addon, and this file adds no
// behaviour. native/README.md describes each function and its thread.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';

/** An open handle of a network namespace. It keeps the namespace alive in the kernel, so close it when it is not needed. */
export interface Netns {
  /**
   * Identifies this namespace among all namespaces since boot: `cookie:<n>` (SO_NETNS_COOKIE). On a kernel older than 5.14 it is
   * `inode:<dev>:<ino>`, which is unique only while a handle is open.
   */
  readonly identity: string;
  readonly path: string;
  readonly closed: boolean;
  /** Creates a TCP socket in this namespace: unconnected, non-blocking, close-on-exec. The caller owns the descriptor. */
  createTcpSocket(family: 4 | 6): number;
  /** Idempotent. The finaliser closes a handle that was not closed. */
  close(): void;
}

/** The state of a TCP connection in the kernel, which read and write do not show. */
export interface TcpState {
  /** Reset, or timed out by the kernel. */
  readonly closed: boolean;
  /** Bytes wait because the peer's window is closed: the peer is slow, not dead. */
  readonly windowClosed: boolean;
  /** Time since the peer's last acknowledgement. */
  readonly lastAckMs: number;
  /** Keepalive or window probes that are unanswered since then. */
  readonly probes: number;
  /** Unacknowledged and unsent bytes. */
  readonly queuedBytes: number;
}

export interface NativeAddon {
  /** Throws an error with `code`, `errno`, `syscall` and `path`. The code is `ENOTNETNS` if the path is not a netns. */
  openNetns(path: string): Netns;
  /** The identity of the calling thread's own network namespace. */
  ownIdentity(): string;
  /** TCP_USER_TIMEOUT: how long sent data may stay unacknowledged before the kernel closes the connection. */
  setUserTimeout(fd: number, milliseconds: number): void;
  /** SO_LINGER: seconds, or null to switch it off; 0 makes close() send a reset. */
  setLinger(fd: number, seconds: number | null): void;
  /** Bounds the bytes that the kernel buffers from `from` to `to` when the peer of `to` stops reading. */
  boundQueues(from: number, to: number): void;
  /** Returns null if the descriptor is not a TCP socket. */
  tcpState(fd: number): TcpState | null;
  /** Returns unused malloc memory of all threads to the kernel. Takes a few milliseconds. No effect without glibc. */
  releaseFreeMemory(): void;
  /** Sends one datagram like sd_notify(3), to a path or to `@` and an abstract name. Never blocks. */
  notify(address: string, text: string): void;
  /**
   * Makes a socket from another process non-blocking and close-on-exec and returns its address. Throws `ENOTLISTENING` if the
   * descriptor is not a listening TCP socket. The caller keeps the descriptor.
   */
  adoptListening(fd: number): { readonly address: string; readonly port: number };
  /** Sends at most 253 descriptors with the first byte of `text` and keeps its own copies. Returns how many bytes were sent. */
  sendDescriptors(socket: number, text: string, ...descriptors: number[]): number;
  /** One read of at most 64 KiB. null: no data yet; empty bytes: the peer closed. The caller owns the descriptors. */
  receiveDescriptors(
    socket: number,
  ): { readonly bytes: Buffer; readonly descriptors: readonly number[] } | null;
  /** The credentials of the peer of a Unix socket at connect time. */
  peerOf(socket: number): { readonly pid: number; readonly uid: number };
  /** Starts the native engine (native/engine/) with `threads` threads. The limits are EngineLimits of src/proxy/engine.ts. */
  createEngine(
    limits: Readonly<Record<string, number>>,
    threads: number,
    handlers: NativeEngineHandlers,
  ): NativeEngineHandle;
  /**
   * Starts a thread that opens TCP connections (native/prober/), at most `most` at a time. Each probe ends with one call of
   * `ended`, never during `start`. `error` is null or a code such as ECONNREFUSED, ETIMEDOUT or ENETNSCHANGED.
   */
  createProber(
    settings: { readonly most: number; readonly timeoutMs: number },
    ended: (place: number, error: string | null, durationMs: number) => void,
  ): NativeProber;
}

/** It keeps the event loop alive only while a probe is pending. */
export interface NativeProber {
  /** `place` is a number below `most` that no pending probe uses; otherwise it throws. A null path means the process's own netns. */
  start(
    place: number,
    netnsPath: string | null,
    identity: string | null,
    address: string,
    port: number,
  ): void;
  /** The probe ends with ECANCELED, unless it has already ended. */
  cancel(place: number): void;
  /** Ends the thread. Pending probes get no call of `ended`. Idempotent. */
  stop(): void;
}

/** Callbacks of the native engine, called in batches on the thread that created it. IPv4 addresses are numbers. */
export interface NativeEngineHandlers {
  /** The bytes are in the slab at `offset`. If they did not fit there (offset < 0), they are in `copy`. */
  question(
    connection: number,
    listener: number,
    address: number | string,
    port: number,
    offset: number,
    length: number,
    copy?: Uint8Array,
  ): void;
  /** `tag` is the tag of the prepared answer, or 0 if the engine asked a question. */
  dialFailed(
    connection: number,
    listener: number,
    tag: number,
    candidate: number,
    error: string,
    durationMs: number,
  ): void;
  /** `candidate` is the index of the connected candidate, or -1. `tag` as above. */
  ended(
    connection: number,
    listener: number,
    address: number | string,
    port: number,
    outcome: number,
    candidate: number,
    dialMs: number,
    bytesFromClient: number,
    bytesFromBackend: number,
    durationMs: number,
    tag: number,
  ): void;
  /** The listener is closed. No event of the listener or its connections follows. */
  listenerGone(listener: number): void;
}

/** Controls the engine's threads. Answer every question exactly once, with one of the first five methods. */
export interface NativeEngineHandle {
  readonly slab: ArrayBuffer;
  more(connection: number, minBytes: number): void;
  candidates(
    connection: number,
    skipBytes: number,
    farewell: Uint8Array | null,
    shareKey: string | null,
    shareLimit: number,
    shareGroup: string | null,
    ...targets: number[]
  ): void;
  /** As above, with a pool instead of targets: the member with the fewest connections is tried first. */
  answerPool(
    connection: number,
    skipBytes: number,
    farewell: Uint8Array | null,
    shareKey: string | null,
    shareLimit: number,
    shareGroup: string | null,
    pool: number,
  ): void;
  closeConnection(connection: number, farewell: Uint8Array | null): void;
  policyError(connection: number): void;
  listen(
    id: number,
    host: string | undefined,
    port: number,
    immediate: boolean,
    backlog: number,
    /** A socket that already listens. The engine owns it, even if this call throws. */
    fd?: number,
  ): { readonly address: string; readonly port: number };
  /** The engine still owns the descriptor. Returns -1 if the listener does not exist. */
  listenerFd(id: number): number;
  /** `leaveOpen`: another process also holds the socket and continues to accept. */
  closeListener(id: number, leaveOpen: boolean): void;
  addTarget(netnsPath: string | null, identity: string | null, address: string, port: number): number;
  dropTarget(id: number): void;
  /** Creates a pool once for many connections. It can have thousands of targets, so they are passed as numbers. */
  addPool(targets: Uint32Array): number;
  dropPool(id: number): void;
  /** `outcome` is a number of src/proxy/native/outcomes.ts. */
  abortAll(outcome: number): void;
  /** Pending dials to these targets fail at once with EBACKENDDOWN. */
  abortDials(targets: Uint32Array): void;
  /** Reserves `reserved` slots for each of these share groups. All groups compete for the `common` slots. */
  shareSlots(reserved: number, common: number, groups: readonly string[]): void;
  /** Creates an answer that the engine can give to a plain hello without a question. Returns its tag, for `prepare` and events. */
  prepareAnswer(
    farewell: Uint8Array | null,
    shareKey: string | null,
    shareLimit: number,
    shareGroup: string | null,
    ...targets: number[]
  ): number;
  preparePool(
    farewell: Uint8Array | null,
    shareKey: string | null,
    shareLimit: number,
    shareGroup: string | null,
    pool: number,
  ): number;
  /** Replaces the table of prepared answers: plain hellos (native/engine/plain_hello.h) for these names get these answers. */
  prepare(listener: number, names: readonly string[], tags: readonly number[]): void;
  dropAnswer(tag: number): void;
  /** Tags of dropped answers that no later event names. Each tag is returned once. */
  forgottenAnswers(): number[];
  /** The number of open connections by share key. */
  shares(): [key: string, connections: number][];
  stats(): {
    readonly connections: number;
    /** Accepted connections whose end is not reported yet. */
    readonly unreported: number;
    /** Sum over closed listeners: threads that may still accept from the listener. */
    readonly listenersClosing: number;
    /** Listeners that are open, or closed but not reported as gone yet. */
    readonly listenersKnown: number;
    readonly pendingDials: number;
    readonly helloMemoryBytes: number;
    readonly netnsHandles: number;
  };
  /** Ends the threads and all connections. Idempotent. */
  stop(): void;
}

const require = createRequire(import.meta.url);

const COMPILED = '../../build/Release/linux_netns.node';

/**
 * The addon that was compiled on this machine, if it exists. Otherwise the package's prebuilt addon for it
 * (scripts/addon/addon-flavours.mjs).
 */
function addonFile(): string {
  if (existsSync(new URL(COMPILED, import.meta.url))) return COMPILED;
  return `../../prebuilds/linux-${process.arch}-${usesMusl() ? 'musl' : 'glibc'}/linux_netns.node`;
}

/** An executable names its dynamic linker near its start, for example /lib/ld-musl-x86_64.so.1. */
function usesMusl(): boolean {
  const start = Buffer.alloc(4096);
  const file = openSync(process.execPath, 'r');
  try {
    return start.subarray(0, readSync(file, start)).includes('/ld-musl-');
  } finally {
    closeSync(file);
  }
}

/** `ISTHMUS_ADDON` selects another build of the addon. The sanitizer run uses it. */
export const native: NativeAddon = require(process.env.ISTHMUS_ADDON ?? addonFile()) as NativeAddon;
