// The ClientHello parser: it finds the server name that the client asks for. Pure: bytes in, answer out. It never
// throws, never reads past the bytes, and reads each field once.

import type { InvalidHelloReason } from './invalid-hello-reason.ts';
import { forgetField, newRecordReader, type RecordReader, take } from './record-reader.ts';
import { MAX_NAME_BYTES_WITH_DOT, serverNameProblem, serverNameText } from './server-name.ts';

export type { InvalidHelloReason } from './invalid-hello-reason.ts';

export type HelloResult =
  /** Lower-case ASCII, without a trailing dot. */
  | { readonly kind: 'server-name'; readonly serverName: string }
  | { readonly kind: 'no-server-name' }
  /** Call again when at least `minBytes` bytes, counted from the first, have arrived. With fewer bytes, the answer is the same. */
  | { readonly kind: 'incomplete'; readonly minBytes: number }
  | { readonly kind: 'invalid'; readonly reason: InvalidHelloReason };

/** The limit of Go: a hello that a Kubernetes API server accepts is never too long for the proxy. */
const MAX_BODY_BYTES = 65_536;
const MESSAGE_HEADER_BYTES = 4;
/** Version, random, and the shortest session id, cipher suites and compression methods. */
const MIN_BODY_BYTES = 2 + 32 + 1 + 4 + 2;
const RANDOM_BYTES = 32;
const MAX_SESSION_ID_BYTES = 32;

/** The upper bound of a complete hello: the longest message, with each byte in its own record. */
export const MAX_HELLO_BYTES = (MESSAGE_HEADER_BYTES + MAX_BODY_BYTES) * 6;

const CLIENT_HELLO = 1;
const TLS_1_0 = 0x0301;
const SERVER_NAME_EXTENSION = 0;
const HOST_NAME = 0;

/** The next field to read. Fields that the parser does not need are skipped together with the field before them. */
const MESSAGE_TYPE = 0;
const MESSAGE_LENGTH = 1;
const VERSION = 2;
const SESSION_ID_LENGTH = 3;
const CIPHER_SUITES_LENGTH = 4;
const COMPRESSION_LENGTH = 5;
const COMPRESSION_METHODS = 6;
const EXTENSIONS_LENGTH = 7;
const EXTENSION_HEADER = 8;
const NAME_LIST_LENGTH = 9;
const NAME_HEADER = 10;
const NAME = 11;
const END = 12;

/** By step: the reason to reject a field that would end beyond the structure that contains it. */
const OVERRUN: readonly InvalidHelloReason[] = [
  'message-too-short',
  'message-too-short',
  'message-too-short',
  'message-too-short',
  'bad-cipher-suites',
  'bad-compression',
  'bad-compression',
  'bad-extensions',
  'bad-extensions',
  'bad-server-name-list',
  'bad-server-name-list',
  'bad-server-name-list',
  'bad-extensions',
];

/** The parser's state between calls. It keeps the total work linear while the bytes grow. Opaque to callers. */
export interface HelloProgress {
  readonly records: RecordReader;
  step: number;
  /** Size of the next field in bytes. */
  need: number;
  /** Offset of the next field in the message. */
  position: number;
  /** `end`: where the message ends. `limit`: where the innermost structure around the next field ends. */
  end: number;
  limit: number;
  sawServerName: boolean;
  serverName: string | undefined;
  /** The final answer. Later bytes do not change it. */
  answer: HelloResult | undefined;
  /** Attempts to read a field. Tests use it with `records.work` to prove that the work is linear. */
  steps: number;
}

export function newHelloProgress(): HelloProgress {
  return {
    records: newRecordReader(),
    step: MESSAGE_TYPE,
    need: 1,
    position: 0,
    end: MESSAGE_HEADER_BYTES,
    limit: MESSAGE_HEADER_BYTES,
    sawServerName: false,
    serverName: undefined,
    answer: undefined,
    steps: 0,
  };
}

/**
 * `bytes` are all the bytes received so far. With the same `progress` in each call, all calls together do the
 * work of one. Without it, each call starts from the beginning.
 */
export function parseClientHello(bytes: Uint8Array, progress = newHelloProgress()): HelloResult {
  if (progress.answer !== undefined) return progress.answer;
  const result = walk(bytes, progress);
  forgetField(progress.records);
  if (result.kind !== 'incomplete') progress.answer = result;
  return result;
}

function walk(bytes: Uint8Array, progress: HelloProgress): HelloResult {
  const { records } = progress;
  for (;;) {
    progress.steps += 1;
    if (progress.position + progress.need > progress.limit) return invalid(OVERRUN[progress.step]!);
    if (!take(records, bytes, progress.need)) {
      if (records.problem !== undefined) return invalid(records.problem);
      return { kind: 'incomplete', minBytes: records.minBytes };
    }
    progress.position += progress.need;
    if (progress.step === END) {
      const { serverName } = progress;
      return serverName === undefined ? { kind: 'no-server-name' } : { kind: 'server-name', serverName };
    }
    const problem =
      progress.step < EXTENSION_HEADER
        ? checkFixedField(progress, records.field, records.fieldAt)
        : checkExtensionField(progress, records.field, records.fieldAt);
    if (problem !== undefined) return invalid(problem);
  }
}

function invalid(reason: InvalidHelloReason): HelloResult {
  return { kind: 'invalid', reason };
}

