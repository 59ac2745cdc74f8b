// Converts the bytes of an answer into a value, the events of a watch, or an error. Sizes are bounded. Errors never quote the bytes
// of an invalid body, because it can be a Secret.
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { KubeconfigError } from '../credentials/kubeconfig-error.ts';
import { KubeError, type KubeErrorCode, type KubeErrorFacts } from '../kube-error.ts';
import { isRecord, type WatchEvent } from '../kube-object.ts';
import { refusalError, watchError } from './api-status.ts';
import type { CallSubject } from './call-limits.ts';
import { LineTooLong, WatchLines } from './watch-lines.ts';

/** The error reason if an answer exceeds the caller's limit. A request for fewer objects can succeed. */
export const TOO_LARGE = 'AnswerTooLarge';

/** Enough for any Status object. */
const MAX_REFUSAL_BYTES = 1024 * 1024;
/** An object has at most 1.5 MiB in etcd. JSON and managed fields make it larger, but not ten times as large. */
const MAX_WATCH_LINE_BYTES = 16 * 1024 * 1024;

export async function wholeBody(
  response: IncomingMessage,
  maxBytes: number,
  subject: CallSubject,
): Promise<string> {
  const zipped = response.headers['content-encoding'] === 'gzip';
  // `pipeline` requires a callback. It does nothing, because the reader of the stream gets the errors.
  const stream = zipped ? pipeline(response, createGunzip(), () => {}) : response;
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBytes) {
      response.destroy();
      const detail = `the answer is larger than ${maxBytes} bytes`;
      throw badAnswer(subject, detail, { reason: TOO_LARGE, status: response.statusCode ?? null });
    }
    parts.push(part);
  }
  return Buffer.concat(parts, length).toString('utf8');
}

/** The value in a successful answer. */
export function valueIn(response: IncomingMessage, body: string, subject: CallSubject): unknown {
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    // The parser's message quotes the text.
    const type = response.headers['content-type'] ?? 'unknown';
    const detail = `the answer is not JSON: ${body.length} characters of type ${type}`;
    throw badAnswer(subject, detail, { status: response.statusCode ?? null });
  }
}

export function bodyOfRefusal(response: IncomingMessage, subject: CallSubject): Promise<string> {
  return wholeBody(response, MAX_REFUSAL_BYTES, subject);
}

/** Throws if the answer is not successful. Removes `secrets` from the message, in case the server echoes them. */
export async function requireSuccess(
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
    // Plain text, for example from a proxy in between.
  }
  throw refusalError({ ...subject, status, body, retryAfter: response.headers['retry-after'] });
}

/** Calls `onBytes` for every received chunk. */
export async function* watchEvents(
  response: IncomingMessage,
  subject: CallSubject,
  onBytes: () => void,
): AsyncGenerator<WatchEvent, void, void> {
  const lines = new WatchLines(MAX_WATCH_LINE_BYTES);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    onBytes();
    for (const line of lines.push(chunk)) yield eventIn(line, subject);
  }
  if (lines.pending > 0) {
    throw badAnswer(subject, `the watch ended ${lines.pending} bytes into a line`);
  }
}

const badAnswer = (
  subject: CallSubject,
  detail: string,
  facts: Partial<KubeErrorFacts> = { status: 200 },
): KubeError => new KubeError({ ...subject, code: 'bad-answer', detail, ...facts });

function eventIn(line: string, subject: CallSubject): WatchEvent {
  let event: unknown = null;
  try {
    event = JSON.parse(line);
  } catch {
    // `event` stays null and is rejected below
  }
  if (!isRecord(event) || typeof event.type !== 'string') {
    throw badAnswer(subject, `the watch sent ${line.length} characters that are not an event`);
  }
  if (event.type === 'ERROR') throw watchError(subject.path, event.object);
  return { type: event.type, object: event.object };
}

/** Converts any failure of a call into a KubeError. An error that is a bug of ours is returned unchanged. */
export function callError(error: unknown, subject: CallSubject): unknown {
  if (error instanceof KubeError) return error;
  if (error instanceof KubeconfigError)
    return new KubeError({ ...subject, code: 'unauthorized', detail: error.message });
  if (error instanceof LineTooLong) return badAnswer(subject, `a line of the watch has ${error.message}`);
  if (!(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  // A proxy's agent throws a plain Error. Any other error without a code is a bug.
  if (typeof code !== 'string' && error.constructor !== Error) return error;
  return new KubeError({
    ...subject,
    code: kindOf(code ?? ''),
    detail: messageOf(error),
    systemCode: code ?? null,
  });
}

function kindOf(code: string): KubeErrorCode {
  // HPE_: Node's HTTP parser. Z_: zlib.
  if (code.startsWith('HPE_') || code.startsWith('Z_')) return 'bad-answer';
  // A header or a path that is not valid in HTTP.
  if (code === 'ERR_INVALID_CHAR' || code === 'ERR_UNESCAPED_CHARACTERS') return 'invalid';
  return 'unreachable';
}

/** If all addresses of a name fail, Node throws an AggregateError with an empty message. Its inner errors have messages. */
function messageOf(error: Error): string {
  // This is Node's message for an incomplete answer.
  if (error.message === 'aborted') return 'the connection was cut';
  const each =
    error instanceof AggregateError ? error.errors.map((one) => String((one as Error).message)) : [];
  return each.length > 0 ? each.join('; ') : error.message;
}
