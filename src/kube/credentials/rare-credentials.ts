// Rare kinds of access, which client-node implements: auth-providers (such as OIDC) and proxies. Loaded on first use, because
// client-node costs 85 MB of memory.

import type { Agent, RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { type ApiEndpoint, type ApiIdentity, endpointTls, type TlsFacts } from '../http/api-endpoint.ts';
import type { KubeAccess, RareAccess } from './kubeconfig.ts';
import { KubeconfigError } from './kubeconfig-error.ts';

export interface RareCredentialsOptions {
  readonly access: KubeAccess;
  readonly rare: RareAccess;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;

export class RareCredentials {
  readonly #access: KubeAccess;
  readonly #rare: RareAccess;
  readonly #timeoutMs: number;
  #config: KubeConfig | null = null;
  #made: { readonly facts: TlsFacts; readonly endpoint: ApiEndpoint } | null = null;
  /** At most one request at a time: while a provider hangs, it is not called again. */
  #asking: Promise<RequestOptions> | null = null;

  constructor({ access, rare, timeoutMs = TIMEOUT_MS }: RareCredentialsOptions) {
    this.#access = access;
    this.#rare = rare;
    this.#timeoutMs = timeoutMs;
  }

  async current(force: boolean): Promise<ApiIdentity> {
    if (force) this.#config = null;
    let options = await this.#options();
    if (
      this.#rare.proxied &&
      this.#made !== null &&
      !isDeepStrictEqual(this.#made.facts, this.#facts(options))
    ) {
      // KubeConfig caches its first proxy agent, with the certificates of that time: create a new KubeConfig.
      this.#config = null;
      options = await this.#options();
    }
    const authorization = authorizationOf(options);
    return {
      endpoint: this.#endpoint(options),
      headers: authorization === null ? {} : { Authorization: authorization },
      secrets: authorization === null ? [] : [authorization.replace(/^\w+ /, '')],
    };
  }

  #endpoint(options: RequestOptions): ApiEndpoint {
    const facts = this.#facts(options);
    // Not `isEqual` of routing: kube imports no other folder.
    if (this.#made !== null && isDeepStrictEqual(this.#made.facts, facts)) return this.#made.endpoint;
    const { server, compression } = this.#access;
    const tls = server.startsWith('http:') ? null : endpointTls(facts);
    const agent = this.#rare.proxied ? (options.agent as Agent) : null;
    this.#made = { facts, endpoint: { server, tls, compression, agent } };
    return this.#made.endpoint;
  }

  #facts({ ca, cert, key }: RequestOptions): TlsFacts {
    const bytes = (value: unknown) =>
      typeof value === 'string' || Buffer.isBuffer(value) ? Buffer.from(value) : null;
    const { serverName, skipVerify } = this.#access;
    return { ca: bytes(ca), cert: bytes(cert), key: bytes(key), serverName, skipVerify };
  }

  async #options(): Promise<RequestOptions> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new KubeconfigError('unreadable', `no credentials within ${this.#timeoutMs} ms`);
      timer = setTimeout(reject, this.#timeoutMs, error);
    });
    try {
      return await Promise.race([this.#asking, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask(): Promise<RequestOptions> {
    const options: RequestOptions = {};
    try {
      if (this.#config === null) {
        this.#config = new KubeConfig();
        this.#config.loadFromString(JSON.stringify(this.#rare.kubeconfig));
      }
      await this.#config.applyToHTTPSOptions(options);
      return options;
    } catch (error) {
      // Only the code or name: messages of plugins and identity providers can contain secrets.
      const { name, code } = error as NodeJS.ErrnoException;
      throw new KubeconfigError('unreadable', `client-node could not get credentials: ${code ?? name}`);
    }
  }
}

function authorizationOf({ headers, auth }: RequestOptions): string | null {
  const value = (headers as Record<string, unknown> | undefined)?.Authorization;
  if (typeof value === 'string') return value;
  return typeof auth === 'string' ? `Basic ${Buffer.from(auth).toString('base64')}` : null;
}
