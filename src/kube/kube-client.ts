// Requests and watches against one Kubernetes API, bounded in size and time. Credentials can rotate while it runs. It retries a
// request only if a retry is certainly harmless. An error never contains a credential or a body.
import { existsSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type HttpMethod, verbOf } from './api-path.ts';
import { Credentials } from './credentials/credentials.ts';
import { kubeconfigPlace } from './credentials/kubeconfig-place.ts';
import type { ApiEndpoint, ApiIdentity } from './http/api-endpoint.ts';
import { CallLimits, type CallSubject } from './http/call-limits.ts';
import { Connections, type HttpAnswer, MAX_WATCHES } from './http/connections.ts';
import {
  bodyOfRefusal,
  callError,
  requireSuccess,
  valueIn,
  watchEvents,
  wholeBody,
} from './http/http-answer.ts';
import type { WatchEvent } from './kube-object.ts';

export type KubeQuery = Readonly<Record<string, string | number | boolean | undefined>>;

export interface KubeRequest {
  readonly method: HttpMethod;
  /** Encoded, as `resourcePath` builds it. */
  readonly path: string;
  readonly query?: KubeQuery;
  readonly body?: unknown;
  /** Required for a PATCH: the type of the patch in its body. */
  readonly patch?: 'merge';
  readonly accept?: string;
  /** Uses separate connections, so it never waits behind requests that hang. For rare requests that other work waits for. */
  readonly urgent?: boolean;
  /** For the whole call, from the first byte of the handshake to the last byte of the answer. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
  /** Called with the headers of the final answer, also if it is an error. */
  readonly onHeaders?: (headers: IncomingHttpHeaders) => void;
}

export interface KubeWatchRequest {
  readonly path: string;
  readonly query: KubeQuery;
  readonly accept?: string;
  /** Longest time without a byte. Bookmarks count as bytes. */
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal;
  /** The server accepted the watch: from now on silence means that nothing changes. */
  readonly onOpen?: () => void;
}

export interface KubeClient {
  /** Throws KubeError, or the signal's reason if the signal ended the call. */
  request<T = unknown>(request: KubeRequest): Promise<T>;
  /** One watch. It ends when the server ends it. Throws KubeError, also for an ERROR event. */
  watch(request: KubeWatchRequest): AsyncIterable<WatchEvent>;
  readonly server: string;
  /** How this client authenticates, for messages. Never a secret. */
  readonly identity: string;
  /** HTTP requests by verb, including retries. */
  callCounts(): ReadonlyMap<string, number>;
  /** Aborts all running calls. */
  close(): Promise<void>;
}

export interface KubeClientOptions {
  /** A path; null: search KUBECONFIG, the service account of the Pod, ~/.kube/config, in this order. */
  readonly kubeconfig: string | null;
  /** The environment of the process; the caller passes it in. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userAgent?: string;
  /** Called when credentials become unreadable (the old ones stay in use), and with null when they are readable again. */
  readonly onCredentialProblem?: (problem: string | null) => void;
  readonly serviceAccountDirectory?: string;
}

