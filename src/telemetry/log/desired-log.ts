// Logs what changed from one desired state to the next: clusters, additional listeners, problems of the sources. Each problem is
// logged once when it appears, each origin once when it has recovered.
import type { ClusterStatus } from '../../control/desired/cluster-status.ts';
import type { Desired } from '../../control/desired/desired-state.ts';
import type { ListenerStatus } from '../../control/desired/listener-status.ts';
import type { Problem } from '../../control/objects/problem.ts';
import type { Logger } from './logger.ts';
import { CLUSTERS, LISTENERS, StatusLog } from './status-log.ts';

export class DesiredLog {
  readonly #logger: Logger;
  readonly #clusterLog: StatusLog<ClusterStatus>;
  readonly #listenerLog: StatusLog<ListenerStatus>;
  #problems: readonly Problem[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#clusterLog = new StatusLog(logger, CLUSTERS);
    this.#listenerLog = new StatusLog(logger, LISTENERS);
  }

  /** `listenersChanged`: false saves the comparison of all listeners. */
  write({ clusters, listeners, problems }: Desired, listenersChanged: boolean): void {
    if (listenersChanged) this.#listenerLog.write(listeners);
    this.#clusterLog.write(clusters);
    const { appeared, recovered } = problemChanges(this.#problems, problems);
    this.#problems = problems;
    for (const { origin, reason } of appeared)
      this.#logger.warn({ origin, reason }, 'ignoring invalid input');
    for (const origin of recovered) this.#logger.info({ origin }, `${origin} recovered`);
  }
}

export interface ProblemChanges {
  readonly appeared: readonly Problem[];
  /** Origins that no longer have a problem. */
  readonly recovered: readonly string[];
}

/** Pure. */
export function problemChanges(before: readonly Problem[], now: readonly Problem[]): ProblemChanges {
  const known = new Set(before.map(({ origin, reason }) => `${origin}\0${reason}`));
  const troubled = new Set(now.map(({ origin }) => origin));
  return {
    appeared: now.filter(({ origin, reason }) => !known.has(`${origin}\0${reason}`)),
    recovered: [...new Set(before.map(({ origin }) => origin))].filter((origin) => !troubled.has(origin)),
  };
}
