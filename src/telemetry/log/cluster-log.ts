// Logs each change of a cluster once, by comparing two turns of the control loop. A state that continues is not logged again.
import type { ClusterState, ClusterStatus } from '../../control/desired/cluster-status.ts';
import type { Logger } from './logger.ts';

/** Logged at info: on many sites this node cannot reach every cluster. A cluster that leaves `serving` is always a warning. */
const QUIET: ReadonlySet<ClusterState> = new Set([
  'serving',
  'unhealthy',
  'not-proxied',
  'pending',
  'no-netns',
]);

export class ClusterLog {
  readonly #logger: Logger;
  #seen = new Map<string, ClusterStatus>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  write(clusters: readonly ClusterStatus[]): void {
    const now = new Map(
      clusters.map((cluster) => [`${cluster.namespace}/${cluster.name}/${cluster.origin}`, cluster]),
    );
    for (const [key, { namespace, name: cluster, state, reason }] of now) {
      const before = this.#seen.get(key);
      if (before?.state === state && (before.reason === reason || state === 'serving')) continue;
      const facts = { cluster, namespace, state, was: before?.state ?? null, reason };
      const loud = before?.state === 'serving' || !QUIET.has(state);
      this.#logger[loud ? 'warn' : 'info'](facts, before === undefined ? 'cluster found' : 'cluster changed');
    }
    for (const [key, { namespace, name: cluster, state }] of this.#seen) {
      if (!now.has(key)) this.#logger.info({ cluster, namespace, was: state }, 'cluster gone');
    }
    this.#seen = now;
  }
}
