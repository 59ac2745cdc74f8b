// Declares every export of the native addon `linux-netns`, and loads it. Nothing else in the program may load it, and
// nothing here adds behaviour: what a function does, and on which thread, stands in native/README.md.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';

/** An open handle on a network namespace. Keeping one keeps the namespace alive in the kernel: close it when it is not needed. */
export interface Netns {
  /**
   * What tells this namespace from every other since boot: `cookie:<n>` (SO_NETNS_COOKIE), or `inode:<dev>:<ino>` on a kernel
   * older than 5.14, where it only holds while a handle is open.
   */
  readonly identity: string;
  readonly path: string;
  readonly closed: boolean;
  /** A new TCP socket that lives in this namespace: unconnected, non-blocking, close-on-exec. The caller owns the descriptor. */
  createTcpSocket(family: 4 | 6): number;
  /** Idempotent. The finaliser does the same for a handle that was forgotten. */
  close(): void;
}

/** What the kernel knows about a TCP connection that no read or write tells. */
export interface TcpState {
  /** Reset, or given up by the kernel. */
  readonly closed: boolean;
  /** Bytes wait because the peer takes none: it is slow, which is not dead. */
  readonly windowClosed: boolean;
  /** Since the peer last acknowledged anything. */
  readonly lastAckMs: number;
  /** Sent since then without an answer. */
  readonly probes: number;
  /** Sent and not acknowledged, or not sent yet. */
  readonly queuedBytes: number;
}

export interface NativeAddon {
  /** Throws an error with `code`, `errno`, `syscall` and `path`; `ENOTNETNS` when the path is something else than a netns. */
  openNetns(path: string): Netns;
  /** The identity of the calling thread's own network namespace. */
  ownIdentity(): string;
  /** TCP_USER_TIMEOUT: how long sent data may stay unacknowledged before the kernel gives the connection up. */
  setUserTimeout(fd: number, milliseconds: number): void;
  /** SO_LINGER: seconds, or null to switch it off; 0 makes close() send a reset. */
  setLinger(fd: number, seconds: number | null): void;
  /** Bounds what the kernel holds between two sockets when the second stops reading what comes from the first. */
  boundQueues(from: number, to: number): void;
  /** null when the descriptor is no TCP socket. */
  tcpState(fd: number): TcpState | null;
  /** What malloc keeps for later goes back to the kernel: of all threads, in a few milliseconds. Only glibc can. */
  releaseFreeMemory(): void;
  /** One datagram, as sd_notify(3) sends it: to a path, or to `@` and an abstract name. Never waits. */
  notify(address: string, text: string): void;
  /**
   * Where a socket listens that was handed to us, after it was made non-blocking and close-on-exec. Throws `ENOTLISTENING` when it
   * is anything else than a TCP socket that listens. The descriptor stays the caller's.
   */
  adoptListening(fd: number): { readonly address: string; readonly port: number };
  /** How many bytes of `text` a connected unix socket took; the descriptors go with the first, and stay ours too. 253 at most. */
  sendDescriptors(socket: number, text: string, ...descriptors: number[]): number;
  /** One read of at most 64 KiB: null when nothing is there yet, no bytes when the other end is closed. The descriptors are the caller's. */
  receiveDescriptors(
    socket: number,
  ): { readonly bytes: Buffer; readonly descriptors: readonly number[] } | null;
  /** Who connected a unix socket: as it was then. */
  peerOf(socket: number): { readonly pid: number; readonly uid: number };
  /** Starts the native engine (native/engine/) with so many threads; the limits are EngineLimits of src/proxy/engine.ts. */
  createEngine(
    limits: Readonly<Record<string, number>>,
    threads: number,
    handlers: NativeEngineHandlers,
  ): NativeEngineHandle;
  /**
   * Starts a thread that tries TCP connections (native/prober/), at most so many at a time. Each probe ends with one call of
   * `ended`, never within `start`: with null, or with a code such as ECONNREFUSED, ETIMEDOUT or ENETNSCHANGED.
   */
  createProber(
    settings: { readonly most: number; readonly timeoutMs: number },
    ended: (place: number, error: string | null, durationMs: number) => void,
  ): NativeProber;
}

/** Keeps the event loop alive only while a probe is under way. */
export interface NativeProber {
  /** `place` is a number below `most` that no other probe has: throws if it is taken. null for our own netns. */
  start(
    place: number,
    netnsPath: string | null,
    identity: string | null,
    address: string,
    port: number,
  ): void;
  /** It ends with ECANCELED, or as it has ended already. */
  cancel(place: number): void;
  /** Ends the thread; of what is under way nothing more is told. Idempotent. */
  stop(): void;
}

