// Routes TLS connections by server name: PROXY header (from trusted peers) → ClientHello → route table. Its only state is the
// prepared answers. It never uses a socket.
import { type BlockList, isIP } from 'node:net';
import { isEqual } from '../routing/changes.ts';
import type { Backend, Route, RouteTable } from '../routing/route-table.ts';
import { alertRecord } from '../tls/alert.ts';
import { type HelloProgress, newHelloProgress, parseClientHello } from '../tls/client-hello.ts';
import { AllowedSources } from './allowed-sources.ts';
import { ConnectionEnding, type PolicyFacts } from './connection-record.ts';
import { shareKey, slotGroup } from './connection-shares.ts';
import type { ConnectionReport, Decision, Peer, Policy, PreparedAnswer, Question } from './engine.ts';
import { parseProxyHeader } from './proxy-protocol.ts';
import type { Refusal } from './reasons.ts';

/** The facts that the policy collects about a connection. The engine carries them as `note`. */
export class ConnectionNote implements PolicyFacts {
  /** The client address from a trusted PROXY header. */
  source: Peer | null = null;
  serverName: string | null = null;
  route: Route | null = null;
  /** null: routed. */
  refusal: Refusal | null = null;
  headerBytes: number | null = null;
  /** null after the decision. */
  progress: HelloProgress | null = null;
}

export interface SniPolicyOptions {
  /** Called for each connection, because the table is replaced at run time. */
  readonly routes: () => RouteTable;
  /** Peers whose PROXY header is trusted. null: none. */
  readonly trustedProxies: BlockList | null;
  readonly maxConnectionsPerCluster: number;
  readonly onEnded: (ending: ConnectionEnding) => void;
  readonly onDialFailed: (backend: Backend, error: string) => void;
}

interface Prepared extends PreparedAnswer {
  readonly route: Route;
}

export class SniPolicy implements Policy {
  readonly #options: SniPolicyOptions;
  readonly #sources = new AllowedSources();
  #prepared: ReadonlyMap<string, Prepared> = new Map();

  constructor(options: SniPolicyOptions) {
    this.#options = options;
  }

  decide(question: Question): Decision {
    const note = question.note instanceof ConnectionNote ? question.note : new ConnectionNote();
    if (note.headerBytes === null) {
      const waiting = this.#readProxyHeader(question, note);
      if (waiting !== null) return waiting;
    }
    const skipBytes = note.headerBytes ?? 0;
    note.progress ??= newHelloProgress();
    const hello = parseClientHello(question.bytes.subarray(skipBytes), note.progress);
    if (hello.kind !== 'incomplete') note.progress = null; // saves memory: a connection keeps its note until it ends
    switch (hello.kind) {
      case 'incomplete':
        return { kind: 'more', minBytes: skipBytes + hello.minBytes, note };
      case 'invalid':
        return refuse(note, hello.reason, null);
      case 'no-server-name': {
        const route = this.#options.routes().defaultRoute;
        return route === null
          ? refuse(note, 'no-server-name', 'unrecognized_name')
          : this.#admitted(note, route, question, skipBytes);
      }
      case 'server-name': {
        note.serverName = hello.serverName;
        const route = this.#options.routes().byServerName.get(hello.serverName);
        return route === undefined
          ? refuse(note, 'unknown-server-name', 'unrecognized_name')
          : this.#admitted(note, route, question, skipBytes);
      }
    }
  }

  /**
   * The current answer for each name of the route table. A name has no prepared answer if it has no healthy backend, or if the answer
   * depends on the client's address. With trusted proxies no answer is prepared, because a PROXY header may come before the hello.
   */
  prepared(): ReadonlyMap<string, PreparedAnswer> {
    const prepared = new Map<string, Prepared>();
    if (this.#options.trustedProxies !== null) return prepared;
    for (const [name, route] of this.#options.routes().byServerName) {
      const known = this.#prepared.get(name);
      const answer = known !== undefined && isEqual(known.route, route) ? known : this.#prepare(name, route);
      if (answer !== null) prepared.set(name, answer);
    }
    this.#prepared = prepared;
    return prepared;
  }

  dialFailed(backend: Backend, error: string): void {
    this.#options.onDialFailed(backend, error);
  }

  ended(report: ConnectionReport): void {
    const note = report.note instanceof ConnectionNote ? report.note : null;
    this.#options.onEnded(new ConnectionEnding(report, note));
  }

  /** Returns null as soon as it is known where the hello starts. */
  #readProxyHeader(question: Question, note: ConnectionNote): Decision | null {
    const { trustedProxies } = this.#options;
    if (trustedProxies === null || !isAmong(trustedProxies, question.client.address)) {
      note.headerBytes = 0;
      return null;
    }
    const header = parseProxyHeader(question.bytes);
    switch (header.kind) {
      case 'incomplete':
        return { kind: 'more', minBytes: header.minBytes, note };
      case 'invalid':
        return refuse(note, `proxy-header-${header.reason}`, null);
      case 'absent': // legal: a load balancer's own health check, or a client on the same host
        note.headerBytes = 0;
        return null;
      case 'header':
        note.headerBytes = header.length;
        note.source = header.source ?? null;
        return null;
    }
  }

  #prepare(name: string, route: Route): Prepared | null {
    if (route.pool !== undefined && route.pool.allowedCidrs.length > 0) return null;
    const note = new ConnectionNote();
    note.serverName = name;
    const decision = this.#routed(note, route, 0);
    return decision.kind === 'candidates' ? { ...decision, note: Object.freeze(note), route } : null;
  }

  #admitted(note: ConnectionNote, route: Route, question: Question, skipBytes: number): Decision {
    const { address } = note.source ?? question.client;
    if (route.pool !== undefined && !this.#sources.allows(route.pool, address)) {
      note.route = route;
      return refuse(note, 'source-not-allowed', 'access_denied');
    }
    return this.#routed(note, route, skipBytes);
  }

  #routed(note: ConnectionNote, route: Route, skipBytes: number): Decision {
    note.route = route;
    if (route.backends.length === 0) return refuse(note, 'no-healthy-backend', 'internal_error');
    return {
      kind: 'candidates',
      backends: route.backends,
      ...(route.pool !== undefined && { balance: 'least-connections' }),
      skipBytes,
      farewell: alertRecord('internal_error'),
      share: { key: shareKey(route), limit: this.#options.maxConnectionsPerCluster, group: slotGroup(route) },
      note,
    };
  }
}

function isAmong(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function refuse(
  note: ConnectionNote,
  reason: Refusal,
  alert: 'unrecognized_name' | 'internal_error' | 'access_denied' | null,
): Decision {
  note.refusal = reason;
  return alert === null ? { kind: 'close', note } : { kind: 'alert', bytes: alertRecord(alert), note };
}
