// Extracts the cluster and user of the current context from a kubeconfig. Pure: takes parsed documents, reads no file.
// Where client-go and client-node differ, this code follows client-go, because kubectl reads the same file with it.
import { dirname, isAbsolute, join } from 'node:path';
import { isRecord } from '../kube-object.ts';
import { KubeconfigError } from './kubeconfig-error.ts';

export type Source =
  | { readonly kind: 'data'; readonly data: Buffer }
  | { readonly kind: 'file'; readonly path: string };

export interface KubeAccess {
  /** Without a trailing slash. */
  readonly server: string;
  readonly ca: Source | null;
  readonly skipVerify: boolean;
  readonly serverName: string | null;
  readonly compression: boolean;
  readonly cert: Source | null;
  readonly key: Source | null;
  readonly token: Source | null;
  /** `user:password` */
  readonly basic: string | null;
  /** `Impersonate-*` headers. */
  readonly impersonation: Readonly<Record<string, string | readonly string[]>>;
  readonly exec: ExecAccess | null;
  /** Features that only client-node supports: an auth-provider or a proxy. null: our own code handles everything. */
  readonly rare: RareAccess | null;
  /** For messages: the user, and the file that defines it. Never a secret. */
  readonly identity: string;
}

export interface ExecAccess {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
}

/** A kubeconfig with only the current context and absolute paths. Contains secrets. */
export interface RareAccess {
  readonly proxied: boolean;
  readonly kubeconfig: Readonly<Record<string, unknown>>;
}

export interface KubeconfigDocument {
  readonly path: string;
  readonly content: unknown;
}

interface Entry {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The file that contains the entry. Relative paths start in its directory. */
  readonly path: string;
}

/** Merges several documents like kubectl: the first document that defines an entry wins. */
export function kubeAccess(documents: readonly KubeconfigDocument[]): KubeAccess {
  for (const { path, content } of documents)
    if (!isRecord(content)) throw malformed(path, 'it is not a kubeconfig: expected an object');
  const current = documents
    .map(({ content }) => (content as Record<string, unknown>)['current-context'])
    .find((name) => typeof name === 'string' && name !== '');
  if (typeof current !== 'string') throw malformed(originOf(documents), 'current-context is not set');
  const context = entryOf(documents, 'context', current);
  const clusterName = textIn(context, 'cluster');
  if (clusterName === null) throw malformed(context.path, `context "${current}" names no cluster`);
  const cluster = entryOf(documents, 'cluster', clusterName);
  const userName = textIn(context, 'user');
  const user = userName === null ? ANONYMOUS : entryOf(documents, 'user', userName);
  return {
    ...clusterAccess(cluster, clusterName),
    ...userAccess(user, userName),
    rare: rareAccess(cluster, user),
  };
}

const ANONYMOUS: Entry = { fields: {}, path: '' };

function clusterAccess(cluster: Entry, name: string) {
  const server = textIn(cluster, 'server');
  if (server === null || !isServer(server))
    throw malformed(cluster.path, `the server of cluster "${name}" is not an http:// or https:// address`);
  return {
    server: server.replace(/\/+$/, ''),
    ca: sourceIn(cluster, 'certificate-authority'),
    skipVerify: cluster.fields['insecure-skip-tls-verify'] === true,
    serverName: textIn(cluster, 'tls-server-name'),
    compression: cluster.fields['disable-compression'] !== true,
  };
}

function isServer(text: string): boolean {
  const url = URL.parse(text);
  // Credentials in the URL are rejected: they would appear in messages, and Go's client ignores them.
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    url.username === '' &&
    url.password === ''
  );
}

function userAccess(user: Entry, name: string | null) {
  const [cert, key] = [sourceIn(user, 'client-certificate'), sourceIn(user, 'client-key')];
  if ((cert === null) !== (key === null))
    throw malformed(user.path, `user "${name}" has only one of client certificate and key: set both`);
  const token = tokenIn(user);
  const username = textIn(user, 'username');
  const basic = username === null ? null : `${username}:${textIn(user, 'password') ?? ''}`;
  const methods = [];
  if (token !== null) methods.push(token.kind === 'file' ? `the token in ${token.path}` : 'its token');
  if (cert !== null)
    methods.push(cert.kind === 'file' ? `the client certificate ${cert.path}` : 'its client certificate');
  if (token === null && basic !== null) methods.push('its password');
  const exec = execIn(user, name);
  if (exec !== null) methods.unshift(`the plugin ${exec.command}`);
  if (isRecord(user.fields['auth-provider'])) methods.unshift('an auth-provider');
  const userText = name === null ? 'an anonymous user' : `user "${name}" of ${user.path}`;
  return {
    cert,
    key,
    token,
    basic: token === null ? basic : null,
    exec,
    impersonation: impersonationIn(user),
    identity: methods.length === 0 ? userText : `${userText} with ${methods.join(' and ')}`,
  };
}