/** Throws KubeconfigError. Does not check whether the API is reachable. */
export async function openKubeClient(options: KubeClientOptions): Promise<HttpKubeClient> {
  const { environment, onCredentialProblem, userAgent = 'kube-client (node)' } = options;
  const place = kubeconfigPlace({ ...options, exists: existsSync });
  const credentials = await Credentials.open({
    place,
    environment,
    ...(onCredentialProblem === undefined ? {} : { onProblem: onCredentialProblem }),
  });
  return new HttpKubeClient(credentials, userAgent);
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** Until the headers of a watch arrive. */
const WATCH_OPEN_TIMEOUT_MS = 30_000;

interface Call extends CallSubject {
  readonly method: HttpMethod;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  readonly isWatch: boolean;
  readonly isUrgent: boolean;
  readonly onHeaders: ((headers: IncomingHttpHeaders) => void) | null;
}

export class HttpKubeClient implements KubeClient {
  readonly #credentials: Credentials;
  readonly #userAgent: string;
  readonly #counts = new Map<string, number>();
  readonly #closed = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #connections: Connections | null = null;
  #watches = 0;

  constructor(credentials: Credentials, userAgent: string) {
    this.#credentials = credentials;
    this.#userAgent = userAgent;
  }

  get server(): string {
    return this.#credentials.server;
  }

  get identity(): string {
    return this.#credentials.identity;
  }

  callCounts(): ReadonlyMap<string, number> {
    return new Map(this.#counts);
  }

  async request<T = unknown>(request: KubeRequest): Promise<T> {
    const call = callOf(request, false);
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = DEFAULT_MAX_BYTES } = request;
    const limits = new CallLimits(call, request.signal, this.#closed.signal);
    const ended = this.#begin();
    try {
      limits.restart(timeoutMs, 'no complete answer arrived');
      const response = await this.#answer(call, limits.signal);
      return valueIn(response, await wholeBody(response, maxBytes, call), call) as T;
    } catch (error) {
      throw limits.signal.aborted ? limits.signal.reason : callError(error, call);
    } finally {
      limits.end();
      ended();
    }
  }

  async *watch(request: KubeWatchRequest): AsyncGenerator<WatchEvent, void, void> {
    const { signal, idleTimeoutMs, onOpen } = request;
    const call = callOf({ ...request, method: 'GET', query: { ...request.query, watch: true } }, true);
    // Further watches would wait for a free connection, without an error.
    if (this.#watches >= MAX_WATCHES) throw new Error(`more than ${MAX_WATCHES} watches at a time`);
    this.#watches++;
    const limits = new CallLimits(call, signal, this.#closed.signal);
    const ended = this.#begin();
    let response: IncomingMessage | null = null;
    try {
      limits.restart(WATCH_OPEN_TIMEOUT_MS, 'no answer arrived');
      response = await this.#answer(call, limits.signal);
      const onBytes = () => limits.restart(idleTimeoutMs, 'no byte and no bookmark arrived');
      onBytes();
      onOpen?.();
      yield* watchEvents(response, call, onBytes);
    } catch (error) {
      throw limits.signal.aborted ? limits.signal.reason : callError(error, call);
    } finally {
      response?.destroy();
      limits.end();
      this.#watches--;
      ended();
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#running);
    this.#connections?.destroy();
  }

  /** Registers a running call, until the returned function is called. */
  #begin(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.add(promise);
    return () => {
      this.#running.delete(promise);
      resolve();
    };
  }

  /** Returns a successful answer. After 401 it reads the credentials again and retries once. */
  async #answer(call: Call, signal: AbortSignal): Promise<IncomingMessage> {
    let identity = await this.#credentials.current();
    let { response } = await this.#ask(call, identity, signal);
    if (response.statusCode === 401) {
      await bodyOfRefusal(response, call);
      identity = await this.#credentials.refresh();
      response = (await this.#ask(call, identity, signal)).response;
    }
    call.onHeaders?.(response.headers);
    await requireSuccess(response, identity.secrets, call);
    return response;
  }

  async #ask(call: Call, { endpoint, headers }: ApiIdentity, signal: AbortSignal): Promise<HttpAnswer> {
    const connections = this.#connectionsTo(endpoint);
    // The API server compresses answers over 128 KiB, in practice lists. In a compressed watch, events would wait in the
    // compressor's buffer.
    const zips = call.method === 'GET' && !call.isWatch && endpoint.compression;
    const question = {
      ...call,
      path: call.target,
      signal,
      headers: {
        ...call.headers,
        ...headers,
        'User-Agent': this.#userAgent,
        ...(zips ? { 'Accept-Encoding': 'gzip' } : {}),
      },
    };
    const ask = () => {
      this.#counts.set(call.verb, (this.#counts.get(call.verb) ?? 0) + 1);
      return connections.ask(question);
    };
    try {
      return await ask();
    } catch (error) {
      // A repeated read is harmless. A write may have reached the server.
      if (signal.aborted || call.method !== 'GET' || !isClosedWhenReused(error)) throw error;
      return ask();
    }
  }

  #connectionsTo(endpoint: ApiEndpoint): Connections {
    if (this.#connections?.endpoint === endpoint) return this.#connections;
    this.#connections?.retire();
    this.#connections = new Connections(endpoint);
    return this.#connections;
  }
}

/** The server closed an idle connection just when this client reused it. */
function isClosedWhenReused(error: unknown): boolean {
  const { reused, code } = error as { readonly reused?: boolean; readonly code?: string };
  return reused === true && (code === 'ECONNRESET' || code === 'EPIPE');
}

function callOf(request: KubeRequest, isWatch: boolean): Call {
  const { method, path, query = {}, body, patch, accept = 'application/json' } = request;
  if (!/^\/[\x21-\x7e]*$/.test(path) || /[?#]|\/\.{1,2}(?:\/|$)/.test(path))
    throw new TypeError('a path must be absolute, encoded and without a query');
  if ((method === 'PATCH') !== (patch !== undefined))
    throw new TypeError('`patch` is required for a PATCH and not allowed for other methods');
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const target = pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const headers: Record<string, string> = { Accept: accept };
  if (bytes !== null) {
    headers['Content-Type'] = patch === undefined ? 'application/json' : 'application/merge-patch+json';
    headers['Content-Length'] = String(bytes.length);
  }
  return {
    verb: isWatch ? 'watch' : verbOf(method, path),
    method,
    path,
    target,
    headers,
    body: bytes,
    isWatch,
    isUrgent: request.urgent ?? false,
    onHeaders: request.onHeaders ?? null,
  };
}

/** The part of a client for code that makes requests but no watches. */
export type Requester = Pick<KubeClient, 'request'>;
