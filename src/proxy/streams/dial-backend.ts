// One attempt to connect to one backend, with its deadline, and the limits of pending dials.
import type { Socket } from 'node:net';
import { descriptorOf } from '../../netns/descriptor.ts';
import { dial } from '../../netns/dial.ts';
import type { NativeAddon } from '../../netns/native.ts';
import type { NetnsHandles } from '../../netns/netns-handles.ts';
import type { Backend } from '../../routing/route-table.ts';
import type { EngineLimits } from '../engine.ts';

export type Dialled = { readonly durationMs: number } & (
  | { readonly socket: Socket; readonly error: null }
  | { readonly socket: null; readonly error: string }
);

export interface DialContext {
  readonly limits: EngineLimits;
  readonly addon: NativeAddon;
  readonly handles: NetnsHandles;
}

/** Never rejects: an unreachable backend is an expected outcome. */
export function dialBackend(
  backend: Backend,
  context: DialContext,
  /** Receives the connecting socket. Destroying it cancels the attempt. */
  connecting: (socket: Socket) => void,
): Promise<Dialled> {
  const { limits, addon, handles } = context;
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const failed = (error: string) =>
      resolve({ socket: null, error, durationMs: performance.now() - startedMs });
    let socket: Socket;
    try {
      socket = dial(handles, backend, { allowHalfOpen: true });
    } catch (error) {
      failed(codeOf(error));
      return;
    }
    connecting(socket);
    const deadline = setTimeout(() => socket.destroy(TIMED_OUT), limits.connectTimeoutMs);
    const onError = (error: Error) => failed(codeOf(error));
    const onClose = () => {
      clearTimeout(deadline);
      failed('ECANCELED'); // no effect after an error: the promise is settled
    };
    socket.once('error', onError).once('close', onClose);
    socket.once('connect', () => {
      clearTimeout(deadline);
      socket.off('error', onError).off('close', onClose);
      socket.on('error', () => {}); // until the relay adds its own handler
      socket.setNoDelay(true);
      armDeadPeerTimeout(addon, socket, limits.deadPeerTimeoutMs);
      resolve({ socket, error: null, durationMs: performance.now() - startedMs });
    });
  });
}

/** The error for a connecting socket that is destroyed because the health checks found the backend down. */
export const BACKEND_DOWN: NodeJS.ErrnoException = Object.assign(new Error('the backend is down'), {
  code: 'EBACKENDDOWN',
});

const TIMED_OUT: NodeJS.ErrnoException = Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' });

function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === 'string' ? code : String(error);
}

type DialLimits = Pick<
  EngineLimits,
  'maxPendingDials' | 'maxPendingDialsPerBackend' | 'reservedDialsPerBackend'
>;

/** Limits the pending dials, in total and per backend: one unresponsive backend must not block the others. */
export class PendingDials {
  readonly #limits: DialLimits;
  readonly #perBackend = new Map<string, number>();
  #total = 0;

  constructor(limits: DialLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts a dial and returns true. Returns false, without counting, when a limit is reached. */
  enter(key: string): boolean {
    const here = this.#perBackend.get(key) ?? 0;
    const { maxPendingDials, maxPendingDialsPerBackend, reservedDialsPerBackend } = this.#limits;
    if (here >= maxPendingDialsPerBackend) return false;
    if (this.#total >= maxPendingDials && here >= reservedDialsPerBackend) return false;
    this.#total += 1;
    this.#perBackend.set(key, here + 1);
    return true;
  }

  leave(key: string): void {
    this.#total -= 1;
    const left = (this.#perBackend.get(key) ?? 1) - 1;
    if (left === 0) this.#perBackend.delete(key);
    else this.#perBackend.set(key, left);
  }
}

/**
 * Makes the kernel detect dead peers: keepalive probes on idle connections, TCP_USER_TIMEOUT on those with unacknowledged data.
 * An idle connection to a live peer stays open, because a watch may be silent for hours. A connection to a slow peer stays open
 * too: see relay.ts.
 */
export function armDeadPeerTimeout(addon: NativeAddon, socket: Socket, timeoutMs: number): void {
  const fd = descriptorOf(socket);
  if (timeoutMs === 0 || fd < 0) return;
  socket.setKeepAlive(true, Math.max(1000, Math.round(timeoutMs / 3)));
  try {
    addon.setUserTimeout(fd, timeoutMs);
  } catch {
    // The peer has disconnected and the descriptor is closed. The next read or write fails and ends the connection.
  }
}
