// Logs evicted connections of the admin port and the health port: per port at most one line in ten seconds, with their number.
import type { Logger } from './logger.ts';

const WINDOW_MS = 10_000;

export class EvictionLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #ports = new Map<string, { saidMs: number; evicted: number }>();

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  /** `sources`: the addresses of the connections, at least one. */
  write(port: string, sources: readonly string[]): void {
    const state = this.#ports.get(port) ?? { saidMs: Number.NEGATIVE_INFINITY, evicted: 0 };
    this.#ports.set(port, state);
    state.evicted += sources.length;
    const now = this.#now();
    if (now - state.saidMs < WINDOW_MS) return;
    const { evicted } = state;
    state.saidMs = now;
    state.evicted = 0;
    this.#logger.warn({ port, source: mostFrequent(sources), evicted }, 'port is full: connections evicted');
  }
}

function mostFrequent(sources: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const source of sources) counts.set(source, (counts.get(source) ?? 0) + 1);
  const [[source] = ['']] = [...counts].sort(([, one], [, other]) => other - one);
  return source;
}
