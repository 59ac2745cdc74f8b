// The table of the flags of `isthmus run`. A flag is declared here and nowhere else: the configuration and its type, the help and the
// reference page are made from this table.
import * as labels from './label-values.ts';
import * as legacy from './legacy-environment.ts';
import * as read from './values.ts';

export interface FlagDeclaration {
  /** The form of the value; empty: the flag is a switch. */
  readonly placeholder: string;
  /** As a user writes it; null: the flag is off, or `otherwise` applies. */
  readonly fallback: string | null;
  /** What applies if the flag is not given and has no fixed default. */
  readonly otherwise?: string;
  readonly reader: read.Reader<unknown> | read.PartsReader<unknown>;
  /** The field of RunConfig. */
  readonly field: string;
  /** A verb phrase. With the default in parentheses it has at most 44 letters, so that a line of the help has at most 80. */
  readonly help: string;
  /** One or two sentences that only the reference page shows. */
  readonly note?: string;
  /** Variables of other programs that apply if neither the flag nor its own variable is set. */
  readonly otherVariables?: readonly string[];
  /** Reads these variables; absent if `otherwise` names them and config.ts reads them. */
  readonly alias?: legacy.Alias;
  /** `@<path>` stands for the content of that file. */
  readonly acceptsFile?: true;
}

export interface Flag extends FlagDeclaration {
  readonly group: string;
}

