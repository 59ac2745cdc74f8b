// Declares every export of the native addon `linux-netns`, and loads it. Nothing else in the program may load it, and
// nothing here adds behaviour: what a function does, and on which thread, stands in native/README.md.
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

export interface NativeAddon {
  /** Throws an error with `code`, `errno`, `syscall` and `path`; `ENOTNETNS` when the path is something else than a netns. */
  openNetns(path: string): Netns;
  /** The identity of the calling thread's own network namespace. */
  ownIdentity(): string;
  /** TCP_USER_TIMEOUT: how long sent data may stay unacknowledged before the kernel gives the connection up. */
  setUserTimeout(fd: number, milliseconds: number): void;
  /** SO_LINGER: seconds, or null to switch it off; 0 makes close() send a reset. */
  setLinger(fd: number, seconds: number | null): void;
  /** TCP_QUICKACK. Switched off before connect(), the handshake's last ACK is held back (see src/health/tcp-check.ts). */
  setQuickAck(fd: number, on: boolean): void;
}

const require = createRequire(import.meta.url);

/** `ISTHMUS_ADDON` names another build of the addon: the sanitizer run uses it. */
export const native: NativeAddon = require(
  process.env.ISTHMUS_ADDON ?? '../../build/Release/linux_netns.node',
) as NativeAddon;
