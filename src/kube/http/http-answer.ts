// From the bytes of an answer to its meaning: a value, the events of a watch, or the error that it is. Bounded, and silent about
// what the bytes were: a body that cannot be read may be a Secret.
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { KubeconfigError } from '../credentials/kubeconfig-error.ts';
import { KubeError, type KubeErrorCode } from '../kube-error.ts';
import { isRecord, type WatchEvent } from '../kube-object.ts';
import { refusalError, watchError } from './api-status.ts';
import type { CallSubject } from './call-limits.ts';
import { LineTooLong, WatchLines } from './watch-lines.ts';

/** Of an answer that was larger than the caller allowed: a shorter question may have a shorter answer. */
export const TOO_LARGE = 'AnswerTooLarge';

/** Enough for any Status object. */
const MAX_REFUSAL_BYTES = 1024 * 1024;
/** An object is at most 1.5 MiB in etcd; JSON and managed fields make it larger, not tenfold. */
const MAX_WATCH_LINE_BYTES = 16 * 1024 * 1024;

export async function wholeBody(
  response: IncomingMessage,
  maxBytes: number,
  subject: CallSubject,
): Promise<string> {
  const zipped = response.headers['content-encoding'] === 'gzip';
  // The callback is there for the errors, which the reader of the stream gets as well.
  const stream = zipped ? pipeline(response, createGunzip(), () => {}) : response;
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBytes) {
      response.destroy();
      const detail = `the answer is larger than ${maxBytes} bytes`;
      throw new KubeError({
        ...subject,
        code: 'bad-answer',
        reason: TOO_LARGE,
        detail,
        status: response.statusCode ?? null,
      });
    }
    parts.push(part);
  }
  return Buffer.concat(parts, length).toString('utf8');
}

/** The value in an answer that says yes. */
export function valueIn(
  response: IncomingMessage,
  body: string,
  accept: string,
  subject: CallSubject,
): unknown {
  if (accept.startsWith('text/')) return body;
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    // Its message quotes the text.
    const type = response.headers['content-type'] ?? 'of no type';
    const detail = `the answer is no JSON but ${body.length} characters (${type})`;
    throw new KubeError({ ...subject, code: 'bad-answer', detail, status: response.statusCode ?? null });
  }
}

export function bodyOfRefusal(response: IncomingMessage, subject: CallSubject): Promise<string> {
  return wholeBody(response, MAX_REFUSAL_BYTES, subject);
}

/** Throws unless the answer says yes. `secrets` are taken out of what it says, should it send them back. */
export async function requireYes(
  response: IncomingMessage,
  secrets: readonly string[],
  subject: CallSubject,
): Promise<void> {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return;
  let body: unknown = await bodyOfRefusal(response, subject);
  for (const secret of secrets) body = String(body).replaceAll(secret, '…');
  try {
    body = JSON.parse(String(body));
  } catch {
    // Text, as from a proxy in between.
  }
  throw refusalError({ ...subject, status, body, retryAfter: response.headers['retry-after'] });
}

/** Told of every sign of life by `heard`. */
export async function* watchEvents(
  response: IncomingMessage,
  subject: CallSubject,
  heard: () => void,
): AsyncGenerator<WatchEvent, void, void> {
  const lines = new WatchLines(MAX_WATCH_LINE_BYTES);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    heard();
    for (const line of lines.push(chunk)) yield eventIn(line, subject);
  }
  if (lines.pending > 0) {
    const detail = `the watch ended ${lines.pending} bytes into a line`;
    throw new KubeError({ ...subject, code: 'bad-answer', status: 200, detail });
  }
}

function eventIn(line: string, subject: CallSubject): WatchEvent {
  let event: unknown = null;
  try {
    event = JSON.parse(line);
  } catch {
    // null is no event either
  }
  if (!isRecord(event) || typeof event.type !== 'string') {
    const detail = `the watch sent ${line.length} characters that are no event`;
    throw new KubeError({ ...subject, code: 'bad-answer', status: 200, detail });
  }
  if (event.type === 'ERROR') throw watchError(subject.path, event.object);
  return { type: event.type, object: event.object };
}

/** Whatever a call ended with, as a KubeError; bugs of ours stay what they are. */
export function callError(error: unknown, subject: CallSubject): unknown {
  if (error instanceof KubeError) return error;
  if (error instanceof KubeconfigError)
    return new KubeError({ ...subject, code: 'unauthorized', detail: error.message });
  if (error instanceof LineTooLong)
    return new KubeError({
      ...subject,
      code: 'bad-answer',
      status: 200,
      detail: `a line of the watch has ${error.message}`,
    });
  if (!(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  // A proxy's agent throws plain errors; anything else without a code is a bug.
  if (typeof code !== 'string' && error.constructor !== Error) return error;
  return new KubeError({
    ...subject,
    code: kindOf(code ?? ''),
    detail: messageOf(error),
    systemCode: code ?? null,
  });
}

function kindOf(code: string): KubeErrorCode {
  // Node's HTTP parser; zlib.
  if (code.startsWith('HPE_') || code.startsWith('Z_')) return 'bad-answer';
  // A header or a path that HTTP cannot carry.
  if (code === 'ERR_INVALID_CHAR' || code === 'ERR_UNESCAPED_CHARACTERS') return 'invalid';
  return 'unreachable';
}

/** Several addresses of one name fail together: the message of that error is empty, each of its errors has one. */
function messageOf(error: Error): string {
  // What Node says of an answer that broke off.
  if (error.message === 'aborted') return 'the connection was cut';
  const each =
    error instanceof AggregateError ? error.errors.map((one) => String((one as Error).message)) : [];
  return each.length > 0 ? each.join('; ') : error.message;
}
