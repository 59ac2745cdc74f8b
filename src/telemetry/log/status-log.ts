// Logs each change of a cluster or of an additional listener once, by comparing two turns of the control loop. A state that continues is
// not logged again. Single members are not logged: there may be thousands, and the state of the listener shows whether it still serves.
import type { ClusterStatus } from '../../control/desired/cluster-status.ts';
import type { ListenerStatus } from '../../control/desired/listener-status.ts';
import { memberCounts } from '../status/listener-view.ts';
import type { LogFacts } from './log-fields.ts';
import type { Logger } from './logger.ts';

interface Rules<S> {
  readonly word: 'cluster' | 'listener';
  readonly keyOf: (status: S) => string;
  readonly namesOf: (status: S) => LogFacts;
  /** All facts of a line; `was` is the previous state. */
  readonly factsOf: (status: S, was: string | null) => LogFacts;
}

type Status = Pick<ClusterStatus | ListenerStatus, 'state' | 'reason'> &
  Partial<Pick<ListenerStatus, 'listenPort'>>;

export class StatusLog<S extends Status> {
  readonly #logger: Logger;
  readonly #rules: Rules<S>;
  #seen: ReadonlyMap<string, S> = new Map();

  constructor(logger: Logger, rules: Rules<S>) {
    this.#logger = logger;
    this.#rules = rules;
  }

  write(statuses: readonly S[]): void {
    const { word, keyOf, namesOf, factsOf } = this.#rules;
    const now = new Map(statuses.map((status) => [keyOf(status), status]));
    for (const [key, status] of now) {
      const before = this.#seen.get(key);
      if (before !== undefined && !isNews(before, status)) continue;
      const was = before?.state ?? null;
      this.#logger[levelOf(status, was)](
        factsOf(status, was),
        `${word} ${was === null ? 'found' : 'changed'}`,
      );
    }
    for (const [key, status] of this.#seen)
      if (!now.has(key)) this.#logger.info({ ...namesOf(status), was: status.state }, `${word} gone`);
    this.#seen = now;
  }
}

export const CLUSTERS: Rules<ClusterStatus> = {
  word: 'cluster',
  keyOf: ({ namespace, name, origin }) => `${namespace}/${name}/${origin}`,
  namesOf: ({ namespace, name: cluster }) => ({ cluster, namespace }),
  factsOf: (status, was) => {
    const { state, reason } = status;
    return { ...CLUSTERS.namesOf(status), state, was, reason };
  },
};

export const LISTENERS: Rules<ListenerStatus> = {
  word: 'listener',
  keyOf: ({ namespace, name }) => `${namespace}/${name}`,
  namesOf: ({ namespace, name: listener, cluster }) => ({ listener, namespace, cluster }),
  factsOf: (status, was) => {
    const { protocol, port, listenPort, state, reason, detail, members } = status;
    const { ready, notReady, ignored } = memberCounts(members);
    const names = { ...LISTENERS.namesOf(status), protocol, port, listenPort };
    return { ...names, state, was, reason, detail, ready, notReady, ignored };
  },
};

/** A change in member counts alone is not logged. */
function isNews(before: Status, now: Status): boolean {
  if (before.state !== now.state || before.listenPort !== now.listenPort) return true;
  return before.reason !== now.reason && now.state !== 'serving';
}

/** A warning if an operator must edit the object, or if it no longer serves. On many sites this node cannot reach every cluster. */
function levelOf({ state }: Status, was: string | null): 'warn' | 'info' {
  return state === 'invalid' || (was === 'serving' && state !== 'serving') ? 'warn' : 'info';
}