/** Checks the complete field at `field[at]` and sets the next step. */
function checkFixedField(
  progress: HelloProgress,
  field: Uint8Array,
  at: number,
): InvalidHelloReason | undefined {
  switch (progress.step) {
    case MESSAGE_TYPE:
      if (field[at] !== CLIENT_HELLO) return 'not-client-hello';
      return next(progress, MESSAGE_LENGTH, 3);

    case MESSAGE_LENGTH: {
      const length = (field[at]! << 16) | uint16(field, at + 1);
      if (length > MAX_BODY_BYTES) return 'message-too-long';
      if (length < MIN_BODY_BYTES) return 'message-too-short';
      progress.end = MESSAGE_HEADER_BYTES + length;
      progress.limit = progress.end;
      return next(progress, VERSION, 2);
    }

    case VERSION:
      // SSL 3.0 must be rejected (RFC 8446 D.5). An unknown higher version is legal: the server answers with its
      // own (RFC 5246 E.1).
      if (uint16(field, at) < TLS_1_0) return 'bad-client-version';
      skip(progress, RANDOM_BYTES);
      return next(progress, SESSION_ID_LENGTH, 1);

    case SESSION_ID_LENGTH: {
      const length = field[at]!;
      if (length > MAX_SESSION_ID_BYTES || length > left(progress)) return 'bad-session-id';
      skip(progress, length);
      return next(progress, CIPHER_SUITES_LENGTH, 2);
    }

    case CIPHER_SUITES_LENGTH: {
      const length = uint16(field, at);
      if (length === 0 || length % 2 === 1 || length > left(progress)) return 'bad-cipher-suites';
      skip(progress, length);
      return next(progress, COMPRESSION_LENGTH, 1);
    }

    case COMPRESSION_LENGTH: {
      const length = field[at]!;
      return length === 0 ? 'bad-compression' : next(progress, COMPRESSION_METHODS, length);
    }

    case COMPRESSION_METHODS:
      if (!hasNull(field, at, progress.need)) return 'bad-compression';
      // A hello without any extensions is legal up to TLS 1.2 (RFC 5246 7.4.1.2).
      return left(progress) === 0 ? next(progress, END, 0) : next(progress, EXTENSIONS_LENGTH, 2);

    default:
      return uint16(field, at) === left(progress) ? nextExtension(progress) : 'bad-extensions';
  }
}

/** The same for fields within extensions. It is a separate function, because V8 can inline it on this hot path. */
function checkExtensionField(
  progress: HelloProgress,
  field: Uint8Array,
  at: number,
): InvalidHelloReason | undefined {
  switch (progress.step) {
    case EXTENSION_HEADER:
      return checkExtension(progress, uint16(field, at), uint16(field, at + 2));

    case NAME_LIST_LENGTH: {
      const length = uint16(field, at);
      return length > 0 && length === left(progress) ? nextName(progress) : 'bad-server-name-list';
    }

    case NAME_HEADER:
      return checkNameHeader(progress, field[at]!, uint16(field, at + 1));

    default: {
      const problem = serverNameProblem(field, at, progress.need);
      if (problem !== undefined) return problem;
      progress.serverName = serverNameText(field, at, progress.need);
      return nextName(progress);
    }
  }
}

/**
 * RFC 8446 4.2 forbids a second extension of any type. Go rejects it for all types, OpenSSL for the types it
 * supports. The proxy checks only server_name: if the backend read the other one of two names, a client could reach
 * another tenant. The backend checks all other extensions and answers with the correct alert.
 */
function checkExtension(
  progress: HelloProgress,
  type: number,
  length: number,
): InvalidHelloReason | undefined {
  if (length > left(progress)) return 'bad-extensions';
  if (type !== SERVER_NAME_EXTENSION) {
    skip(progress, length);
    return nextExtension(progress);
  }
  if (progress.sawServerName) return 'duplicate-server-name';
  progress.sawServerName = true;
  progress.limit = progress.position + length;
  return next(progress, NAME_LIST_LENGTH, 2);
}

/** Skips names of unknown types: RFC 6066 3 guarantees that they also begin with a 16-bit length. */
function checkNameHeader(
  progress: HelloProgress,
  type: number,
  length: number,
): InvalidHelloReason | undefined {
  if (length > left(progress)) return 'bad-server-name-list';
  if (type !== HOST_NAME) {
    skip(progress, length);
    return nextName(progress);
  }
  if (progress.serverName !== undefined) return 'duplicate-server-name';
  if (length > MAX_NAME_BYTES_WITH_DOT) return 'name-too-long';
  return next(progress, NAME, length);
}

function nextExtension(progress: HelloProgress): undefined {
  return left(progress) === 0 ? next(progress, END, 0) : next(progress, EXTENSION_HEADER, 4);
}

function nextName(progress: HelloProgress): undefined {
  if (left(progress) > 0) return next(progress, NAME_HEADER, 3);
  progress.limit = progress.end;
  return nextExtension(progress);
}

function next(progress: HelloProgress, step: number, need: number): undefined {
  progress.step = step;
  progress.need = need;
}

/** Skips bytes that only the backend reads, without waiting for them to arrive. */
function skip(progress: HelloProgress, count: number): void {
  progress.position += count;
  progress.records.toSkip += count;
}

function left(progress: HelloProgress): number {
  return progress.limit - progress.position;
}

function hasNull(field: Uint8Array, at: number, count: number): boolean {
  for (let i = at; i < at + count; i += 1) {
    if (field[i] === 0) return true;
  }
  return false;
}

function uint16(field: Uint8Array, at: number): number {
  return (field[at]! << 8) | field[at + 1]!;
}
