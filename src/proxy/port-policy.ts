// Routes the connections of a listener's own port to the members of its pool, before any byte is read. Its only state is the
// cached answers for the current route. It never uses a socket.
import type { Backend, Route } from '../routing/route-table.ts';
import { AllowedSources } from './allowed-sources.ts';
import { ConnectionEnding, type PolicyFacts } from './connection-record.ts';
import { shareKey, slotGroup } from './connection-shares.ts';
import type { ConnectionReport, Decision, Policy, Question } from './engine.ts';
import type { Refusal } from './reasons.ts';

export interface PortPolicyOptions {
  /** Called for each connection, because the route can change while the port stays open. */
  readonly route: () => Route;
  readonly maxConnections: number;
  readonly onEnded: (ending: ConnectionEnding) => void;
  readonly onDialFailed: (backend: Backend, error: string) => void;
}

interface Answers {
  readonly route: Route;
  readonly routed: Decision;
  readonly notAllowed: Decision;
}

export class PortPolicy implements Policy {
  readonly #options: PortPolicyOptions;
  readonly #sources = new AllowedSources();
  #answers: Answers | null = null;

  constructor(options: PortPolicyOptions) {
    this.#options = options;
  }

  decide(question: Question): Decision {
    const route = this.#options.route();
    if (this.#answers?.route !== route) this.#answers = this.#answersOf(route);
    const { routed, notAllowed } = this.#answers;
    return route.pool === undefined || this.#sources.allows(route.pool, question.client.address)
      ? routed
      : notAllowed;
  }

  dialFailed(backend: Backend, error: string): void {
    this.#options.onDialFailed(backend, error);
  }

  ended(report: ConnectionReport): void {
    this.#options.onEnded(new ConnectionEnding(report, report.note instanceof PortNote ? report.note : null));
  }

  #answersOf(route: Route): Answers {
    const refused = (refusal: Refusal): Decision => ({ kind: 'close', note: new PortNote(route, refusal) });
    return {
      route,
      notAllowed: refused('source-not-allowed'),
      routed:
        route.backends.length === 0
          ? refused('no-healthy-backend')
          : {
              kind: 'candidates',
              backends: route.backends,
              balance: 'least-connections',
              skipBytes: 0,
              farewell: null,
              share: { key: shareKey(route), limit: this.#options.maxConnections, group: slotGroup(route) },
              note: new PortNote(route, null),
            },
    };
  }
}

/** Shared by all connections that get the same answer. */
class PortNote implements PolicyFacts {
  readonly source = null;
  readonly serverName = null;
  readonly route: Route;
  readonly refusal: Refusal | null;

  constructor(route: Route, refusal: Refusal | null) {
    this.route = route;
    this.refusal = refusal;
  }
}
