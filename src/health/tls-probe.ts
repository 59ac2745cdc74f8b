// The check on request (`--health tls`): a whole TLS handshake, closed cleanly. It asks whether somebody speaks TLS there, never who:
// each workload cluster's certificate is signed by that cluster's own CA, which we neither have nor need, since clients verify.
import { isIP, type Socket } from 'node:net';
import { dial } from '../netns/dial.ts';
import type { NativeAddon } from '../netns/native.ts';
import { NetnsHandles } from '../netns/netns-handles.ts';
import type { Probe, ProbeOutcome, ProbeTarget } from './probe.ts';
import { startDeadline } from './stall-proof-deadline.ts';

export class TlsProbe implements Probe {
  readonly #handles: NetnsHandles;
  readonly #timeoutMs: number;

  constructor(addon: Pick<NativeAddon, 'openNetns'>, timeoutMs: number) {
    // None is kept open: a probe every few seconds does not pay for a descriptor, nor for keeping a deleted netns alive.
    this.#handles = new NetnsHandles(addon, 0);
    this.#timeoutMs = timeoutMs;
  }

  start(target: ProbeTarget, ended: (outcome: ProbeOutcome) => void): () => void {
    const startedMs = performance.now();
    let outcome: ProbeOutcome | null = null;
    const judge = (error: string | null): ProbeOutcome => {
      outcome ??= { ok: error === null, error, durationMs: performance.now() - startedMs };
      return outcome;
    };
    let socket: Socket;
    try {
      socket = dial(this.#handles, target, { allowHalfOpen: false });
    } catch (error) {
      const failed = judge(errorCode(error));
      queueMicrotask(() => ended(failed));
      return () => {};
    }
    const giveUp = (code: string) => {
      judge(code);
      socket.destroy();
    };
    const cancelDeadline = startDeadline(this.#timeoutMs, () => giveUp('ETIMEDOUT'));
    socket.on('error', (error) => judge(errorCode(error)));
    socket.on('connect', () => {
      const failed = (error: unknown) => giveUp(errorCode(error));
      try {
        handshake(socket, target, () => judge(null), failed);
      } catch (error) {
        failed(error);
      }
    });
    socket.on('close', () => {
      cancelDeadline();
      ended(judge('ECONNRESET')); // it was judged before, unless the backend hung up without a word
    });
    return () => giveUp('ECANCELED');
  }

  close(): void {
    this.#handles.close();
  }
}

/** Calls `passed` or `failed` (the first call counts), and in every case the socket ends. */
function handshake(
  socket: Socket,
  target: ProbeTarget,
  passed: () => void,
  failed: (error: unknown) => void,
): void {
  // Late: who does not ask for this check need not load TLS, which is 3 MB.
  const secure = process.getBuiltinModule('node:tls').connect({
    socket,
    rejectUnauthorized: false,
    // RFC 6066 section 3 forbids addresses as server names, and Node throws on them.
    ...(isIP(target.serverName) === 0 && { servername: target.serverName }),
  });
  secure.on('error', failed);
  secure.on('secureConnect', () => {
    passed();
    // close_notify, then FIN: to the API server a client that had nothing to ask, which it does not log.
    secure.end();
  });
  secure.resume(); // session tickets and the server's own close_notify must be read, or our close turns into a reset
}

/** Without a code it was dial() refusing the address. Our own shortage (EMFILE) counts too: then this node cannot dial it. */
function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'EINVAL';
}
