// Logs what changed about clusters between two turns, once each: a tired operator reads what happened, not what still is.
import type { ClusterState, ClusterStatus } from '../../control/desired/cluster-status.ts';
import type { Logger } from './logger.ts';

/** Not being reachable from this node is normal on many sites; a cluster that was served and no longer is, is not. */
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
