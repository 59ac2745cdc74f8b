// Owns the names of the log fields and what each means. Operators search for these names: a field may be added, but never renamed.
// The types below accept no other field, so a field without a meaning does not compile.
import type { ConnectionRecord } from '../../proxy/connection-record.ts';

export const CONNECTION_FIELDS = {
  level:
    '`debug`: a scanner, a health check or an unknown name; `info`: served; `warn`: rejected; `error`: a bug',
  listener:
    'the port that accepted the connection: `tls`, or `listener:<namespace>/<name>` for a port of an AdditionalListener',
  client: 'address and port of the client',
  via: 'the load balancer whose PROXY header named the client; null without one',
  serverName: 'server name of the ClientHello; null if there is none or it was not read',
  cluster: 'the cluster that the connection belongs to; null before it is routed',
  namespace: 'namespace of the cluster',
  pool: 'the AdditionalListener that served it, `<namespace>/<name>`; null for the API server of the cluster',
  netns: 'path of the netns of the backend',
  backend: 'address and port of the backend; null if none was reached',
  bytesFromClient: 'bytes that the client sent',
  bytesFromBackend: 'bytes that the backend sent',
  durationMs: 'time from the accept to the end',
  outcome: 'how it ended: [outcomes](connection-outcomes.md)',
  reason: 'why it ended: a reason of this page, an error code, or the outcome again',
  failedDials: 'the dials that failed, in order: `<backend>: <error code>`',
  suppressed: 'number of equal warnings that were left out before this one; absent if 0',
} as const satisfies Readonly<Record<keyof ConnectionRecord | 'suppressed', string>>;

/** Of all lines that are not about a connection. */
export const OTHER_FIELDS = {
  address: 'address of a socket that systemd passed',
  admin: 'address and port of `--admin`',
  cluster: 'name of the cluster',
  code: 'error code of a start that failed',
  descriptors: 'limit of open files of this process',
  detail: 'more about `reason`; may differ from line to line',
  err: 'an unexpected error with its stack: a bug',
  error: 'answer of the Kubernetes API to a write that failed',
  evicted: 'number of evicted connections since the last such line',
  finished: 'connections that ended by themselves during the drain',
  fix: 'what to do about the problem',
  holder: 'the process that holds the Lease of this node',
  identity: 'origin of the credentials for the Kubernetes API; contains no secret',
  ignored: 'members of the listener in state `Ignored`',
  instance: 'name of this instance in Leases and slices',
  listen: 'address and port of `--listen`',
  listenPort: 'port of the listener on this instance; null until it is open, and for TLS',
  listener: 'name of the AdditionalListener',
  maxAdminConnections: 'limit of connections of `--admin` and of `--health-listen`, each',
  maxConnections: 'limit of connections that `descriptors` allows, at most `--max-connections`',
  maxNetnsHandles: 'limit of netns that are kept open',
  maxPipes: 'limit of pipes for relayed data',
  namespace: 'namespace of the cluster or the listener',
  notReady: 'members of the listener in state `NotReady`',
  object: 'the written object: kind, then `<namespace>/<name>`',
  origin: 'the file, object or part with the problem',
  pid: 'process id of the predecessor, the successor or a rejected peer',
  port: 'port of a listener or a socket; in lines about evictions the name of the port, `admin` or `health`',
  problem: 'why the credentials cannot be read',
  protocol: 'protocol of the listener: `TCP` or `TLS`',
  ready: 'members of the listener in state `Ready`',
  reason: 'the cause, as a sentence',
  reset: 'connections that were reset at the end of the drain',
  retryInMs: 'time until the write is tried again',
  server: 'URL of the Kubernetes API',
  signal: 'the received signal',
  silentMs: 'how long the control thread did not answer',
  since: 'since when the control thread has not answered (ISO 8601, UTC)',
  socket: 'name of a socket that systemd passed',
  sockets: 'names of listening sockets',
  source: 'the most frequent address among the evicted connections',
  state: 'state of the cluster or the listener: [/status](status.md)',
  uid: 'user id of a rejected peer',
  version: 'version of this process, or of the process that `pid` names',
  wanted: 'the value of `--max-connections`',
  was: '`state` before this line; null if the object is new',
  why: 'why the object is written',
} as const;

type LogField = keyof typeof CONNECTION_FIELDS | keyof typeof OTHER_FIELDS;
export type LogFacts = { readonly [F in LogField]?: unknown };
/** Also rejects fields that a spread brings in: TypeScript looks for unknown fields only among those that are written out. */
type OnlyFacts<T extends LogFacts> = T & { readonly [F in Exclude<keyof T, LogField>]: never };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type Log = <T extends LogFacts>(level: LogLevel, facts: OnlyFacts<T>, message: string) => void;
export type LogLine = <T extends LogFacts>(facts: OnlyFacts<T>, message: string) => void;
