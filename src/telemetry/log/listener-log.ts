// Logs each change of an additional listener once, by comparing two turns of the control loop. Single members are not logged: there
// may be thousands, and the state of the listener shows whether it still serves.
import type { ListenerState, ListenerStatus } from '../../control/desired/listener-status.ts';
import { memberCounts } from '../status/listener-view.ts';
import type { Logger } from './logger.ts';

/** Logged as a warning: an operator must edit the listener. A listener that leaves `serving` is a warning too. */
const LOUD: ReadonlySet<ListenerState> = new Set(['invalid']);

export class ListenerLog {
  readonly #logger: Logger;
  #seen = new Map<string, ListenerStatus>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  write(listeners: readonly ListenerStatus[]): void {
    const now = new Map(listeners.map((listener) => [`${listener.namespace}/${listener.name}`, listener]));
    for (const [key, status] of now) {
      const before = this.#seen.get(key);
      if (before !== undefined && !isNews(before, status)) continue;
      const {
        namespace,
        name: listener,
        cluster,
        protocol,
        port,
        listenPort,
        state,
        reason,
        detail,
      } = status;
      const { ready, notReady, ignored } = memberCounts(status.members);
      const facts = {
        ...{ listener, namespace, cluster, protocol, port, listenPort },
        ...{ state, was: before?.state ?? null, reason, detail, ready, notReady, ignored },
      };
      const isLoud = LOUD.has(state) || (before?.state === 'serving' && state !== 'serving');
      this.#logger[isLoud ? 'warn' : 'info'](
        facts,
        before === undefined ? 'listener found' : 'listener changed',
      );
    }
    for (const [key, { namespace, name: listener, cluster, state }] of this.#seen) {
      if (!now.has(key)) this.#logger.info({ listener, namespace, cluster, was: state }, 'listener gone');
    }
    this.#seen = now;
  }
}

/** A change in member counts alone is not logged. */
function isNews(before: ListenerStatus, now: ListenerStatus): boolean {
  if (before.state !== now.state || before.listenPort !== now.listenPort) return true;
  return before.reason !== now.reason && now.state !== 'serving';
}
