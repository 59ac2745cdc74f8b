// The record layer of a hello: returns the fields of the handshake message, across any number of records. It reads a
// byte only after a bounds check. It copies bytes only for a field that spans several records.

import { foreignProtocol } from './foreign-protocol.ts';
import type { ForeignProtocol, RecordProblem } from './invalid-hello-reason.ts';

const HANDSHAKE = 22;
const MAJOR_VERSION = 3;
const HEADER_BYTES = 5;
/** RFC 8446 5.1. The additional 256 bytes of an encrypted record do not apply to a hello. */
const MAX_RECORD_BYTES = 1 << 14;
/** The longest field that `take` returns has a one-byte length. Longer fields are skipped. */
const MAX_FIELD_BYTES = 255;

/** Offsets count raw bytes from the start of the connection. Each call receives the bytes themselves. */
export interface RecordReader {
  /** The next unread byte of the message. It can be beyond the bytes received: the header gives the record's length. */
  at: number;
  /** The end of the current record's payload, where the next header starts. */
  recordEnd: number;
  /** Message bytes to skip before the next field. */
  toSkip: number;
  /** The last field starts at `field[fieldAt]`. Valid until the next `take`. */
  field: Uint8Array;
  fieldAt: number;
  /** Collects a field that spans several records. */
  straddling: Uint8Array | undefined;
  straddlingBytes: number;
  /** After a failed `take`: the permanent problem, or `minBytes`, the number of raw bytes it needs. */
  problem: ForeignProtocol | RecordProblem | undefined;
  minBytes: number;
  /** Headers read plus bytes copied. Tests use it to prove that the work is linear. */
  work: number;
}

const NOTHING = new Uint8Array(0);

export function newRecordReader(): RecordReader {
  return {
    at: 0,
    recordEnd: 0,
    toSkip: 0,
    field: NOTHING,
    fieldAt: 0,
    straddling: undefined,
    straddlingBytes: 0,
    problem: undefined,
    minBytes: 0,
    work: 0,
  };
}

/**
 * The parser's only bounds check. Returns true when the next `count` bytes of the message have arrived; they are
 * contiguous at `field[fieldAt]`. With `count` 0 it checks that all skipped bytes have arrived.
 */
export function take(reader: RecordReader, bytes: Uint8Array, count: number): boolean {
  const start = reader.at + reader.toSkip;
  const end = start + count;
  if (end > reader.recordEnd || end > bytes.length || reader.straddlingBytes > 0) {
    return takeAcross(reader, bytes, count);
  }
  reader.toSkip = 0;
  reader.field = bytes;
  reader.fieldAt = start;
  reader.at = end;
  return true;
}

/** Like `take`, for a field that is incomplete or not entirely in the current record. */
function takeAcross(reader: RecordReader, bytes: Uint8Array, count: number): boolean {
  let left = reader.recordEnd - reader.at;
  while (left < reader.toSkip || (left === reader.toSkip && count > 0)) {
    reader.toSkip -= left;
    reader.at = reader.recordEnd;
    if (!openRecord(reader, bytes)) return false;
    left = reader.recordEnd - reader.at;
  }
  const end = reader.at + reader.toSkip + count;
  if (end <= reader.recordEnd && reader.straddlingBytes === 0) {
    return end > bytes.length ? waitFor(reader, end) : take(reader, bytes, count);
  }
  reader.at += reader.toSkip;
  reader.toSkip = 0;
  return gather(reader, bytes, count);
}

/** Drops the reference to the caller's bytes: the caller may reuse its buffer between calls. */
export function forgetField(reader: RecordReader): void {
  reader.field = NOTHING;
}

function waitFor(reader: RecordReader, minBytes: number): false {
  reader.minBytes = minBytes;
  return false;
}

/** Reads the header at `recordEnd`. It checks each part as soon as it arrives, because a peer of another protocol may send no more. */
function openRecord(reader: RecordReader, bytes: Uint8Array): boolean {
  const header = reader.recordEnd;
  const present = bytes.length - header;
  reader.work += 1;
  if (present < 1) return waitFor(reader, header + 1);
  if (bytes[header] !== HANDSHAKE) return refuseType(reader, bytes, header);
  if (present < 2) return waitFor(reader, header + 2);
  if (bytes[header + 1] !== MAJOR_VERSION) return refuse(reader, 'bad-record-version');
  if (present < HEADER_BYTES) return waitFor(reader, header + HEADER_BYTES);
  const length = (bytes[header + 3]! << 8) | bytes[header + 4]!;
  // RFC 8446 5.1 forbids empty handshake records. They would also make the raw size of a hello unbounded.
  if (length === 0 || length > MAX_RECORD_BYTES) return refuse(reader, 'bad-record-length');
  reader.at = header + HEADER_BYTES;
  reader.recordEnd = reader.at + length;
  return true;
}

function refuseType(reader: RecordReader, bytes: Uint8Array, header: number): false {
  if (header > 0) return refuse(reader, 'interleaved-record');
  const protocol = foreignProtocol(bytes);
  return typeof protocol === 'number' ? waitFor(reader, protocol) : refuse(reader, protocol);
}

function refuse(reader: RecordReader, problem: ForeignProtocol | RecordProblem): false {
  reader.problem = problem;
  return false;
}

/** Collects a field that spans several records. The next call continues where this one stopped, so each byte is copied once. */
function gather(reader: RecordReader, bytes: Uint8Array, count: number): boolean {
  reader.straddling ??= new Uint8Array(MAX_FIELD_BYTES);
  for (;;) {
    const missing = count - reader.straddlingBytes;
    const inRecord = Math.min(missing, reader.recordEnd - reader.at);
    const present = Math.max(0, Math.min(inRecord, bytes.length - reader.at));
    for (let i = 0; i < present; i += 1) {
      reader.straddling[reader.straddlingBytes + i] = bytes[reader.at + i]!;
    }
    reader.at += present;
    reader.straddlingBytes += present;
    reader.work += present;
    if (present === missing) break;
    if (present < inRecord) {
      // Wait for the rest of the field if it ends in this record, else for the first byte of the next header.
      return waitFor(reader, inRecord === missing ? reader.at + missing - present : reader.recordEnd + 1);
    }
    if (!openRecord(reader, bytes)) return false;
  }
  reader.field = reader.straddling;
  reader.fieldAt = 0;
  reader.straddlingBytes = 0;
  return true;
}
