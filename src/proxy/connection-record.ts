// Builds the one record of how a connection ended. The field names are stable: logs, metrics and tests read them. Pure.
import { endpointText } from '../routing/addresses.ts';
import type { Backend, Route } from '../routing/route-table.ts';
import type { ConnectionReport, Outcome, Peer } from './engine.ts';
import type { FailureReason, Refusal } from './reasons.ts';

export type RecordLevel = 'debug' | 'info' | 'warn' | 'error';

export interface ConnectionRecord {
  readonly level: RecordLevel;
  readonly listener: string;
  readonly client: string;
  /** The trusted proxy, if its PROXY header named the client. */
  readonly via: string | null;
  readonly serverName: string | null;
  readonly cluster: string | null;
  readonly namespace: string | null;
  /** The additional listener that served the connection, `<namespace>/<name>`. null is the cluster's API server. */
  readonly pool: string | null;
  readonly netns: string | null;
  readonly backend: string | null;
  readonly bytesFromClient: number;
  readonly bytesFromBackend: number;
  readonly durationMs: number;
  readonly outcome: Outcome;
  /** The cause: a word of reasons.ts, the outcome, or an error code. */
  readonly reason: string;
  /** The failed dials, in order: `<backend>: <code>`. */
  readonly failedDials: readonly string[];
}

/** The facts that a policy collects about a connection. */
export interface PolicyFacts {
  readonly source: Peer | null;
  readonly serverName: string | null;
  readonly route: Omit<Route, 'backends'> | null;
  readonly refusal: Refusal | null;
}

/** How a connection ended. The values for the metrics are available at once; `record()` builds the full record on demand. */
export class ConnectionEnding {
  readonly level: RecordLevel;
  readonly reason: string;
  readonly #report: ConnectionReport;
  readonly #facts: PolicyFacts | null;

  constructor(report: ConnectionReport, facts: PolicyFacts | null) {
    this.#report = report;
    this.#facts = facts;
    const { outcome } = report;
    this.reason = facts?.refusal ?? errorOf(report) ?? failureReason(outcome, this.pool) ?? outcome;
    this.level = levelOf(outcome, this.reason);
  }

  get outcome(): Outcome {
    return this.#report.outcome;
  }

  get cluster(): string | null {
    return this.#facts?.route?.cluster ?? null;
  }

  get namespace(): string | null {
    return this.#facts?.route?.namespace ?? null;
  }

  get pool(): string | null {
    return this.#facts?.route?.pool?.listener ?? null;
  }

  get backend(): Backend | null {
    return this.#report.backend;
  }

  get bytesFromClient(): number {
    return this.#report.bytesFromClient;
  }

  get bytesFromBackend(): number {
    return this.#report.bytesFromBackend;
  }

  get durationMs(): number {
    return this.#report.durationMs;
  }

  record(): ConnectionRecord {
    const report = this.#report;
    const peer = endpoint(report.client.address, report.client.port);
    const source = this.#facts?.source ?? null;
    return {
      level: this.level,
      listener: report.listener,
      client: source === null ? peer : endpoint(source.address, source.port),
      via: source === null ? null : peer,
      serverName: this.#facts?.serverName ?? null,
      cluster: this.cluster,
      namespace: this.namespace,
      pool: this.pool,
      netns: report.backend?.netns?.path ?? null,
      backend: report.backend === null ? null : endpoint(report.backend.address, report.backend.port),
      bytesFromClient: report.bytesFromClient,
      bytesFromBackend: report.bytesFromBackend,
      durationMs: Math.round(report.durationMs * 10) / 10,
      outcome: report.outcome,
      reason: this.reason,
      failedDials: report.attempts
        .filter((attempt) => attempt.error !== null)
        .map(({ backend, error }) => `${endpoint(backend.address, backend.port)}: ${error}`),
    };
  }
}

/** The message of an error that the policy threw, or the code of the last failed dial. */
function errorOf({ outcome, note, attempts }: ConnectionReport): string | null {
  if (outcome === 'policy-error') return String(note);
  return outcome === 'dial-failed' ? (attempts.at(-1)?.error ?? null) : null;
}

function failureReason(outcome: Outcome, pool: string | null): FailureReason | null {
  if (outcome === 'dial-failed') return 'no-candidate';
  // Our policies have two kinds of shares: one for each cluster, and one for each additional listener.
  if (outcome === 'refused-share') return pool === null ? 'cluster-connections' : 'listener-connections';
  return null;
}

/**
 * | connection                                             | level |
 * | ------------------------------------------------------ | ----- |
 * | relayed, including resets and timeouts (both normal)   | info  |
 * | scanner, health check or unknown name                  | debug |
 * | rejected: the cluster has no reachable backend         | warn  |
 * | rejected by one of our limits                          | warn  |
 * | rejected: the listener's owner does not allow it       | warn  |
 * | broken PROXY header from a trusted load balancer       | warn  |
 * | ended by a bug in our policy                           | error |
 */
function levelOf(outcome: Outcome, reason: string): RecordLevel {
  switch (outcome) {
    case 'finished':
    case 'client-reset':
    case 'backend-reset':
    case 'client-timeout':
    case 'backend-timeout':
    case 'drain-expired':
    case 'stopped':
      return 'info';
    case 'closed':
      // Only headers of trusted load balancers are parsed, so an invalid header is a configuration mistake.
      return reason.startsWith('proxy-header-') || isOurRefusal(reason) ? 'warn' : 'debug';
    case 'client-left':
    case 'hello-timeout':
    case 'hello-too-large':
      return 'debug';
    case 'evicted-hello':
      return 'warn';
    case 'alert-sent':
      return isOurRefusal(reason) ? 'warn' : 'debug';
    case 'dial-failed':
    case 'refused-connections':
    case 'refused-descriptors':
    case 'refused-dials':
    case 'refused-hello-memory':
    case 'refused-share':
    case 'refused-slots':
      return 'warn';
    case 'policy-error':
      return 'error';
  }
}

function isOurRefusal(reason: string): boolean {
  return reason === 'no-healthy-backend' || reason === 'source-not-allowed';
}

function endpoint(address: string, port: number): string {
  // '': the client disconnected before its address could be read.
  return address === '' ? 'unknown' : endpointText({ address, port });
}
