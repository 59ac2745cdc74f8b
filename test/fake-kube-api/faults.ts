// Injects faults between a client and its API server, for tests.
import type { RequestInfo } from './http/request-info.ts';
import type { WatchStream } from './http/watch-stream.ts';

export interface RequestMatch {
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly user?: string;
  readonly path?: RegExp;
}

export type FaultAnswer =
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly retryAfterSeconds?: number;
      readonly message?: string;
    }
  /** The request is read and never answered. */
  | { readonly kind: 'hang' }
  /** The connection breaks before the first byte of the answer. */
  | { readonly kind: 'cut' }
  | { readonly kind: 'body'; readonly text: string }
  /** The correct answer, after a delay. */
  | { readonly kind: 'delay'; readonly ms: number };

export interface Fault {
  readonly hits: number;
  remove(): void;
}

interface Planted {
  readonly match: RequestMatch;
  readonly answer: FaultAnswer;
  left: number;
  hits: number;
}

export class Faults {
  readonly #planted = new Set<Planted>();
  readonly #watches: ReadonlySet<WatchStream>;

  constructor({ watches }: { readonly watches: ReadonlySet<WatchStream> }) {
    this.#watches = watches;
  }

  /** From now on matching requests get this answer: all of them, or only the first `times`. */
  inject(match: RequestMatch, answer: FaultAnswer, { times = Number.POSITIVE_INFINITY } = {}): Fault {
    const planted: Planted = { match, answer, left: times, hits: 0 };
    this.#planted.add(planted);
    return {
      get hits() {
        return planted.hits;
      },
      remove: () => this.#planted.delete(planted),
    };
  }

  clear(): void {
    this.#planted.clear();
  }

  answerTo(request: RequestInfo, user: string): FaultAnswer | null {
    for (const planted of this.#planted) {
      if (planted.left <= 0 || !matches(planted.match, request, user)) continue;
      planted.left -= 1;
      planted.hits += 1;
      return planted.answer;
    }
    return null;
  }

  /** Each of these methods returns the number of watches that matched. */
  cutWatches(match: RequestMatch = {}): number {
    return this.#each(match, (watch) => watch.cut());
  }

  endWatches(match: RequestMatch = {}): number {
    return this.#each(match, (watch) => watch.end());
  }

  writeToWatches(text: string, match: RequestMatch = {}): number {
    return this.#each(match, (watch) => watch.write(text));
  }

  silenceWatches(match: RequestMatch = {}, silent = true): number {
    return this.#each(match, (watch) => watch.silence(silent));
  }

  #each(match: RequestMatch, act: (watch: WatchStream) => void): number {
    const met = [...this.#watches].filter(({ options }) => matches(match, options.request, options.user));
    for (const watch of met) act(watch);
    return met.length;
  }
}

function matches(match: RequestMatch, request: RequestInfo, user: string): boolean {
  if (match.user !== undefined && match.user !== user) return false;
  if (match.verb !== undefined && match.verb !== request.verb) return false;
  if (request.kind === 'path') {
    const asksForResource = match.resource !== undefined || match.group !== undefined;
    return !asksForResource && match.path?.test(request.path) !== false;
  }
  return (
    match.path === undefined &&
    (['group', 'resource', 'namespace', 'name'] as const).every(
      (field) => match[field] === undefined || match[field] === request[field],
    )
  );
}
