// Clients that connect without a pause while a story goes on, and what they saw: refused, reset and failed connections, and for how long.
import type { Client, Loop, Try } from '../e2e/client.ts';
import type { Bed } from './bed.ts';

/** Pause between two new connections, and the number of connections that stay open. */
const EVERY_MS = 50;
const LONG = 4;

export interface Seen {
  readonly connections: number;
  /** Failed connections by error, such as `ECONNREFUSED` or `ECONNRESET`. */
  readonly failed: Readonly<Record<string, number>>;
  /**
   * The longest time between the answers of two successful new connections, in seconds. The time from the last answer to the end of the
   * last try counts too, and without any answer the time of all tries.
   */
  readonly gapSeconds: number;
  /** The slowest successful new connection, in seconds. */
  readonly slowestSeconds: number;
  /** When each long connection that ended did so, in milliseconds since 1970, the earliest first. */
  readonly cuts: readonly number[];
  /** The number of long connections. */
  readonly long: number;
}

/** New connections to one cluster, one every 50 ms, and four that stay open with a request each second. */
export class Clients {
  readonly #new: Loop;
  readonly #long: Loop;
  #servedAt = Number.NaN;

  constructor(client: Client, kubeconfig: string) {
    this.#new = client.loop(kubeconfig, EVERY_MS);
    this.#long = client.hold(kubeconfig, LONG);
  }

  /** Waits until the clients are served. */
  async served(): Promise<void> {
    await this.#new.more(20);
    await this.#long.more(2 * LONG);
    this.#servedAt = Date.now();
  }

  /** Waits for this many more successful new connections. */
  async more(count: number): Promise<void> {
    await this.#new.more(count);
  }

  /** Ends the clients and prints what they saw. */
  async finish(story: string): Promise<Seen> {
    await this.#new.finish();
    await this.#long.finish();
    const seen = summary(this.#new.tries, this.#long.failures);
    console.log(`${story}: ${inWords(seen, this.#servedAt)}`);
    return seen;
  }

  async stop(): Promise<void> {
    if (!this.#new.running && !this.#long.running) return;
    await this.#new.stop();
    await this.#long.stop();
  }
}

/** `ends` are the failures of the long connections: a request that fails after a cut is part of it. */
export function summary(tries: readonly Try[], ends: readonly Try[]): Seen {
  const failed: Record<string, number> = {};
  for (const { ok, error = 'wrong answer' } of tries) if (!ok) failed[error] = (failed[error] ?? 0) + 1;
  const good = tries.filter(({ ok }) => ok);
  const answers = good.map(({ at, ms }) => at + ms);
  const begin = good.length > 0 ? [] : tries.map(({ at }) => at).slice(0, 1);
  const end = tries.length > 0 ? [Math.max(...tries.map(({ at, ms }) => at + ms))] : [];
  const times = [...begin, ...answers, ...end].sort((left, right) => left - right);
  const gaps = times.slice(1).map((at, index) => at - (times[index] as number));
  const cuts = new Map<number | undefined, number>();
  for (const { connection, at } of ends) cuts.set(connection, Math.min(at, cuts.get(connection) ?? at));
  return {
    connections: tries.length,
    failed,
    gapSeconds: Math.max(0, ...gaps) / 1000,
    slowestSeconds: Math.max(0, ...good.map(({ ms }) => ms)) / 1000,
    cuts: [...cuts.values()].sort((left, right) => left - right),
    long: LONG,
  };
}

/** One line. Times of cuts count from the beginning of the story. */
export function inWords(
  { connections, failed, gapSeconds, slowestSeconds, cuts, long }: Seen,
  from: number,
): string {
  const kinds = Object.entries(failed).map(([error, count]) => `${count} ${error}`);
  const lost = kinds.length === 0 ? '0 failed' : kinds.join(', ');
  const when = cuts.map((at) => `${((at - from) / 1000).toFixed(1)} s`).join(', ');
  const cut =
    cuts.length === 0
      ? `0 of ${long} long ones cut`
      : `${cuts.length} of ${long} long ones cut after ${when}`;
  const slow = `longest time without an answer ${gapSeconds.toFixed(1)} s, slowest ${slowestSeconds.toFixed(1)} s`;
  return `${connections} new connections, ${lost}, ${slow}; ${cut}`;
}

export interface StoryOptions<Name extends string> {
  /** Its title in the output. */
  readonly story: string;
  readonly clusters: readonly Name[];
  /** Clients are served again after it; true by default. */
  readonly servedAfter?: boolean;
}

/** Runs a story while clients connect to these clusters. It begins when all of them are served. Returns what the clients of each one saw. */
export async function whileConnected<Name extends string>(
  bed: Bed,
  { story, clusters, servedAfter = true }: StoryOptions<Name>,
  act: () => Promise<unknown>,
): Promise<Readonly<Record<Name, Seen>>> {
  const all = new Map<Name, Clients>();
  const each = <T>(use: (clients: Clients, name: Name) => Promise<T>): Promise<T[]> =>
    Promise.all([...all].map(([name, clients]) => use(clients, name)));
  try {
    for (const name of clusters) all.set(name, new Clients(bed.client, await bed.proxiedKubeconfig(name)));
    await each((clients) => clients.served());
    await act();
    if (servedAfter) await each((clients) => clients.more(20));
    const seen = await each(
      async (clients, name) => [name, await clients.finish(`${story}, ${name}`)] as const,
    );
    return Object.fromEntries(seen) as Record<Name, Seen>;
  } finally {
    await each((clients) => clients.stop());
  }
}
