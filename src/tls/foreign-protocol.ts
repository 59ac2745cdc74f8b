// Guesses the protocol of a peer whose first byte does not start a TLS handshake record. It asks for no more bytes
// than the guess needs: the peer is rejected in any case, and should not wait for a timeout.

import type { ForeignProtocol } from './invalid-hello-reason.ts';

const O = 0x4f;
const P = 0x50;
const R = 0x52;

/** The high bit of an SSLv2 record header and the upper bits of a length under 256: SSLv2 hellos are that short. */
const SSLV2 = 0x80;
/** The first byte of the PROXY protocol version 2 signature. */
const CR = 0x0d;

/**
 * Returns the protocol, or the number of bytes that are needed to recognise it. One byte is enough, except for `P`:
 * it starts PROXY, but also POST, PUT, PATCH and PRI. The log must name the PROXY protocol, so that the operator can
 * correct the load balancer.
 */
export function foreignProtocol(bytes: Uint8Array): ForeignProtocol | number {
  const first = bytes[0];
  if (first !== P) return (first === undefined ? undefined : BY_FIRST_BYTE.get(first)) ?? 'not-handshake';
  if (bytes.length < 2) return 2;
  if (bytes[1] !== R) return 'plain-http';
  if (bytes.length < 3) return 3;
  return bytes[2] === O ? 'proxy-protocol' : 'plain-http';
}

const BY_FIRST_BYTE: ReadonlyMap<number, ForeignProtocol> = new Map<number, ForeignProtocol>([
  [SSLV2, 'sslv2'],
  [CR, 'proxy-protocol'],
  ['S'.charCodeAt(0), 'ssh'],
  // CONNECT, DELETE, GET, HEAD, OPTIONS, TRACE.
  ...[...'CDGHOT'].map((letter): [number, ForeignProtocol] => [letter.charCodeAt(0), 'plain-http']),
]);
