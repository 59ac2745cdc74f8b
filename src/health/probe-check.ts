// What is asked of a backend once a connection to it is under way: the two kinds of check implement this.
import type { Socket } from 'node:net';
import type { ProbeTarget } from './probe-target.ts';

export interface Check {
  /** For socket options that must be set before connect(). Must not throw: the caller could not close the descriptor. */
  readonly beforeConnect?: (fd: number) => void;
  /**
   * Called when the TCP connection stands. Calls `passed` or `failed` (the first call counts) and in every case ends the socket,
   * in the way that leaves least in the backend's log. The caller watches the deadline and the socket's own errors.
   */
  connected(socket: Socket, target: ProbeTarget, passed: () => void, failed: (error: unknown) => void): void;
}
