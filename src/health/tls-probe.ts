// The optional check (`--health tls`): a complete TLS handshake with a clean close. It does not verify the certificate: each workload
// cluster has its own CA, which Isthmus does not have. The clients verify it.
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
    // Keeps no handle open: a probe every few seconds does not justify a descriptor, and a handle would keep a deleted netns alive.
    this.#handles = new NetnsHandles(addon, 0);
    this.#timeoutMs = timeoutMs;
  }

  start(target: ProbeTarget, ended: (outcome: ProbeOutcome) => void): () => void {
    const startedMs = performance.now();
    let outcome: ProbeOutcome | null = null;
    const outcomeOf = (error: string | null): ProbeOutcome => {
      outcome ??= { ok: error === null, error, durationMs: performance.now() - startedMs };
      return outcome;
    };
    let socket: Socket;
    try {
      socket = dial(this.#handles, target, { allowHalfOpen: false });
    } catch (error) {
      const failed = outcomeOf(errorCode(error));
      queueMicrotask(() => ended(failed));
      return () => {};
    }
    const giveUp = (code: string) => {
      outcomeOf(code);
      socket.destroy();
    };
    const cancelDeadline = startDeadline(this.#timeoutMs, () => giveUp('ETIMEDOUT'));
    socket.on('error', (error) => outcomeOf(errorCode(error)));
    socket.on('connect', () => {
      const failed = (error: unknown) => giveUp(errorCode(error));
      try {
        handshake(socket, target, () => outcomeOf(null), failed);
      } catch (error) {
        failed(error);
      }
    });
    socket.on('close', () => {
      cancelDeadline();
      ended(outcomeOf('ECONNRESET')); // applies only if the backend closed without an error or a result
    });
    return () => giveUp('ECANCELED');
  }

  close(): void {
    this.#handles.close();
  }
}

/** Calls `passed` or `failed` (the first call counts). The socket closes in every case. */
function handshake(
  socket: Socket,
  target: ProbeTarget,
  passed: () => void,
  failed: (error: unknown) => void,
): void {
  // Loaded on first use: node:tls costs 3 MB, which the other check does not need.
  const secure = process.getBuiltinModule('node:tls').connect({
    socket,
    rejectUnauthorized: false,
    // RFC 6066 section 3 forbids addresses as server names, and Node throws on them.
    ...(isIP(target.serverName) === 0 && { servername: target.serverName }),
  });
  secure.on('error', failed);
  secure.on('secureConnect', () => {
    passed();
    // close_notify, then FIN: the API server sees a client without a request, and logs nothing.
    secure.end();
  });
  secure.resume(); // unread session tickets or an unread close_notify would turn our close into a reset
}

/** An error without a code means that dial() rejected the address. EMFILE counts as a failure: this node cannot dial the target. */
function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'EINVAL';
}
