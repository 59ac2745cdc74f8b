// What can go wrong between us and a Kubernetes API, under stable codes. A message names verb, resource and place, and what the
// server said where that is safe; it never holds a credential or the body of a request.
import { shownTarget } from './api-path.ts';

export type KubeErrorCode =
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'already-exists'
  | 'gone'
  | 'invalid'
  | 'too-many-requests'
  | 'server-error'
  | 'unreachable'
  | 'timeout'
  | 'bad-answer';

/** Saying the same again, later, may help. A conflict is not among them: what was read must be read again first. */
const RETRYABLE: ReadonlySet<KubeErrorCode> = new Set([
  'too-many-requests',
  'server-error',
  'unreachable',
  'timeout',
  'bad-answer',
]);

export interface KubeErrorFacts {
  readonly code: KubeErrorCode;
  readonly verb: string;
  /** Without the query: a continue token or a selector helps nobody. */
  readonly path: string;
  /** What happened, for a person. */
  readonly detail: string;
  readonly status?: number | null;
  readonly reason?: string | null;
  readonly retryAfterMs?: number | null;
  readonly systemCode?: string | null;
}

const MAX_DETAIL = 300;

export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  /** Of HTTP; null when there was no answer. */
  readonly status: number | null;
  /** `reason` of the API's Status object, such as `AlreadyExists`. */
  readonly reason: string | null;
  readonly retryAfterMs: number | null;
  /** Of Node, where there was no answer: `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
  readonly systemCode: string | null;
  readonly verb: string;
  readonly path: string;

  constructor({
    code,
    verb,
    path,
    detail,
    status = null,
    reason = null,
    retryAfterMs = null,
    systemCode = null,
  }: KubeErrorFacts) {
    const shown = shownDetail(detail);
    super(`${code}: cannot ${verb} ${shownTarget(path)}${shown === '' ? '' : `: ${shown}`}`);
    this.code = code;
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.systemCode = systemCode;
    this.verb = verb;
    this.path = path;
  }

  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

/** One line, bounded: whoever answers must not be able to forge a log line or to fill the log. */
function shownDetail(detail: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  const line = detail.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL)}…` : line;
}
