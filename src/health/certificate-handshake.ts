// One TLS handshake with a backend inside its netns, to read its certificate. It does not verify the certificate: each workload cluster has
// its own CA. The server is a tenant's machine, so time and bytes are bounded. The connection closes in order, so the server logs nothing.
import { isIP, type Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { dial } from '../netns/dial.ts';
import type { NativeAddon } from '../netns/native.ts';
import { NetnsHandles } from '../netns/netns-handles.ts';
import type { ProbeTarget } from './probe.ts';
import { type ServerCertificate, serverCertificate } from './server-certificate.ts';
import { startDeadline } from './stall-proof-deadline.ts';

/** The certificate, or an error code. */
export type HandshakeResult = { readonly certificate: ServerCertificate } | { readonly error: string };

/** The interface that the reader needs. */
export interface Handshake {
  /** Returns a function that cancels it. `ended` is called exactly once, after the socket is closed, and never before `start` returns. */
  start(target: ProbeTarget, ended: (result: HandshakeResult) => void): () => void;
}

export interface HandshakeOptions {
  readonly addon: Pick<NativeAddon, 'openNetns'>;
  readonly timeoutMs: number;
}

export const HANDSHAKE_TIMEOUT_MS = 3000;
/** A usual handshake has 3 KB. OpenSSL accepts 100 KB of certificates. */
const MAX_BYTES = 128 * 1024;
const LOOK_MS = 50;

export class CertificateHandshake implements Handshake {
  readonly #handles: NetnsHandles;
  readonly #timeoutMs: number;
  #context: SecureContext | null = null;

  constructor({ addon, timeoutMs }: HandshakeOptions) {
    this.#handles = new NetnsHandles(addon, 0);
    this.#timeoutMs = timeoutMs;
  }

  start(target: ProbeTarget, ended: (result: HandshakeResult) => void): () => void {
    let result: HandshakeResult | null = null;
    const settle = (value: HandshakeResult): HandshakeResult => {
      result ??= value;
      return result;
    };
    let socket: Socket;
    try {
      socket = dial(this.#handles, target, { allowHalfOpen: false });
    } catch (error) {
      const failed = settle({ error: errorCode(error) });
      queueMicrotask(() => ended(failed));
      return () => {};
    }
    const giveUp = (error: string) => {
      settle({ error });
      socket.destroy();
    };
    const cancelDeadline = startDeadline(this.#timeoutMs, () => giveUp('ETIMEDOUT'));
    const meter = setInterval(() => {
      if (socket.bytesRead > MAX_BYTES) giveUp('EMSGSIZE');
    }, LOOK_MS);
    socket.on('error', (error) => settle({ error: errorCode(error) }));
    socket.on('connect', () => {
      try {
        const secure = this.#secured(socket, target);
        secure.on('error', (error) => giveUp(errorCode(error)));
        secure.on('secureConnect', () => {
          settle(certificateOf(secure));
          // close_notify, then FIN: the API server sees a client without a request, and logs nothing.
          secure.end();
        });
        secure.resume(); // unread session tickets would turn our close into a reset
      } catch (error) {
        giveUp(errorCode(error));
      }
    });
    socket.on('close', () => {
      cancelDeadline();
      clearInterval(meter);
      ended(settle({ error: 'ECONNRESET' })); // applies only if the backend closed without an error or a result
    });
    return () => giveUp('ECANCELED');
  }

  close(): void {
    this.#handles.close();
  }

  #secured(socket: Socket, { serverName }: ProbeTarget): TLSSocket {
    // Loaded on first use: node:tls costs 3 MB.
    const tls = process.getBuiltinModule('node:tls');
    // Without CAs, Node does not load the certificates of all public authorities. With DHE, the server chooses the group: one of 8192
    // bits blocks this thread for 0.7 s.
    this.#context ??= tls.createSecureContext({
      ca: [],
      minVersion: 'TLSv1.2',
      ciphers: `${tls.DEFAULT_CIPHERS}:!DHE`,
    });
    return tls.connect({
      socket,
      secureContext: this.#context,
      rejectUnauthorized: false,
      // RFC 6066 section 3 forbids addresses as server names, and Node throws on them.
      ...(isIP(serverName) === 0 && { servername: serverName }),
    });
  }
}

function certificateOf(secure: TLSSocket): HandshakeResult {
  try {
    secure.disableRenegotiation();
    const raw = secure.getPeerX509Certificate();
    const certificate = raw === undefined ? null : serverCertificate(raw);
    return certificate === null ? { error: 'ERR_NO_CERTIFICATE' } : { certificate };
  } catch (error) {
    return { error: errorCode(error) };
  }
}

/** An error without a code means that dial() rejected the address. */
function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'EINVAL';
}
