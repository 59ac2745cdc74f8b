// Writes one log record per connection. Warnings are limited per reason, cluster and listener: clients that retry against a cluster
// that is down must not fill the disk. The field `suppressed` counts the records that were left out.
import type { ConnectionEnding, ConnectionRecord } from '../../proxy/connection-record.ts';
import type { Logger } from './logger.ts';

const WINDOW_MS = 10_000;
const WARNINGS_PER_WINDOW = 5;
const MAX_KEYS = 4096; // one per reason, cluster and listener; clearing the map only means a few more lines

interface Window {
  startedMs: number;
  count: number;
}

export class ConnectionLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  write(ending: Pick<ConnectionEnding, 'level' | 'reason' | 'cluster' | 'pool' | 'record'>): void {
    if (!this.#logger.isLevelEnabled(ending.level)) return;
    let suppressed: number | null = 0;
    if (ending.level === 'warn') {
      suppressed = this.#suppressed(`${ending.reason} ${ending.cluster} ${ending.pool}`);
      if (suppressed === null) return;
    }
    const record = ending.record();
    const { level, ...fields } = record;
    this.#logger[level](suppressed === 0 ? fields : { ...fields, suppressed }, message(record));
  }

  /** The number of warnings left out before this one; null when this one is left out too. */
  #suppressed(key: string): number | null {
    const now = this.#now();
    const window = this.#windows.get(key);
    if (window === undefined || now - window.startedMs >= WINDOW_MS) {
      if (this.#windows.size >= MAX_KEYS) this.#windows.clear();
      this.#windows.set(key, { startedMs: now, count: 1 });
      return window === undefined ? 0 : Math.max(0, window.count - WARNINGS_PER_WINDOW);
    }
    window.count += 1;
    return window.count <= WARNINGS_PER_WINDOW ? 0 : null;
  }
}

function message(record: ConnectionRecord): string {
  if (record.backend !== null) return 'connection ended';
  return record.outcome === 'alert-sent' ||
    record.outcome === 'closed' ||
    record.outcome.startsWith('refused')
    ? 'connection refused'
    : 'connection failed';
}
