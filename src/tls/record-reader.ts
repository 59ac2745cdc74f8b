// Owns the record layer of a hello: hands out the handshake message's bytes, field by field, over however many
// records they are spread. Never looks at a byte it has not checked to be there, and never copies one, save for
// a field that straddles records.

import { foreignProtocol } from './foreign-protocol.ts';
import type { ForeignProtocol, RecordProblem } from './invalid-hello-reason.ts';

const HANDSHAKE = 22;
const MAJOR_VERSION = 3;
const HEADER_BYTES = 5;
/** RFC 8446 5.1; the 256 more that an encrypted record may have are not for a hello. */
const MAX_RECORD_BYTES = 1 << 14;
/** The longest field anyone takes is a one-byte-counted one; longer ones are skipped. */
const MAX_FIELD_BYTES = 255;

/** Offsets count raw bytes from the connection's first; the bytes themselves are passed in with each call. */
export interface RecordReader {
  /** The next unread byte of the message. May lie past what has arrived: a record's extent is known at once. */
  at: number;
  /** One past the current record's payload, which is where the next header starts. */
  recordEnd: number;
  /** Message bytes to pass over before the next field. */
  toSkip: number;
  /** The field last taken starts at `field[fieldAt]`; it is valid until the next `take`. */
  field: Uint8Array;
  fieldAt: number;
  /** Holds a field that straddles records while its bytes arrive. */
  straddling: Uint8Array | undefined;
  straddlingBytes: number;
  /** After a `take` that failed: why it always will, or else how many raw bytes it waits for. */
  problem: ForeignProtocol | RecordProblem | undefined;
  minBytes: number;
  /** Headers looked at plus bytes copied: the proof that the work is linear. */
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
 * The one bounds check that carries the parser: true once the message's next `count` bytes have arrived and
 * lie in one piece at `field[fieldAt]`. A `count` of 0 asks that everything skipped has arrived.
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

/** As `take`, for a field that is not all there or not all in the current record. */
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

/** Lets go of the caller's bytes: between calls the buffer is the caller's to reuse. */
export function forgetField(reader: RecordReader): void {
  reader.field = NOTHING;
}

function waitFor(reader: RecordReader, minBytes: number): false {
  reader.minBytes = minBytes;
  return false;
}

/** Reads the header at `recordEnd`, each part as soon as it is there: a foreign protocol may send no more. */
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
  // Empty handshake records are forbidden, and would make the hello's raw size unbounded.
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

/** Collects a field that does not lie within one record; resumable, so that no byte is copied twice. */
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
      // The rest of the field if it ends in this record, else the first byte of the next one's header.
      return waitFor(reader, inRecord === missing ? reader.at + missing - present : reader.recordEnd + 1);
    }
    if (!openRecord(reader, bytes)) return false;
  }
  reader.field = reader.straddling;
  reader.fieldAt = 0;
  reader.straddlingBytes = 0;
  return true;
}
