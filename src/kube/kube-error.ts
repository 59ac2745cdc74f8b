// Errors of Kubernetes API calls, with stable codes. A message names verb, resource and namespace, and quotes the server where that
// is safe. It never contains a credential or a request body.
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

export interface KubeErrorFacts {
  readonly code: KubeErrorCode;
  readonly verb: string;
  /** Without the query: a continue token or a selector does not help the reader. */
  readonly path: string;
  /** What happened, for the operator. */
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
  /** The HTTP status; null if there was no answer. */
  readonly status: number | null;
  /** `reason` from the API's Status object, such as `AlreadyExists`. */
  readonly reason: string | null;
  readonly retryAfterMs: number | null;
  /** Node's error code if there was no answer: `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
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
}

/** One line with a bounded length: a server must not be able to forge a log line or to fill the log. */
function shownDetail(detail: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this expression removes control characters
  const line = detail.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL)}…` : line;
}
