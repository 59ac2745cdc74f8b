// Converts an error answer of the API (a Status object or any other body) into a KubeError. Pure.
import { pathParts } from '../api-path.ts';
import { KubeError, type KubeErrorCode } from '../kube-error.ts';
import { isRecord } from '../kube-object.ts';

export interface ApiRefusal {
  readonly verb: string;
  readonly path: string;
  readonly status: number;
  /** The parsed body, or its text. */
  readonly body: unknown;
  readonly retryAfter?: string | undefined;
}

export function refusalError({ verb, path, status, body, retryAfter }: ApiRefusal): KubeError {
  const facts = isRecord(body) ? body : {};
  const reason = typeof facts.reason === 'string' && facts.reason !== '' ? facts.reason : null;
  const details = isRecord(facts.details) ? facts.details : {};
  const seconds = typeof details.retryAfterSeconds === 'number' ? details.retryAfterSeconds : null;
  return new KubeError({
    code: codeOf(status, reason),
    verb,
    path,
    status,
    reason,
    retryAfterMs: retryAfterMs(retryAfter) ?? (seconds === null ? null : boundedMs(seconds)),
    detail: detailOf(path, status, reason, isRecord(body) ? facts.message : body),
  });
}

/** An ERROR event of a watch contains the same Status object as an error answer. */
export function watchError(path: string, object: unknown): KubeError {
  const code = isRecord(object) && typeof object.code === 'number' ? object.code : 500;
  return refusalError({ verb: 'watch', path, status: code, body: object });
}

function codeOf(status: number, reason: string | null): KubeErrorCode {
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'not-found';
    case 409:
      return reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
    case 410:
      return 'gone';
    case 429:
      return 'too-many-requests';
    case 408:
    case 504:
      return 'timeout';
  }
  // Servers also report an expired list or watch with other status codes.
  if (reason === 'Expired' || reason === 'Gone') return 'gone';
  if (status >= 500) return 'server-error';
  return status >= 400 ? 'invalid' : 'bad-answer';
}

function detailOf(path: string, status: number, reason: string | null, message: unknown): string {
  const head = reason === null ? `HTTP ${status}` : `HTTP ${status} ${reason}`;
  // Several API server versions quote a rejected Secret in the message, including its base64 data.
  if (pathParts(path).resource === 'secrets' && status !== 401 && status !== 403 && status !== 404)
    return head;
  return typeof message === 'string' && message !== '' ? `${head}: ${message}` : head;
}

/** Upper bound for a Retry-After: no server can make this client wait longer. */
const MAX_RETRY_AFTER_MS = 120_000;

const boundedMs = (seconds: number): number => Math.min(Math.max(0, seconds) * 1000, MAX_RETRY_AFTER_MS);

/** Seconds only: the API server never sends the date form, and a date would depend on the clock. */
function retryAfterMs(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header.trim()) ? boundedMs(Number(header)) : null;
}
