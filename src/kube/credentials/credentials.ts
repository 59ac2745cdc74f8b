// The endpoint and identity for the API server, always from the current files. Other programs rotate tokens, certificates and the
// kubeconfig itself at run time. If a file is unreadable, the previous credentials stay in use.
import { isDeepStrictEqual } from 'node:util';
import { type ApiEndpoint, type ApiIdentity, endpointTls, type TlsFacts } from '../http/api-endpoint.ts';
import { type ExecCredential, ExecPlugin } from './exec-plugin.ts';
import { FollowedFiles } from './followed-files.ts';
import { type KubeAccess, kubeAccess, type RareAccess, type Source } from './kubeconfig.ts';
import { KubeconfigError } from './kubeconfig-error.ts';
import type { KubeconfigPlace } from './kubeconfig-place.ts';
import type { RareCredentials } from './rare-credentials.ts';

export interface CredentialsOptions {
  readonly place: KubeconfigPlace;
  /** Exec plugins inherit this environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly now?: () => number;
  /** Called when files become unreadable, and with null when they are readable again. The text never contains a secret. */
  readonly onProblem?: (problem: string | null) => void;
}

/** Minimum time between two checks of the files: a burst of requests causes one check. */
const LOOK_EVERY_MS = 1000;

/** The content of a kubeconfig and the objects made from it. A new kubeconfig replaces all of them together. */
interface Login {
  readonly texts: readonly Buffer[];
  readonly access: KubeAccess;
  readonly plugin: ExecPlugin | null;
  rare: RareCredentials | null;
}

interface Known {
  readonly login: Login;
  readonly facts: TlsFacts | null;
  readonly identity: ApiIdentity;
}

export class Credentials {
  readonly #place: KubeconfigPlace;
  readonly #environment: CredentialsOptions['environment'];
  readonly #now: () => number;
  readonly #onProblem: (problem: string | null) => void;
  readonly #files: FollowedFiles;
  #login: Login | null = null;
  #known: Known | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<ApiIdentity> | null = null;
  #problem: string | null = null;

  private constructor({ place, environment, now, onProblem }: CredentialsOptions) {
    this.#place = place;
    this.#environment = environment;
    this.#now = now ?? (() => performance.now());
    this.#onProblem = onProblem ?? (() => {});
    this.#files = new FollowedFiles({ now: this.#now });
  }

  /** Throws KubeconfigError: at the start, an unreadable file is a configuration error. Later, it counts as an unfinished rotation. */
  static async open(options: CredentialsOptions): Promise<Credentials> {
    const credentials = new Credentials(options);
    await credentials.#look(false);
    return credentials;
  }

  get server(): string {
    return this.#known?.identity.endpoint.server ?? '';
  }

  /** For messages. Never a secret. */
  get identity(): string {
    return this.#known?.login.access.identity ?? '';
  }

