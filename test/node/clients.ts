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
  /** From the first failed attempt to the end of the last one, in seconds. */
  readonly outageSeconds: number;
  /** The slowest successful new connection, in seconds. */
  readonly slowestSeconds: number;
  /** Long connections that ended, of those that were open. */
  readonly cut: number;
  readonly long: number;
  /** When the first long connection ended, in milliseconds since 1970; null: none did. */
  readonly firstCutMs: number | null;
}

/** New connections to one cluster, one every 50 ms, and four that stay open with a request each second. */
export class Clients {
  readonly #new: Loop;
  readonly #long: Loop;

  constructor(client: Client, kubeconfig: string) {
    this.#new = client.loop(kubeconfig, EVERY_MS);
    this.#long = client.hold(kubeconfig, LONG);
  }

  /** Waits until the clients are served. */
  async served(): Promise<void> {
    await this.#new.more(20);
    await this.#long.more(2 * LONG);
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
    console.log(`${story}: ${inWords(seen)}`);
    return seen;
  }

  async stop(): Promise<void> {
    if (!this.#new.running && !this.#long.running) return;
    await this.#new.stop();
    await this.#long.stop();
  }
}

function summary(tries: readonly Try[], cuts: readonly Try[]): Seen {
  const failures = tries.filter(({ ok }) => !ok);
  const failed: Record<string, number> = {};
  for (const { error = 'wrong answer' } of failures) failed[error] = (failed[error] ?? 0) + 1;
  const first = Math.min(...failures.map(({ at }) => at));
  const last = Math.max(...failures.map(({ at, ms }) => at + ms));
  const slowest = Math.max(0, ...tries.filter(({ ok }) => ok).map(({ ms }) => ms));
  return {
    connections: tries.length,
    failed,
    outageSeconds: failures.length === 0 ? 0 : (last - first) / 1000,
    slowestSeconds: slowest / 1000,
    cut: cuts.length,
    long: LONG,
    firstCutMs: cuts.length === 0 ? null : Math.min(...cuts.map(({ at }) => at)),
  };
}

function inWords({ connections, failed, outageSeconds, slowestSeconds, cut, long }: Seen): string {
  const kinds = Object.entries(failed).map(([error, count]) => `${count} ${error}`);
  const lost = kinds.length === 0 ? '0 failed' : `${kinds.join(', ')} within ${outageSeconds.toFixed(1)} s`;
  return `${connections} new connections, ${lost}, slowest ${slowestSeconds.toFixed(1)} s; ${cut} cuts of ${long} long ones`;
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