/** If both are set, `tokenFile` wins: client-go re-reads the file, and uses `token` only until the first read. */
function tokenIn(user: Entry): Source | null {
  const path = textIn(user, 'tokenFile');
  if (path !== null) return { kind: 'file', path: absolute(user, path) };
  const token = textIn(user, 'token');
  return token === null ? null : { kind: 'data', data: Buffer.from(token) };
}

function impersonationIn(user: Entry): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  const as = textIn(user, 'as');
  if (as === null) return headers;
  headers['Impersonate-User'] = as;
  const uid = textIn(user, 'as-uid');
  if (uid !== null) headers['Impersonate-Uid'] = uid;
  const groups = user.fields['as-groups'];
  if (Array.isArray(groups)) headers['Impersonate-Group'] = groups.map(String);
  return headers;
}

function rareAccess(cluster: Entry, user: Entry): RareAccess | null {
  const proxied = textIn(cluster, 'proxy-url') !== null;
  if (!proxied && !isRecord(user.fields['auth-provider'])) return null;
  const kubeconfig = {
    'current-context': 'current',
    contexts: [{ name: 'current', context: { cluster: 'current', user: 'current' } }],
    clusters: [{ name: 'current', cluster: withAbsolutePaths(cluster, ['certificate-authority']) }],
    users: [{ name: 'current', user: withAbsolutePaths(user, ['client-certificate', 'client-key']) }],
  };
  return { proxied, kubeconfig };
}

function withAbsolutePaths(entry: Entry, names: readonly string[]): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...entry.fields };
  for (const name of names) {
    const path = textIn(entry, name);
    if (path !== null) fields[name] = absolute(entry, path);
    // If both are set, the inline data win. client-node would use the file.
    if (textIn(entry, `${name}-data`) !== null) delete fields[name];
  }
  return fields;
}

function execIn(user: Entry, name: string | null): ExecAccess | null {
  const { exec } = user.fields;
  if (!isRecord(exec)) return null;
  const { command, args, env, apiVersion } = exec;
  if (typeof command !== 'string' || command === '' || typeof apiVersion !== 'string')
    throw malformed(user.path, `the exec plugin of user "${name}" lacks its command or apiVersion`);
  const pairs = (Array.isArray(env) ? env : [])
    .filter(isRecord)
    .map((each) => [String(each.name), String(each.value)]);
  return {
    // Like Go's client: a bare name is searched in PATH, and `./plugin` is relative to the kubeconfig.
    command: command.includes('/') ? absolute(user, command) : command,
    args: (Array.isArray(args) ? args : []).map(String),
    env: Object.fromEntries(pairs),
    apiVersion,
  };
}

function entryOf(
  documents: readonly KubeconfigDocument[],
  field: 'context' | 'cluster' | 'user',
  name: string,
): Entry {
  for (const { path, content } of documents) {
    const entries = (content as Record<string, unknown>)[`${field}s`];
    if (!Array.isArray(entries)) continue;
    for (const entry of entries) {
      if (!isRecord(entry) || entry.name !== name) continue;
      const fields = entry[field] ?? {};
      if (!isRecord(fields)) throw malformed(path, `${field} "${name}" is not an object`);
      return { fields, path };
    }
  }
  throw malformed(originOf(documents), `there is no ${field} "${name}"`);
}

const originOf = (documents: readonly KubeconfigDocument[]): string =>
  documents.map(({ path }) => path).join(', ');

/** The inline `<field>-data`, or the file that `<field>` names. If both are set, the inline data win. */
function sourceIn(entry: Entry, field: string): Source | null {
  const data = textIn(entry, `${field}-data`);
  if (data !== null) return { kind: 'data', data: Buffer.from(data, 'base64') };
  const path = textIn(entry, field);
  return path === null ? null : { kind: 'file', path: absolute(entry, path) };
}

const absolute = (entry: Entry, path: string): string =>
  isAbsolute(path) ? path : join(dirname(entry.path), path);

function textIn({ fields, path }: Entry, field: string): string | null {
  const value = Object.hasOwn(fields, field) ? (fields[field] ?? null) : null;
  if (value === null || value === '') return null;
  // The message omits the value: it can be a password that YAML parsed as a number.
  if (typeof value !== 'string') throw malformed(path, `${field} is not text: put its value in quotes`);
  return value;
}

const malformed = (path: string, problem: string): KubeconfigError =>
  new KubeconfigError('malformed', `${path}: ${problem}`);