function group<const D extends Readonly<Record<string, FlagDeclaration>>>(name: string, declarations: D) {
  const flags = Object.entries(declarations).map(([flag, declaration]) => [
    flag,
    { ...declaration, group: name },
  ]);
  return Object.fromEntries(flags) as { readonly [N in keyof D]: D[N] & { readonly group: string } };
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const SWITCH = { placeholder: '', fallback: 'false', reader: read.flag } as const;
const ENDPOINT = { placeholder: '<addr:port>', reader: read.endpoint } as const;
const time = (minMs: number, maxMs: number) => ({
  placeholder: '<time>',
  reader: read.duration(minMs, maxMs),
});
const count = (min: number, max: number) => ({ placeholder: '<n>', reader: read.integer(min, max) });
const choice = <T extends string>(...choices: readonly T[]) => ({
  placeholder: choices.join('|'),
  reader: read.oneOf(...choices),
});

export const FLAGS = {
  ...group('What it proxies', {
    source: {
      placeholder: 'kubernetes|file:<dir>',
      fallback: 'kubernetes',
      reader: read.source,
      field: 'source',
      help: 'read clusters from here',
    },
    namespace: {
      placeholder: '<name>',
      fallback: 'magnum-system',
      reader: read.label,
      field: 'namespace',
      help: 'publish in this namespace',
    },
    'netns-dir': {
      placeholder: '<dir>',
      fallback: '/run/netns',
      reader: read.directory,
      field: 'netnsDirectory',
      help: 'find network namespaces here',
    },
    'netns-prefixes': {
      placeholder: '<list>',
      fallback: '',
      reader: read.netnsPrefixes,
      field: 'netnsPrefixes',
      help: 'accept these netns prefixes too',
      note: 'Always accepted: `ovnmeta-` and `qdhcp-`.',
    },
    'proxy-always': {
      ...SWITCH,
      field: 'proxyAlways',
      help: 'proxy clusters with a floating IP too',
      otherVariables: ['PROXY_ALWAYS'],
      alias: legacy.proxyAlways,
    },
    'trust-spec-network': {
      ...SWITCH,
      field: 'trustSpecNetwork',
      help: 'use a network id that only spec names',
      note: 'Only for sites where tenants cannot write OpenStackClusters.',
    },
    'control-plane-machines': {
      ...choice('on', 'off'),
      fallback: 'on',
      field: 'controlPlaneMachines',
      help: 'reach API servers by their Machines too',
      note: 'Addresses of control-plane Machines are further ways to the API server, used while its own address does not answer.',
    },
    'default-cluster': {
      placeholder: '<name>',
      fallback: null,
      reader: read.label,
      field: 'defaultCluster',
      help: 'send clients without a server name here',
    },
    interval: {
      ...time(100, DAY),
      fallback: '10s',
      field: 'intervalMs',
      help: 'resync fully at this interval',
    },
  }),

  ...group('Kubernetes', {
    kubeconfig: {
      placeholder: '<path>',
      fallback: null,
      otherwise: "KUBECONFIG, or Pod's",
      reader: read.filePath,
      field: 'kubeconfig',
      help: 'read this kubeconfig',
      note: 'Without a file, Isthmus uses the service account of its Pod.',
      otherVariables: ['KUBECONFIG'],
      alias: legacy.kubeconfig,
    },
    'cluster-namespace': {
      placeholder: '<name>|*',
      fallback: null,
      otherwise: '--namespace',
      reader: read.namespaceOrAll,
      field: 'clusterNamespace',
      help: 'find OpenStackClusters here',
      note: '`*` is all namespaces.',
    },
    'node-name': {
      placeholder: '<name>',
      fallback: null,
      otherwise: "NODE_NAME, then the host's",
      reader: read.hostName,
      field: 'nodeName',
      help: 'name this node',
      otherVariables: ['NODE_NAME'],
      alias: legacy.nodeName,
    },
    'node-selector': {
      placeholder: '<json|@file>',
      fallback: null,
      reader: labels.nodeSelector,
      field: 'nodeSelector',
      help: 'publish if the Node matches this selector',
      note: 'Without it, every node takes part.',
      acceptsFile: true,
    },
    'unknown-node': {
      ...choice('take-part', 'stay-out'),
      fallback: 'take-part',
      field: 'unknownNode',
      help: 'decide if the Node is unknown',
    },
    'lock-dir': {
      placeholder: '<dir>',
      fallback: null,
      otherwise: '--handover',
      reader: read.directory,
      field: 'lockDirectory',
      help: 'prove here that Isthmus runs',
      note: 'A directory of this host. After a crash the next process with the same name takes the Lease at once, and not only when it runs out.',
    },
    daemonset: {
      placeholder: '<ns/name:gen>',
      fallback: null,
      reader: read.daemonSetPod,
      field: 'daemonSet',
      help: 'name the DaemonSet of this Pod',
      note: 'Generation is the label `pod-template-generation`. A newer Pod may take the Lease from an older one of the same DaemonSet. The chart sets it.',
    },
    'take-over': {
      ...SWITCH,
      field: 'takeOver',
      help: 'take the Lease of a live process, once',
      note: 'For one start by hand. Without it, a second process with the same node name waits for 30 s to 42 s and exits with code 10.',
    },
    'advertise-address': {
      placeholder: '<ip>',
      fallback: null,
      otherwise: 'POD_IP, --listen, route',
      reader: read.ipAddress,
      field: 'advertiseAddress',
      help: "set the slices' IP",
      note: "Without it: `POD_IP`, else the address of `--listen` or `PROXY_BIND` if it is one that other hosts reach, else that of the default route's interface.",
      otherVariables: ['POD_IP'],
    },
    liveness: {
      ...choice('auto', 'lease', 'timestamp'),
      fallback: 'auto',
      field: 'liveness',
      help: 'detect live instances by this method',
    },
    'propagation-wait': {
      ...time(0, 5 * MINUTE),
      fallback: '5s',
      field: 'propagationWaitMs',
      help: 'keep a terminating slice this long',
      note: 'The route behind the slice stays for the same time.',
    },
    'allow-mass-delete': {
      ...SWITCH,
      field: 'allowMassDelete',
      help: 'allow a deletion of most objects at once',
    },
    'resource-tags': {
      placeholder: '<key=value,…>',
      fallback: '',
      reader: labels.resourceTags,
      field: 'resourceTags',
      help: "tag this instance's slices and Lease",
    },
    'ignored-selector-labels': {
      placeholder: '<keys>',
      fallback: '',
      reader: labels.labelKeys,
      field: 'ignoredSelectorLabels',
      help: 'name label keys that rollouts change',
      note: "Label keys that rollout tools change. A machine that matches a listener's selector without these keys is probed in advance.",
    },
  }),

  ...group('Where it listens', {
    listen: {
      ...ENDPOINT,
      fallback: '6443',
      field: 'listen',
      help: 'accept clients; 0 is any free port',
      note: 'Without an address it binds all addresses.',
      otherVariables: ['PROXY_PORT', 'PROXY_BIND'],
      alias: legacy.listen,
    },
    admin: { ...ENDPOINT, fallback: '127.0.0.1:9580', field: 'admin', help: 'serve status and metrics' },
    'health-listen': {
      ...ENDPOINT,
      fallback: null,
      field: 'healthListen',
      help: 'serve health and metrics, nothing else',
    },
    'listener-ports': {
      placeholder: '<from-to>',
      fallback: '17000-17999',
      reader: read.portRange,
      field: 'listenerPorts',
      help: 'open TCP listeners; "" is none',
      note: 'Each additional listener of protocol TCP takes one of these ports.',
    },
    handover: {
      placeholder: '<dir>',
      fallback: null,
      reader: read.directory,
      field: 'handover',
      help: 'hand over to a successor in this directory',
      note: 'Without it, connections are refused during an upgrade.',
    },
    'trust-proxy-protocol': {
      placeholder: '<cidrs>',
      fallback: null,
      reader: read.cidrs,
      field: 'trustedProxies',
      help: 'trust PROXY headers from these networks',
    },
  }),

  ...group('Health checks', {
    health: {
      ...choice('tcp', 'tls'),
      fallback: 'tcp',
      field: 'health.kind',
      help: 'connect only, or do a TLS handshake',
    },
    'health-interval': {
      ...time(100, DAY),
      fallback: '2s',
      field: 'health.intervalMs',
      help: 'check each backend this often',
    },
    'health-timeout': {
      ...time(10, MINUTE),
      fallback: '1s',
      field: 'health.timeoutMs',
      help: 'fail a check after this time',
    },
    'health-rise': {
      ...count(1, 100),
      fallback: '2',
      field: 'health.rise',
      help: 'use a backend after n passed checks',
    },
    'health-fall': {
      ...count(1, 100),
      fallback: '2',
      field: 'health.fall',
      help: 'avoid a backend after n failed checks',
    },
  }),

  ...group('Engine and limits', {
    engine: {
      ...choice('native', 'streams'),
      fallback: 'native',
      field: 'engine',
      help: 'use addon threads, or Node streams',
    },
    threads: { ...count(1, 16), fallback: '1', field: 'threads', help: 'run the native engine on n threads' },
    'max-connections': {
      ...count(1, 1_000_000),
      fallback: '8192',
      field: 'maxConnections',
      help: 'limit open connections in total',
    },
    'max-connections-per-cluster': {
      ...count(1, 1_000_000),
      fallback: '4096',
      field: 'maxConnectionsPerCluster',
      help: 'limit open connections of one cluster',
    },
    'max-pending-dials': {
      ...count(1, 100_000),
      fallback: '1024',
      field: 'maxPendingDials',
      help: 'limit unfinished dials to backends',
    },
    'hello-timeout': {
      ...time(10, 10 * MINUTE),
      fallback: '5s',
      field: 'helloTimeoutMs',
      help: 'wait this long for a whole ClientHello',
    },
    'connect-timeout': {
      ...time(10, 10 * MINUTE),
      fallback: '5s',
      field: 'connectTimeoutMs',
      help: 'wait this long for one backend',
    },
    'dead-peer-timeout': {
      ...time(0, DAY),
      fallback: '2m',
      field: 'deadPeerTimeoutMs',
      help: 'drop dead peers; 0s is kernel default',
    },
    'drain-timeout': {
      ...time(0, DAY),
      fallback: '30s',
      field: 'drainTimeoutMs',
      help: 'let connections finish after SIGTERM',
    },
    'handover-drain': {
      ...time(0, DAY),
      fallback: '1h',
      field: 'handoverDrainMs',
      help: 'let connections finish after an upgrade',
      note: 'It can be long: the successor already serves, and no supervisor waits until the old process exits.',
    },
  }),

  ...group('Log', {
    'log-level': {
      placeholder: '<level>',
      fallback: 'info',
      reader: read.oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
      field: 'logLevel',
      help: 'set log level; debug shows refusals',
    },
    'log-format': {
      ...choice('pretty', 'json', 'journal'),
      fallback: null,
      otherwise: 'depends on output',
      field: 'logFormat',
      help: 'write this log format',
      note: 'The default is `journal` under systemd, `pretty` on a terminal, else `json`.',
    },
  }),
};

export type FlagName = keyof typeof FLAGS;

export const FLAG_NAMES = Object.keys(FLAGS) as FlagName[];

export function environmentName(name: FlagName): string {
  return `ISTHMUS_${name.replaceAll('-', '_').toUpperCase()}`;
}

/** One flag as help and reference pages show it. */
export interface FlagReference {
  readonly name: string;
  readonly variable: string;
  readonly placeholder: string;
  /** The default as text; empty: none. */
  readonly fallback: string;
  readonly group: string;
  readonly help: string;
  readonly note: string;
  readonly otherVariables: readonly string[];
}

export function flagReference(): FlagReference[] {
  return FLAG_NAMES.map((name) => {
    const { fallback, otherwise = '', note = '', otherVariables = [], ...flag }: Flag = FLAGS[name];
    const { placeholder, group, help } = flag;
    return {
      name: `--${name}`,
      variable: environmentName(name),
      otherVariables,
      placeholder,
      fallback: fallback ?? otherwise,
      group,
      help,
      note,
    };
  });
}
