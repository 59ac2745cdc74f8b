import { expect, test } from 'vitest';
import { foreignProtocol } from './foreign-protocol.ts';
import type { ForeignProtocol } from './invalid-hello-reason.ts';

test.each<[title: string, opening: string, decidedAt: number, protocol: ForeignProtocol]>([
  ['GET is HTTP', 'GET / HTTP/1.1\r\n', 1, 'plain-http'],
  ['HEAD is HTTP', 'HEAD / HTTP/1.1\r\n', 1, 'plain-http'],
  ['DELETE is HTTP', 'DELETE / HTTP/1.1\r\n', 1, 'plain-http'],
  ['OPTIONS is HTTP', 'OPTIONS * HTTP/1.1\r\n', 1, 'plain-http'],
  ['CONNECT is HTTP', 'CONNECT demo:443 HTTP/1.1\r\n', 1, 'plain-http'],
  ['TRACE is HTTP', 'TRACE / HTTP/1.1\r\n', 1, 'plain-http'],
  ['POST is HTTP', 'POST / HTTP/1.1\r\n', 2, 'plain-http'],
  ['PUT is HTTP', 'PUT / HTTP/1.1\r\n', 2, 'plain-http'],
  ['PATCH is HTTP', 'PATCH / HTTP/1.1\r\n', 2, 'plain-http'],
  ['PRI, the preface of HTTP/2, is HTTP', 'PRI * HTTP/2.0\r\n', 3, 'plain-http'],
  ['PROXY is the PROXY protocol', 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n', 3, 'proxy-protocol'],
  ['the binary signature is the PROXY protocol', '\r\n\r\n\0\r\nQUIT\n', 1, 'proxy-protocol'],
  ['a banner is SSH', 'SSH-2.0-OpenSSH_9.2\r\n', 1, 'ssh'],
  ['an SSLv2 hello is SSLv2', '\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10', 1, 'sslv2'],
  ['an alert is not a handshake', '\x15\x03\x01\x00\x02\x02\x28', 1, 'not-handshake'],
  ['application data is not a handshake', '\x17\x03\x03\x00\x10', 1, 'not-handshake'],
  ['anything else is not a handshake', '\x00', 1, 'not-handshake'],
])('%s', (_title, opening, decidedAt, protocol) => {
  const bytes = new Uint8Array(Buffer.from(opening, 'latin1'));
  for (let length = 1; length <= bytes.length; length += 1) {
    const expected = length < decidedAt ? length + 1 : protocol;
    expect(foreignProtocol(bytes.subarray(0, length))).toBe(expected);
  }
});
