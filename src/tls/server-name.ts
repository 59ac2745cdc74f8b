// The rules for a valid host name in a server_name extension, and the normal form for comparison. It checks the bytes in place.

import { isIPv6 } from 'node:net';
import type { ServerNameProblem } from './invalid-hello-reason.ts';

/** RFC 1035 3.1: 255 bytes on the wire, minus the first length byte and the root label. */
const MAX_NAME_BYTES = 253;
const MAX_LABEL_BYTES = 63;
/** A name that is longer than this is rejected before its bytes arrive. */
export const MAX_NAME_BYTES_WITH_DOT = MAX_NAME_BYTES + 1;

const DOT = 0x2e;

const REFUSED = 0;
const DIGIT = 1;
const LETTER = 2;
const SEPARATOR = 3;

/** Host names consist of letters, digits and hyphens. The underscore is not allowed in host names, but some clients use it. */
const KIND = new Uint8Array(256);
for (const letter of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_')
  KIND[letter.charCodeAt(0)] = LETTER;
for (const digit of '0123456789') KIND[digit.charCodeAt(0)] = DIGIT;
KIND[DOT] = SEPARATOR;

/** The first problem of the name at `bytes[start]`. The complete name must be present. */
export function serverNameProblem(
  bytes: Uint8Array,
  start: number,
  length: number,
): ServerNameProblem | undefined {
  const end = nameEnd(bytes, start, length);
  if (end <= start) return 'name-empty';
  if (end - start > MAX_NAME_BYTES) return 'name-too-long';
  let labelStart = start;
  let dots = 0;
  let numeric = true;
  for (let i = start; i < end; i += 1) {
    const kind = KIND[bytes[i]!];
    if (kind === LETTER) {
      numeric = false;
    } else if (kind === SEPARATOR) {
      if (!isLabelLength(i - labelStart)) return 'name-bad-label';
      labelStart = i + 1;
      dots += 1;
    } else if (kind === REFUSED) {
      return refusedByte(bytes[i]!, bytes, start, end);
    }
  }
  if (!isLabelLength(end - labelStart)) return 'name-bad-label';
  // Four numbers of any value are rejected: some resolvers also accept 010.0.0.1, and no top-level domain is a number.
  return numeric && dots === 3 ? 'name-is-ip' : undefined;
}

/** The normal form for comparison: lower case, without a trailing dot. Only for a name without a problem. */
export function serverNameText(bytes: Uint8Array, start: number, length: number): string {
  return latin1Slice.call(bytes, start, nameEnd(bytes, start, length)).toLowerCase();
}

/** `a.b.` is the absolute form of `a.b`. RFC 6066 3 forbids the trailing dot, but some clients send it. */
function nameEnd(bytes: Uint8Array, start: number, length: number): number {
  const end = start + length;
  return length > 0 && bytes[end - 1] === DOT ? end - 1 : end;
}

function isLabelLength(length: number): boolean {
  return length > 0 && length <= MAX_LABEL_BYTES;
}

function refusedByte(byte: number, bytes: Uint8Array, start: number, end: number): ServerNameProblem {
  if (byte === 0) return 'name-has-nul';
  if (byte > 0x7f) return 'name-not-ascii';
  const text = latin1Slice.call(bytes, start, end);
  return isIPv6(text.replace(/^\[(.*)\]$/, '$1')) ? 'name-is-ip' : 'name-bad-character';
}

/** Works on any Uint8Array. Node has no public API for this, and creating a Buffer first took a third longer when measured. */
const latin1Slice = (
  Buffer.prototype as unknown as { latin1Slice(this: Uint8Array, start: number, end: number): string }
).latin1Slice;
