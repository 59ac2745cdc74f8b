// The table of the flags of `isthmus run`: each row has the placeholder, the default, the reader and the help of a flag. Configuration
// and help are made from this table.
import * as labels from './label-values.ts';
import * as read from './values.ts';

export interface Flag<T> {
  readonly reader: read.Reader<T> | read.PartsReader<T>;
  /** As a user writes it; null: no default, the flag is off. */
  readonly fallback: string | null;
  readonly placeholder: string;
  readonly help: string;
  readonly group:
    | 'What it proxies'
    | 'Kubernetes'
    | 'Where it listens'
    | 'Health checks'
    | 'Engine and limits'
    | 'Log';
}

const define = <T>(
  group: Flag<T>['group'],
  placeholder: string,
  fallback: string | null,
  reader: Flag<T>['reader'],
  help: string,
): Flag<T> => ({ group, placeholder, fallback, reader, help });

const minutes = 60_000;
const day = 24 * 60 * minutes;

export const FLAGS = {
  source: define(
    'What it proxies',
    'kubernetes|file:<dir>',
    'kubernetes',
    read.source,
    'or manifests, listeners too',
  ),
  namespace: define('What it proxies', '<name>', 'magnum-system', read.label, 'of Services and server names'),
  'netns-dir': define(
    'What it proxies',
    '<dir>',
    '/run/netns',
    read.directory,
    'where network namespaces are',
  ),
  'netns-prefixes': define(
    'What it proxies',
    '<list>',
    '',
    read.netnsPrefixes,
    'besides ovnmeta- and qdhcp-',
  ),
  'proxy-always': define('What it proxies', '', 'false', read.flag, 'clusters with a floating IP too'),
  'trust-spec-network': define(
    'What it proxies',
    '',
    'false',
    read.flag,
    'use a network id that only spec names',
  ),
  'default-cluster': define(
    'What it proxies',
    '<name>',
    null,
    read.label,
    'for clients that send no server name',
  ),
  interval: define('What it proxies', '<time>', '10s', read.duration(100, day), 'full resync interval'),

  kubeconfig: define(
    'Kubernetes',
    '<path>',
    null,
    read.filePath,
    'else KUBECONFIG, else the service account',
  ),
  'cluster-namespace': define(
    'Kubernetes',
    '<name>|*',
    null,
    read.namespaceOrAll,
    'of OpenStackClusters; else --namespace',
  ),
  'node-name': define('Kubernetes', '<name>', null, read.hostName, "else NODE_NAME, else the host's name"),
  'node-selector': define(
    'Kubernetes',
    '<json|@file>',
    null,
    labels.nodeSelector,
    'matchExpressions; nodes that take part',
  ),
  'unknown-node': define(
    'Kubernetes',
    'take-part|stay-out',
    'take-part',
    read.oneOf('take-part', 'stay-out'),
    'if no Node is found',
  ),
  'advertise-address': define(
    'Kubernetes',
    '<ip>',
    null,
    read.ipAddress,
    'else POD_IP, else of the default route',
  ),
  liveness: define(
    'Kubernetes',
    'auto|lease|timestamp',
    'auto',
    read.oneOf('auto', 'lease', 'timestamp'),
    'how instances see each other',
  ),
  'propagation-wait': define(
    'Kubernetes',
    '<time>',
    '5s',
    read.duration(0, 5 * minutes),
    'keep a terminating slice this long',
  ),
  'allow-mass-delete': define('Kubernetes', '', 'false', read.flag, 'even if most of our objects go at once'),
  'resource-tags': define(
    'Kubernetes',
    '<key=value,…>',
    '',
    labels.resourceTags,
    "on this instance's slices and Lease",
  ),
  'ignored-selector-labels': define(
    'Kubernetes',
    '<keys>',
    '',
    labels.labelKeys,
    'left out to know members in advance',
  ),

  listen: define(
    'Where it listens',
    '<addr:port>',
    '6443',
    read.endpoint,
    'clients; port 0 takes any free one',
  ),
  admin: define(
    'Where it listens',
    '<addr:port>',
    '127.0.0.1:9580',
    read.endpoint,
    'status, metrics, health',
  ),
  'health-listen': define('Where it listens', '<addr:port>', null, read.endpoint, 'health and metrics only'),
  'listener-ports': define(
    'Where it listens',
    '<from-to>',
    '17000-17999',
    read.portRange,
    'of TCP listeners; "" for none',
  ),
  handover: define('Where it listens', '<dir>', null, read.directory, 'where it meets its successor'),
  'trust-proxy-protocol': define(
    'Where it listens',
    '<cidrs>',
    null,
    read.cidrs,
    'believe PROXY headers from these',
  ),

  health: define(
    'Health checks',
    'tcp|tls',
    'tcp',
    read.oneOf('tcp', 'tls'),
    'connect only, or a TLS handshake too',
  ),
  'health-interval': define('Health checks', '<time>', '2s', read.duration(100, day), 'between two checks'),
  'health-timeout': define('Health checks', '<time>', '1s', read.duration(10, minutes), 'for one check'),
  'health-rise': define(
    'Health checks',
    '<n>',
    '2',
    read.integer(1, 100),
    'passed checks until a backend is used',
  ),
  'health-fall': define('Health checks', '<n>', '2', read.integer(1, 100), 'failed checks until it is not'),

  engine: define(
    'Engine and limits',
    'native|streams',
    'native',
    read.oneOf('native', 'streams'),
    'own threads, or Node streams',
  ),
  threads: define('Engine and limits', '<n>', '1', read.integer(1, 16), 'of the native engine'),
  'max-connections': define('Engine and limits', '<n>', '8192', read.integer(1, 1_000_000), 'in total'),
  'max-connections-per-cluster': define(
    'Engine and limits',
    '<n>',
    '4096',
    read.integer(1, 1_000_000),
    'for one cluster',
  ),
  'max-pending-dials': define(
    'Engine and limits',
    '<n>',
    '1024',
    read.integer(1, 100_000),
    'being opened to backends',
  ),
  'hello-timeout': define(
    'Engine and limits',
    '<time>',
    '5s',
    read.duration(10, 10 * minutes),
    'for the whole ClientHello',
  ),
  'connect-timeout': define(
    'Engine and limits',
    '<time>',
    '5s',
    read.duration(10, 10 * minutes),
    'for one backend',
  ),
  'dead-peer-timeout': define(
    'Engine and limits',
    '<time>',
    '2m',
    read.duration(0, day),
    'of silence; 0s: kernel default',
  ),
  'drain-timeout': define(
    'Engine and limits',
    '<time>',
    '30s',
    read.duration(0, day),
    'for open connections after SIGTERM',
  ),
  'handover-drain': define(
    'Engine and limits',
    '<time>',
    '1h',
    read.duration(0, day),
    'for those of an upgrade',
  ),

  'log-level': define(
    'Log',
    '<level>',
    'info',
    read.oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
    'debug shows refused clients too',
  ),
  'log-format': define(
    'Log',
    'pretty|json|journal',
    null,
    read.oneOf('pretty', 'json', 'journal'),
    'pretty on a terminal; journal under systemd',
  ),
} satisfies Record<string, Flag<unknown>>;

export type FlagName = keyof typeof FLAGS;

export const FLAG_NAMES = Object.keys(FLAGS) as FlagName[];

export function environmentName(name: FlagName): string {
  return `ISTHMUS_${name.replaceAll('-', '_').toUpperCase()}`;
}
