// The connection pools for one endpoint: a few shared connections for plain requests, a few for urgent requests, and one for each
// open watch. Independent of credentials and of the API. Returns HTTP answers with unread bodies.
import type { Agent, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { ApiEndpoint } from './api-endpoint.ts';

// `import` would read every export, and the export `WebSocket` loads undici and HTTP/2 with their dependencies, which costs 2 MB.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

export interface HttpQuestion {
  readonly method: string;
  /** Relative to the server's base path, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | null;
  readonly isWatch: boolean;
  /** Uses other connections than plain requests, which may all hang. */
  readonly isUrgent: boolean;
  /** Aborts the call at any time. The reader of the answer gets the signal's reason, if Node passes it on. */
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly response: IncomingMessage;
  /** The connection was idle before, so the server may have closed it just when the request began. */
  readonly reused: boolean;
}

/** The writes of a turn run in parallel, but must not overload the API server. */
const MAX_PLAIN = 8;
/** Added to the plain connections. Each opens on demand and closes when idle. */
const MAX_URGENT = 12;
export const MAX_WATCHES = 64;
/** Below the API server's idle timeout of 90 s, and below the 60 s of most load balancers. */
const IDLE_CONNECTION_MS = 50_000;
/** Idle time before the first TCP keepalive probe. libuv then sends ten probes, one a second: a dead peer is detected after 25 s. */
const TCP_KEEPALIVE_MS = 15_000;

export class Connections {
  readonly endpoint: ApiEndpoint;
  readonly #host: string;
  readonly #port: number;
  readonly #basePath: string;
  readonly #plain: Agent;
  readonly #urgent: Agent;
  readonly #watches: Agent;

  constructor(endpoint: ApiEndpoint) {
    const url = new URL(endpoint.server);
    this.endpoint = endpoint;
    this.#host = url.hostname.replace(/^\[|\]$/g, '');
    this.#port = Number(url.port) || (endpoint.tls === null ? 80 : 443);
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#plain = agentFor(endpoint, MAX_PLAIN);
    // With a proxy, one agent carries all three kinds.
    this.#urgent = endpoint.agent === null ? agentFor(endpoint, MAX_URGENT) : this.#plain;
    this.#watches = endpoint.agent === null ? agentFor(endpoint, MAX_WATCHES) : this.#plain;
  }

  /** Rejects with Node's own error if there is no answer. */
  ask({ method, path, headers, body, isWatch, isUrgent, signal }: HttpQuestion): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const options: RequestOptions = {
        host: this.#host,
        port: this.#port,
        method,
        path: `${this.#basePath}${path}`,
        headers: headers as Record<string, string | string[]>,
        agent: this.#agent(isWatch, isUrgent),
      };
      const send = this.endpoint.tls === null ? http.request : https.request;
      const request = send(options);
      const abort = () => request.destroy(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      request.once('close', () => signal.removeEventListener('abort', abort));
      // This handler is never removed: a connection that fails after the answer began also emits its error here.
      request.on('error', (error) => reject(Object.assign(error, { reused: request.reusedSocket })));
      request.once('response', (response) => resolve({ response, reused: request.reusedSocket }));
      request.end(body);
    });
  }

  #agent(isWatch: boolean, isUrgent: boolean): Agent {
    if (isWatch) return this.#watches;
    return isUrgent ? this.#urgent : this.#plain;
  }

  /** For a replaced endpoint: closes idle connections. Running requests continue, and their connections close after them. */
  retire(): void {
    for (const agent of new Set([this.#plain, this.#urgent, this.#watches])) {
      Object.assign(agent, { keepAlive: false });
      for (const sockets of Object.values(agent.freeSockets))
        for (const socket of sockets ?? []) socket.destroy();
    }
  }

  destroy(): void {
    this.#plain.destroy();
    this.#urgent.destroy();
    this.#watches.destroy();
  }
}

function agentFor({ tls, agent }: ApiEndpoint, maxSockets: number): Agent {
  if (agent !== null) {
    // client-node creates the agent for a proxy without keep-alive.
    return Object.assign(agent, {
      keepAlive: true,
      keepAliveMsecs: TCP_KEEPALIVE_MS,
      maxSockets: MAX_PLAIN + MAX_URGENT + MAX_WATCHES,
    });
  }
  const shared = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEPALIVE_MS,
    timeout: IDLE_CONNECTION_MS,
    maxSockets,
  };
  if (tls === null) return new http.Agent(shared);
  const { secureContext, serverName, rejectUnauthorized } = tls;
  return new https.Agent({
    ...shared,
    secureContext,
    rejectUnauthorized,
    ...(serverName === null ? {} : { servername: serverName }),
  });
}
