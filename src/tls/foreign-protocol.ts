// Owns the guess at what a peer speaks when its first byte is not that of a TLS handshake record. Never asks
// for more bytes than the guess needs: the peer is refused in any case, and should not have to time out first.

import type { ForeignProtocol } from './invalid-hello-reason.ts';

const O = 0x4f;
const P = 0x50;
const R = 0x52;

/** An SSLv2 record header's high bit plus the top of a length under 256: SSLv2 hellos are that short. */
const SSLV2 = 0x80;
/** The first byte of the signature of PROXY protocol version 2. */
const CR = 0x0d;

/**
 * The protocol, or how many bytes it takes to tell. One byte decides, save for `P`, which opens both the
 * PROXY line (whose operator needs to read just that in the log) and POST, PUT, PATCH and PRI.
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
