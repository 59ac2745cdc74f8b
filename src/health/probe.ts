// Probes one backend inside its netns, once. It never throws and leaves no descriptor: a run ends when its socket is closed.
// What is asked stands in tcp-check.ts (and how that stays out of the API server's log) and in tls-check.ts.
import type { Socket } from 'node:net';
import { dial } from '../netns/dial.ts';
import type { NativeAddon } from '../netns/native.ts';
import { NetnsHandles } from '../netns/netns-handles.ts';
import type { Check } from './probe-check.ts';
import type { ProbeTarget } from './probe-target.ts';
import { startDeadline } from './stall-proof-deadline.ts';
import { tcpCheck } from './tcp-check.ts';
import { tlsCheck } from './tls-check.ts';

export interface ProbeOutcome {
  readonly ok: boolean;
  /** A code such as ECONNREFUSED or ETIMEDOUT; null when it passed. */
  readonly error: string | null;
  /** Until the verdict; the closing that follows is not counted. */
  readonly durationMs: number;
}

export interface Probe {
  /** Never rejects. An aborted run fails with ECANCELED. */
  run(target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome>;
}

type ProbeAddon = Pick<NativeAddon, 'openNetns' | 'setQuickAck'>;

export function createProbe(deps: { addon: ProbeAddon; kind: 'tcp' | 'tls'; timeoutMs: number }): Probe {
  const check = deps.kind === 'tls' ? tlsCheck : tcpCheck(deps.addon);
  // None is kept open: a probe every few seconds does not pay for a descriptor, nor for keeping a deleted netns alive.
  return new NetnsProbe(new NetnsHandles(deps.addon, 0), check, deps.timeoutMs);
}

class NetnsProbe implements Probe {
  readonly #handles: NetnsHandles;
  readonly #check: Check;
  readonly #timeoutMs: number;

  constructor(handles: NetnsHandles, check: Check, timeoutMs: number) {
    this.#handles = handles;
    this.#check = check;
    this.#timeoutMs = timeoutMs;
  }

  run(target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    const startedMs = performance.now();
    let outcome: ProbeOutcome | null = null;
    const judge = (error: string | null): ProbeOutcome => {
      outcome ??= { ok: error === null, error, durationMs: performance.now() - startedMs };
      return outcome;
    };
    if (signal.aborted) return Promise.resolve(judge('ECANCELED'));
    let socket: Socket;
    try {
      const { beforeConnect } = this.#check;
      socket = dial(this.#handles, target, { allowHalfOpen: false, ...(beforeConnect && { beforeConnect }) });
    } catch (error) {
      return Promise.resolve(judge(errorCode(error)));
    }
    return new Promise((resolve) => {
      const giveUp = (code: string) => {
        judge(code);
        socket.destroy();
      };
      const cancelDeadline = startDeadline(this.#timeoutMs, () => giveUp('ETIMEDOUT'));
      const onAbort = () => giveUp('ECANCELED');
      signal.addEventListener('abort', onAbort, { once: true });
      socket.on('error', (error) => judge(errorCode(error)));
      socket.on('connect', () => {
        const failed = (error: unknown) => giveUp(errorCode(error));
        try {
          this.#check.connected(socket, target, () => judge(null), failed);
        } catch (error) {
          failed(error);
        }
      });
      socket.on('close', () => {
        cancelDeadline();
        signal.removeEventListener('abort', onAbort);
        resolve(judge('ECONNRESET')); // it was judged before, unless the backend hung up without a word
      });
    });
  }
}

/** Without a code it was dial() refusing the address. Our own shortage (EMFILE) counts too: then this node cannot dial it. */
function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'EINVAL';
}
