// The admin port and the health port of this process: which pages each has, and their servers.
import type { Endpoint } from '../../cli/config/values.ts';
import type { ReadyCheck } from '../../control/objects/ready-check.ts';
import type { AdminPort } from '../metrics/metrics.ts';
import { explain } from '../status/explain.ts';
import { explanationText } from '../status/explain-text.ts';
import type { StatusView } from '../status/status.ts';
import { type AdminPage, type AdminPages, AdminServer } from './admin-server.ts';
import { PageTurns } from './page-turns.ts';
import { readyPage } from './ready-page.ts';

export interface AdminPortsOptions {
  readonly admin: Endpoint;
  /** null: there is no health port. */
  readonly healthListen: Endpoint | null;
  /** For each of the two ports. */
  readonly maxConnections: number;
  /** Ready if all have passed. */
  readonly readyChecks: () => readonly ReadyCheck[];
  readonly metrics: () => Promise<string>;
  readonly status: () => Promise<StatusView>;
  /** An inherited socket for the port, if there is one. */
  readonly inherited: (port: AdminPort, endpoint: Endpoint) => number | undefined;
  /** Opens a port that another process may hold for some time. */
  readonly opened: <T>(
    flag: 'admin' | 'health-listen',
    endpoint: Endpoint,
    open: () => Promise<T>,
  ) => Promise<T>;
  /** Receives the source addresses of connections that were evicted because the port was full. */
  readonly onEvicted: (port: AdminPort, sources: readonly string[]) => void;
}

export class AdminPorts {
  readonly #options: AdminPortsOptions;
  readonly #turns = new PageTurns();
  readonly #servers = new Map<AdminPort, AdminServer>();

  constructor(options: AdminPortsOptions) {
    this.#options = options;
  }

  /** Opens both ports. Returns the address of the admin port. */
  async open(): Promise<{ address: string; port: number }> {
    const { admin, healthListen } = this.#options;
    const pages = this.#healthPages();
    if (healthListen !== null) await this.#serve('health', pages, healthListen);
    return this.#serve('admin', { ...pages, ...this.#statusPages() }, admin);
  }

  /** The listening sockets, for the handover to a successor process. */
  sockets(): readonly { readonly name: string; readonly fd: number }[] {
    return [...this.#servers].map(([name, { fd }]) => ({ name, fd }));
  }

  /** Stops accepting, because a successor process accepts on the same sockets. */
  stopAccepting(): void {
    for (const server of this.#servers.values()) server.stopAccepting();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #serve(name: AdminPort, pages: AdminPages, endpoint: Endpoint): Promise<{ address: string; port: number }> {
    const { maxConnections, inherited, opened, onEvicted } = this.#options;
    const fd = inherited(name, endpoint);
    return opened(name === 'health' ? 'health-listen' : name, endpoint, () => {
      const server = new AdminServer(pages, {
        // The kubelet and Prometheus may use any host name for the health port. Its pages reveal nothing about tenants' networks.
        anyHost: name === 'health',
        maxConnections,
        onEvicted: (sources) => onEvicted(name, sources),
      });
      this.#servers.set(name, server);
      return server.listen(endpoint, fd);
    });
  }

  #healthPages(): AdminPages {
    const { readyChecks, metrics } = this.#options;
    return {
      '/livez': () => textPage(200, 'ok\n'),
      '/readyz': ({ query }) => readyPage(readyChecks(), query.has('verbose')),
      '/metrics': () =>
        this.#turns.page('metrics', async () => ({ status: 200, type: 'metrics', body: await metrics() })),
    };
  }

  #statusPages(): AdminPages {
    const { status } = this.#options;
    return {
      '/status': () => this.#turns.page('status', async () => jsonPage(200, await status())),
      '/explain/<cluster>': ({ subject, query }) => {
        const isJson = query.get('format') === 'json';
        return this.#turns.page(`explain ${subject} ${isJson}`, async () => {
          const explanation = explain(await status(), subject);
          const code = explanation.kind === 'unknown' ? 404 : 200;
          return isJson ? jsonPage(code, explanation) : textPage(code, explanationText(explanation));
        });
      },
    };
  }
}

const textPage = (status: number, body: string): AdminPage => ({ status, type: 'text', body });
const jsonPage = (status: number, value: unknown): AdminPage => ({
  status,
  type: 'json',
  body: `${JSON.stringify(value, null, 2)}\n`,
});