  async current(): Promise<ApiIdentity> {
    if (this.#known !== null && this.#now() - this.#lookedAtMs < LOOK_EVERY_MS) return this.#known.identity;
    return this.#look(false);
  }

  /** After the server rejected the credentials: reads all of them again, regardless of their age. */
  async refresh(): Promise<ApiIdentity> {
    await this.#looking?.catch(() => {});
    return this.#look(true);
  }

  #look(force: boolean): Promise<ApiIdentity> {
    this.#looking ??= this.#lookNow(force).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookNow(force: boolean): Promise<ApiIdentity> {
    try {
      const login = await this.#currentLogin(force);
      this.#known =
        login.access.rare === null
          ? await this.#plain(login, force)
          : await this.#rare(login, login.access.rare, force);
      this.#reportProblem(null);
    } catch (error) {
      if (!(error instanceof KubeconfigError) || this.#known === null) throw error;
      // Another program is replacing a file, or has written only half of a new key pair: the old credentials stay in use.
      this.#reportProblem(error.message);
    }
    this.#lookedAtMs = this.#now();
    return this.#known.identity;
  }

  async #currentLogin(force: boolean): Promise<Login> {
    const before = this.#login;
    if (this.#place.kind === 'in-cluster') {
      this.#login = before ?? { texts: [], access: inClusterAccess(this.#place), plugin: null, rare: null };
      return this.#login;
    }
    const { paths } = this.#place;
    const texts = await Promise.all(paths.map((path) => this.#files.read(path, force)));
    if (before !== null && texts.every((text, index) => text === before.texts[index])) return before;
    const documents = paths.map(async (path, index) => ({ path, content: await parsed(path, texts[index]) }));
    const access = kubeAccess(await Promise.all(documents));
    const { exec } = access;
    const plugin = exec === null ? null : new ExecPlugin({ access: exec, environment: this.#environment });
    this.#login = { texts, access, plugin, rare: null };
    return this.#login;
  }

  async #plain(login: Login, force: boolean): Promise<Known> {
    const { access, plugin } = login;
    const printed = plugin === null ? null : await plugin.credential(force);
    const content = (source: Source | null) => this.#content(source, force);
    const [ca, cert, key] = await Promise.all([
      content(access.ca),
      content(access.cert),
      content(access.key),
    ]);
    const { serverName, skipVerify } = access;
    const facts = { ca, cert: printed?.cert ?? cert, key: printed?.key ?? key, serverName, skipVerify };
    const endpoint = this.#endpointFor(access, facts);
    return {
      login,
      facts,
      identity: { endpoint, ...(await this.#headers(access, endpoint, printed, force)) },
    };
  }

  /** Returns the previous object while nothing changes, because connections belong to it. */
  #endpointFor({ server, compression }: KubeAccess, facts: TlsFacts): ApiEndpoint {
    const before = this.#known;
    const known = before?.identity.endpoint;
    if (
      before?.facts != null &&
      known?.server === server &&
      known.compression === compression &&
      // Not `isEqual` of routing: kube imports no other folder.
      isDeepStrictEqual(before.facts, facts)
    )
      return known;
    return { server, tls: server.startsWith('http:') ? null : endpointTls(facts), compression, agent: null };
  }

  async #rare(login: Login, rare: RareAccess, force: boolean): Promise<Known> {
    if (login.rare === null) {
      const { RareCredentials } = await import('./rare-credentials.ts');
      login.rare = new RareCredentials({ access: login.access, rare });
    }
    const { endpoint, headers, secrets } = await login.rare.current(force);
    // Our own code reads token files and impersonation, because it handles them better than client-node.
    const own = await this.#headers(login.access, endpoint, null, force);
    const identity = {
      endpoint,
      headers: endpoint.tls === null ? {} : { ...headers, ...own.headers },
      secrets: [...secrets, ...own.secrets],
    };
    return { login, facts: null, identity };
  }

  async #headers(
    access: KubeAccess,
    endpoint: ApiEndpoint,
    printed: ExecCredential | null,
    force: boolean,
  ): Promise<Pick<ApiIdentity, 'headers' | 'secrets'>> {
    // Like Go's client, never send credentials over plain HTTP, even if the kubeconfig contains some.
    if (endpoint.tls === null) return { headers: {}, secrets: [] };
    const token = printed?.token ?? tokenText(access, await this.#content(access.token, force));
    if (token !== null)
      return { headers: { ...access.impersonation, Authorization: `Bearer ${token}` }, secrets: [token] };
    if (access.basic === null) return { headers: access.impersonation, secrets: [] };
    const basic = Buffer.from(access.basic).toString('base64');
    return { headers: { ...access.impersonation, Authorization: `Basic ${basic}` }, secrets: [basic] };
  }

  async #content(source: Source | null, force: boolean): Promise<Buffer | null> {
    if (source === null) return null;
    return source.kind === 'data' ? source.data : this.#files.read(source.path, force);
  }

  #reportProblem(problem: string | null): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#onProblem(problem);
  }
}

function inClusterAccess({
  server,
  tokenFile,
  caFile,
}: KubeconfigPlace & { kind: 'in-cluster' }): KubeAccess {
  return {
    server,
    ca: { kind: 'file', path: caFile },
    skipVerify: false,
    serverName: null,
    compression: true,
    cert: null,
    key: null,
    token: { kind: 'file', path: tokenFile },
    basic: null,
    exec: null,
    impersonation: {},
    rare: null,
    identity: `the service account of this Pod, with the token in ${tokenFile}`,
  };
}

async function parsed(path: string, text: Buffer | undefined): Promise<unknown> {
  // Loaded on first use: the parser costs 12 MB, and a Pod with a service account does not need it.
  const { parse } = await import('yaml');
  try {
    return parse(String(text), { maxAliasCount: 100, logLevel: 'error' });
  } catch {
    // The parser's message quotes the line, which can contain a key.
    throw new KubeconfigError('malformed', `${path}: it is not YAML`);
  }
}

function tokenText(access: KubeAccess, bytes: Buffer | null): string | null {
  if (bytes === null) return null;
  const token = bytes.toString('latin1').trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const where = access.token?.kind === 'file' ? access.token.path : 'the kubeconfig';
  throw new KubeconfigError('malformed', `${where} does not contain a token`);
}
