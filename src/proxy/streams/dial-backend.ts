// One attempt to connect to one backend, with its deadline, and the count of those under way.
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

/** Never rejects: that a backend cannot be reached is an outcome. */
export function dialBackend(
  backend: Backend,
  context: DialContext,
  /** Sees the socket while it is connecting: destroying it cancels the attempt. */
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
      failed('ECANCELED'); // counts only if no error came first
    };
    socket.once('error', onError).once('close', onClose);
    socket.once('connect', () => {
      clearTimeout(deadline);
      socket.off('error', onError).off('close', onClose);
      socket.on('error', () => {}); // until the relay listens
      socket.setNoDelay(true);
      armDeadPeerTimeout(addon, socket, limits.deadPeerTimeoutMs);
      resolve({ socket, error: null, durationMs: performance.now() - startedMs });
    });
  });
}

/** Destroying a connecting socket with it says that the health checks found the backend down. */
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

/** Bounds the dials under way, in total and to each backend, so that one black hole cannot use up what the others need. */
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

  /** False when a bound stands in the way; else it may be dialled, and is counted. */
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
 * Lets the kernel find dead peers: keepalive probes on quiet connections, TCP_USER_TIMEOUT on those with data under way.
 * A quiet but living connection is never cut: a watch may be silent for hours (and a slow one neither: see relay.ts).
 */
export function armDeadPeerTimeout(addon: NativeAddon, socket: Socket, timeoutMs: number): void {
  const fd = descriptorOf(socket);
  if (timeoutMs === 0 || fd < 0) return;
  socket.setKeepAlive(true, Math.max(1000, Math.round(timeoutMs / 3)));
  try {
    addon.setUserTimeout(fd, timeoutMs);
  } catch {
    // The peer is gone already and the descriptor with it: the next read or write tells the connection.
  }
}
