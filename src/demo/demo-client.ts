// A real TLS client for the demo: it trusts only the CA it is given, so an answer proves which cluster was reached, and that
// nobody in between ended the TLS session.
import { connect, type TLSSocket } from 'node:tls';

export type Answer =
  | {
      readonly kind: 'answered';
      readonly body: { cluster: string; path: string };
      readonly certificate: string;
      readonly ms: number;
    }
  /** What OpenSSL made of a TLS alert, such as ERR_SSL_TLSV1_UNRECOGNIZED_NAME; or the code of a network error. */
  | { readonly kind: 'failed'; readonly error: string };

export function askCluster(options: {
  port: number;
  serverName: string;
  ca: Buffer;
  path: string;
}): Promise<Answer> {
  const { port, serverName, ca, path } = options;
  return new Promise((resolve) => {
    const started = performance.now();
    const chunks: Buffer[] = [];
    const socket: TLSSocket = connect({ host: '127.0.0.1', port, servername: serverName, ca }, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${serverName}\r\nConnection: close\r\n\r\n`);
    });
    socket.setTimeout(5000, () =>
      socket.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })),
    );
    const certificate = () => String(socket.getPeerCertificate().subject?.CN ?? '');
    let subject = '';
    socket.once('secureConnect', () => {
      subject = certificate();
    });
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ kind: 'failed', error: error.code ?? error.message }),
    );
    socket.once('end', () => {
      const body = /\r\n\r\n(?:[0-9a-f]+\r\n)?(\{.*\})/s.exec(Buffer.concat(chunks).toString('utf8'))?.[1];
      if (body === undefined) resolve({ kind: 'failed', error: 'the answer was cut short' });
      else
        resolve({
          kind: 'answered',
          body: JSON.parse(body),
          certificate: subject,
          ms: performance.now() - started,
        });
      socket.destroy();
    });
  });
}