/** What the native engine tells; IPv4 addresses come as numbers. Called in batches, on the thread that made the engine. */
export interface NativeEngineHandlers {
  /** The bytes are in the slab at `offset`, or, when they did not fit there (offset < 0), in `copy`. */
  question(
    connection: number,
    listener: number,
    address: number | string,
    port: number,
    offset: number,
    length: number,
    copy?: Uint8Array,
  ): void;
  /** `tag` is that of the prepared answer by which it was decided, 0 if it was asked about. */
  dialFailed(
    connection: number,
    listener: number,
    tag: number,
    candidate: number,
    error: string,
    durationMs: number,
  ): void;
  /** `candidate` is the one that was connected, or -1; `tag` as above. */
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
  /** It was closed, and of it and its connections nothing more will be told. */
  listenerGone(listener: number): void;
}

/** The engine's own threads, as one object. Every question must be answered exactly once, by one of the first five. */
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
  /** As above, with a pool in place of targets: the one with the fewest connections is tried first. */
  equals(
    connection: number,
    skipBytes: number,
    farewell: Uint8Array | null,
    shareKey: string | null,
    shareLimit: number,
    shareGroup: string | null,
    pool: number,
  ): void;
  part(connection: number, lastWords: Uint8Array | null): void;
  policyError(connection: number): void;
  listen(
    id: number,
    host: string | undefined,
    port: number,
    immediate: boolean,
    backlog: number,
    /** One that listens already: the engine's from now on, also when this throws. */
    fd?: number,
  ): { readonly address: string; readonly port: number };
  /** The descriptor, which stays the engine's; -1 when there is no such listener. */
  listenerFd(id: number): number;
  /** `leaveOpen`: others hold the socket too, and go on accepting. */
  closeListener(id: number, leaveOpen: boolean): void;
  addTarget(netnsPath: string | null, identity: string | null, address: string, port: number): number;
  dropTarget(id: number): void;
  /** Made once for many connections: its targets go as numbers, and there may be thousands. */
  addPool(targets: Uint32Array): number;
  dropPool(id: number): void;
  /** `outcome` is a number of src/proxy/native/outcomes.ts. */
  abortAll(outcome: number): void;
  /** Dials under way to these targets fail at once with EBACKENDDOWN. */
  abortDials(targets: Uint32Array): void;
  /** So many slots are kept for each of these groups of shares; all groups compete for the common ones. */
  shareSlots(reserved: number, common: number, groups: readonly string[]): void;
  /** What a plain hello may be answered with unasked: a tag that names it, for `prepare` and in what is told. */
  prepareAnswer(
    farewell: Uint8Array | null,
    shareKey: string | null,
    shareLimit: number,
    shareGroup: string | null,
    ...targets: number[]
  ): number;
  prepareEquals(
    farewell: Uint8Array | null,
    shareKey: string | null,
    shareLimit: number,
    shareGroup: string | null,
    pool: number,
  ): number;
  /** Plain hellos (native/engine/plain_hello.h) for these names get these answers; in place of the table before. */
  prepare(listener: number, names: readonly string[], tags: readonly number[]): void;
  dropAnswer(tag: number): void;
  /** Dropped ones of which nothing more will be told. */
  forgottenAnswers(): number[];
  /** Open connections by the key of their share. */
  shares(): [key: string, connections: number][];
  stats(): {
    readonly connections: number;
    /** Accepted, and their end not told yet. */
    readonly unreported: number;
    /** By how many threads a listener that was closed may still be accepted from. */
    readonly listenersClosing: number;
    /** Open, or closed and not gone yet. */
    readonly listenersKnown: number;
    readonly pendingDials: number;
    readonly helloMemoryBytes: number;
    readonly netnsHandles: number;
  };
  /** Ends the threads and every connection with them. Idempotent. */
  stop(): void;
}

const require = createRequire(import.meta.url);

const COMPILED = '../../build/Release/linux_netns.node';

/** The one that was compiled on this machine, else the package's own for it (scripts/addon-flavours.mjs). */
function addonFile(): string {
  if (existsSync(new URL(COMPILED, import.meta.url))) return COMPILED;
  return `../../prebuilds/linux-${process.arch}-${usesMusl() ? 'musl' : 'glibc'}/linux_netns.node`;
}

/** A program names its dynamic linker near its beginning: /lib/ld-musl-x86_64.so.1, say. */
function usesMusl(): boolean {
  const start = Buffer.alloc(4096);
  const file = openSync(process.execPath, 'r');
  try {
    return start.subarray(0, readSync(file, start)).includes('/ld-musl-');
  } finally {
    closeSync(file);
  }
}

/** `ISTHMUS_ADDON` names another build of the addon: the sanitizer run uses it. */
export const native: NativeAddon = require(process.env.ISTHMUS_ADDON ?? addonFile()) as NativeAddon;
