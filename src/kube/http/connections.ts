// The connections to one endpoint: few for plain requests, all of them kept and shared, a few for those that must not wait behind them,
// and one for each open watch. It knows
// neither credentials nor the API; what it hands out is an HTTP answer whose body has not been read.
import type { Agent, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { ApiEndpoint } from './api-endpoint.ts';

// Not by `import`, which looks at every export: that of `WebSocket` loads undici, HTTP/2 and all they need, 2 MB of them.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

export interface HttpQuestion {
  readonly method: string;
  /** Below the server's own path, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | null;
  readonly isWatch: boolean;
  /** Not behind plain requests, which may all hang. */
  readonly isUrgent: boolean;
  /** Ends it at any time; the error it is given is what the answer's reader sees where Node allows it. */
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly response: IncomingMessage;
  /** On a connection that had been idle: the server may have closed it just when we began to write. */
  readonly reused: boolean;
}

/** Writes of a turn go out side by side, but an API server has others to serve. */
const MAX_PLAIN = 8;
/** Beside those. Each is made when it is needed, and closed when nobody has needed it for a while. */
const MAX_URGENT = 12;
export const MAX_WATCHES = 64;
/** Below the 90 s after which the API server closes idle connections, and below the minute of most load balancers. */
const IDLE_CONNECTION_MS = 50_000;
/** Idle time before TCP asks whether the peer lives. libuv then asks every second, ten times: dead after 25 s. */
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
    // The one of a proxy has room for all.
    this.#urgent = endpoint.agent === null ? agentFor(endpoint, MAX_URGENT) : this.#plain;
    this.#watches = endpoint.agent === null ? agentFor(endpoint, MAX_WATCHES) : this.#plain;
  }

  /** Rejects with Node's own error when there is no answer. */
  ask({ method, path, headers, body, isWatch, isUrgent, signal }: HttpQuestion): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const options: RequestOptions = {
        host: this.#host,
        port: this.#port,
        method,
        path: `${this.#basePath}${path}`,
        headers: headers as Record<string, string | string[]>,
        agent: isWatch ? this.#watches : isUrgent ? this.#urgent : this.#plain,
      };
      const send = this.endpoint.tls === null ? http.request : https.request;
      const request = send(options);
      const abort = () => request.destroy(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      request.once('close', () => signal.removeEventListener('abort', abort));
      // Stays on: a connection that fails after the answer began says so here too.
      request.on('error', (error) => reject(Object.assign(error, { reused: request.reusedSocket })));
      request.once('response', (response) => resolve({ response, reused: request.reusedSocket }));
      request.end(body);
    });
  }

  /** Nothing new begins here; what is under way goes on, and its connections close behind it. */
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

  /** Open now: for requests, for watches. */
  get count(): { readonly plain: number; readonly watches: number } {
    const plain = new Set([this.#plain, this.#urgent]);
    return {
      plain: [...plain].reduce((sum, agent) => sum + openSockets(agent), 0),
      watches: openSockets(this.#watches),
    };
  }
}

function agentFor({ tls, agent }: ApiEndpoint, maxSockets: number): Agent {
  if (agent !== null) {
    // Made by client-node for a proxy, without a thought of keeping connections.
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

const openSockets = (agent: Agent): number =>
  [agent.sockets, agent.freeSockets]
    .flatMap((pool) => Object.values(pool))
    .reduce((sum, list) => sum + (list?.length ?? 0), 0);
