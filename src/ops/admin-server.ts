// Serves health, metrics and status over HTTP. It only reads: nothing can be changed through it, and no page waits for
// anything without a deadline of its own.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Endpoint } from '../config/values.ts';
import { descriptorOf } from '../netns/descriptor.ts';

export interface AdminPage {
  readonly status: number;
  readonly type: 'text' | 'json' | 'metrics';
  readonly body: string;
}

export interface AdminRequest {
  /** What stands in the place of `<…>` in the page's path; empty where there is none. */
  readonly subject: string;
  readonly query: URLSearchParams;
}

/** By path; one that ends with `/<…>` has a page for every single word there. */
export type AdminPages = Readonly<Record<string, (request: AdminRequest) => AdminPage | Promise<AdminPage>>>;

// Not by `import`, which looks at every export: that of `WebSocket` loads undici, HTTP/2 and all they need, 2 MB of them.
const { createServer } = process.getBuiltinModule('node:http');

const TYPES: Record<AdminPage['type'], string> = {
  text: 'text/plain; charset=utf-8',
  json: 'application/json; charset=utf-8',
  metrics: 'text/plain; version=0.0.4; charset=utf-8',
};

export class AdminServer {
  readonly #server: Server;
  readonly #pages: AdminPages;

  constructor(pages: AdminPages) {
    this.#pages = pages;
    this.#server = createServer(
      // Small bounds: the clients are kubelet, Prometheus and a person with curl.
      { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 16 * 1024 },
      (request, response) => void this.#answer(request, response),
    );
    this.#server.maxConnections = 128;
  }

  /** `fd`: a socket that listens already, in place of the endpoint. */
  listen(endpoint: Endpoint, fd?: number): Promise<{ address: string; port: number }> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const { host, port: wanted } = endpoint;
      const where = fd !== undefined ? { fd } : { port: wanted, ...(host !== undefined && { host }) };
      this.#server.listen(where, () => {
        this.#server.off('error', reject);
        this.#server.on('error', () => {}); // accepting one connection failed: the next may succeed
        const { address, port } = this.#server.address() as AddressInfo;
        resolve({ address, port });
      });
    });
  }

  /** To hand the socket over; it stays ours. */
  get fd(): number {
    return descriptorOf(this.#server);
  }

  /** Accepts nothing more: whoever the socket was handed to does. What is being answered is answered. */
  letGo(): void {
    this.#server.close();
    this.#server.closeIdleConnections();
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
    const found = this.#find(path);
    let page: AdminPage;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      page = { status: 405, type: 'text', body: 'only GET\n' };
    } else if (found !== null) {
      page = await this.#render(found.key, { subject: found.subject, query: new URLSearchParams(query) });
    } else {
      page = { status: 404, type: 'text', body: `there are: ${Object.keys(this.#pages).join(' ')}\n` };
    }
    response.writeHead(page.status, {
      'Content-Type': TYPES[page.type],
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    });
    response.end(request.method === 'HEAD' ? undefined : page.body);
  }

  #find(path: string): { readonly key: string; readonly subject: string } | null {
    if (Object.hasOwn(this.#pages, path) && !path.endsWith('>')) return { key: path, subject: '' };
    const end = path.lastIndexOf('/') + 1;
    const subject = decoded(path.slice(end));
    if (subject === null || subject === '') return null;
    const key = Object.keys(this.#pages).find(
      (each) => each.endsWith('>') && each.startsWith(`${path.slice(0, end)}<`),
    );
    return key === undefined ? null : { key, subject };
  }

  async #render(key: string, request: AdminRequest): Promise<AdminPage> {
    try {
      return await (this.#pages[key] as AdminPages[string])(request);
    } catch (error) {
      return { status: 500, type: 'text', body: `${String(error)}\n` };
    }
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
