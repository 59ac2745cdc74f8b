// Reads the configuration of `isthmus run` once, before it opens anything: flags, then environment, then defaults. It reports all
// problems together, each with its flag or variable, its value, and what is expected.
import { isIPv4 } from 'node:net';
import type { Tags } from '../../control/objects/resource-tags.ts';
import type { NodeSelector } from '../../kube/labels/node-selector.ts';
import { environmentName, FLAG_NAMES, FLAGS, type Flag, type FlagName } from './flags.ts';
import {
  type Environment,
  filled,
  fromVariable,
  type Given,
  legacyGiven,
  type Machine,
} from './legacy-environment.ts';
import { nearest } from './nearest.ts';
import { allNamespaces, type Endpoint, type PortRange, type SourceSetting } from './values.ts';

export interface RunConfig {
  readonly source: SourceSetting;
  readonly namespace: string;
  readonly netnsDirectory: string;
  /** In addition to the prefixes of Neutron's agents. */
  readonly netnsPrefixes: readonly string[];
  readonly proxyAlways: boolean;
  /** Uses network ids from the spec of an OpenStackCluster. Safe only if tenants cannot write these objects. */
  readonly trustSpecNetwork: boolean;
  readonly defaultCluster: string | null;
  readonly intervalMs: number;
  /** null: the service account of the pod, if there is one. */
  readonly kubeconfig: string | null;
  /** The namespace of the OpenStackClusters; null: all namespaces. */
  readonly clusterNamespace: string | null;
  /** null: the host name. */
  readonly nodeName: string | null;
  /** null: every node takes part. */
  readonly nodeSelector: NodeSelector | null;
  readonly unknownNode: 'take-part' | 'stay-out';
  readonly advertiseAddress: string | null;
  /** `POD_IP`, if --advertise-address is not given. */
  readonly podIp: string | null;
  readonly liveness: 'auto' | 'lease' | 'timestamp';
  /** How long a withdrawn slice, and the route it leads to, stay before they are removed. */
  readonly propagationWaitMs: number;
  readonly allowMassDelete: boolean;
  /** Set on the objects of this instance. */
  readonly resourceTags: Tags;
  /** Label keys that rollout tools change. A machine that matches a listener's selector without these keys is probed in advance. */
  readonly ignoredSelectorLabels: readonly string[];
  readonly listen: Endpoint;
  readonly admin: Endpoint;
  readonly healthListen: Endpoint | null;
  /** One port per TCP listener; null: no TCP listeners on this instance. */
  readonly listenerPorts: PortRange | null;
  /** The directory for the handover to a successor process, which refuses no connection; null: no handover. */
  readonly handover: string | null;
  readonly trustedProxies: readonly string[] | null;
  readonly health: {
    readonly kind: 'tcp' | 'tls';
    readonly intervalMs: number;
    readonly timeoutMs: number;
    readonly rise: number;
    readonly fall: number;
  };
  readonly engine: 'native' | 'streams';
  readonly threads: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerCluster: number;
  readonly maxPendingDials: number;
  readonly helloTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly deadPeerTimeoutMs: number;
  readonly drainTimeoutMs: number;
  /** The drain timeout after a handover. It can be long: the successor already serves, and no process waits for this one to exit. */
  readonly handoverDrainMs: number;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  readonly logFormat: 'pretty' | 'json' | 'journal' | null;
}

export interface ConfigProblem {
  /** The flag or variable, as the user wrote it. */
  readonly where: string;
  /** null if there is no value to show. */
  readonly value: string | null;
  readonly wanted: string;
}

export type ConfigResult =
  | { readonly config: RunConfig; readonly warnings: readonly string[] }
  | { readonly problems: readonly ConfigProblem[] };

const ANY_MACHINE: Machine = {
  directoryProblem: () => null,
  isFile: () => true,
  readText: () => ({ wanted: 'a file that exists' }),
};

export function readConfig(
  args: readonly string[],
  environment: Environment,
  machine: Machine = ANY_MACHINE,
): ConfigResult {
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  const fromFlags = readArguments(args, problems);
  const own = (name: FlagName): Given | null =>
    fromFlags.get(name) ?? fromVariable(environment, environmentName(name));
  const given = (name: FlagName): Given | null =>
    own(name) ?? legacyGiven(name, environment, machine, warnings);

  type Value<N extends FlagName> = (typeof FLAGS)[N] extends Flag<infer T> ? T : never;
  const get = <N extends FlagName>(name: N, found = given(name)): Value<N> | null => {
    const flag = FLAGS[name] as Flag<Value<N>>;
    if (found === null && flag.fallback === null) return null;
    const read = flag.reader(found?.text ?? (flag.fallback as string));
    if ('value' in read) return read.value;
    const where = found?.where ?? `--${name}`;
    if ('wanted' in read) problems.push({ where, value: found?.text ?? flag.fallback, wanted: read.wanted });
    else problems.push(...read.problems.map((wanted) => ({ where, value: null, wanted })));
    return null;
  };
  // After a problem the value does not matter: readConfig then returns only the problems.
  const must = <N extends FlagName>(name: N): Value<N> => get(name) as Value<N>;

  const source = must('source');
  const namespace = must('namespace');
  // With --source file: a KUBECONFIG from the shell is ignored.
  const isKubernetes = source?.kind === 'kubernetes';
  const kubeconfig = isKubernetes ? given('kubeconfig') : own('kubeconfig');
  const podIp = isKubernetes && own('advertise-address') === null ? filled(environment, 'POD_IP') : null;

  const config: RunConfig = {
    source,
    namespace,
    netnsDirectory: must('netns-dir'),
    netnsPrefixes: must('netns-prefixes'),
    proxyAlways: must('proxy-always'),
    trustSpecNetwork: must('trust-spec-network'),
    defaultCluster: get('default-cluster'),
    intervalMs: must('interval'),
    kubeconfig: get('kubeconfig', kubeconfig),
    clusterNamespace: allNamespaces(get('cluster-namespace') ?? namespace),
    nodeName: get('node-name'),
    nodeSelector: get('node-selector', fromFile(given('node-selector'), machine, problems)),
    unknownNode: must('unknown-node'),
    advertiseAddress: get('advertise-address'),
    podIp: podIp === null ? null : get('advertise-address', podIp),
    liveness: must('liveness'),
    propagationWaitMs: must('propagation-wait'),
    allowMassDelete: must('allow-mass-delete'),
    resourceTags: must('resource-tags'),
    ignoredSelectorLabels: must('ignored-selector-labels'),
    listen: must('listen'),
    admin: must('admin'),
    healthListen: get('health-listen'),
    listenerPorts: get('listener-ports'),
    handover: get('handover'),
    trustedProxies: get('trust-proxy-protocol'),
    health: {
      kind: must('health'),
      intervalMs: must('health-interval'),
      timeoutMs: must('health-timeout'),
      rise: must('health-rise'),
      fall: must('health-fall'),
    },
    engine: must('engine'),
    threads: must('threads'),
    maxConnections: must('max-connections'),
    maxConnectionsPerCluster: must('max-connections-per-cluster'),
    maxPendingDials: must('max-pending-dials'),
    helloTimeoutMs: must('hello-timeout'),
    connectTimeoutMs: must('connect-timeout'),
    deadPeerTimeoutMs: must('dead-peer-timeout'),
    drainTimeoutMs: must('drain-timeout'),
    handoverDrainMs: must('handover-drain'),
    logLevel: must('log-level'),
    logFormat: get('log-format'),
  };
  problems.push(...unknownVariables(environment));
  problems.push(...contradictions(config), ...portsInRange(config, given('listener-ports')));
  if (isKubernetes && kubeconfig !== null && config.kubeconfig !== null && !machine.isFile(config.kubeconfig))
    problems.push({ where: kubeconfig.where, value: config.kubeconfig, wanted: 'a file that exists' });
  const missing = source?.kind === 'file' ? machine.directoryProblem(source.directory) : null;
  if (source?.kind === 'file' && missing !== null)
    problems.push({ where: '--source', value: `file:${source.directory}`, wanted: missing });
  return problems.length > 0 ? { problems } : { config, warnings };
}

/** `@<path>` is replaced by the content of that file. */
function fromFile(found: Given | null, machine: Machine, problems: ConfigProblem[]): Given | null {
  if (found === null || !found.text.startsWith('@')) return found;
  const read = machine.readText(found.text.slice(1));
  if ('text' in read) return { where: `${found.where} ${found.text}`, text: read.text };
  problems.push({ where: found.where, value: found.text, wanted: read.wanted });
  return null;
}

export function formatProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ where, value, wanted }) =>
    value === null
      ? `  ${where}: ${wanted}`
      : `  ${where}: ${JSON.stringify(value)} is not valid; wanted ${wanted}`,
  );
  const count = problems.length === 1 ? 'One problem' : `${problems.length} problems`;
  return `${count} with the configuration:\n${lines.join('\n')}\n\nisthmus run --help explains every flag.`;
}

function readArguments(args: readonly string[], problems: ConfigProblem[]): Map<FlagName, Given> {
  const found = new Map<FlagName, Given>();
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    const match = /^--([^=]+)(?:=(.*))?$/s.exec(arg);
    if (match === null) {
      problems.push({ where: arg, value: null, wanted: 'this is no flag; flags start with --' });
      continue;
    }
    const name = match[1] as string;
    if (!isFlag(name)) {
      const close = nearest(name, FLAG_NAMES);
      problems.push({
        where: `--${name}`,
        value: null,
        wanted: `no such flag${close ? `; did you mean --${close}?` : ''}`,
      });
      if (match[2] === undefined && args[i + 1]?.startsWith('--') === false) i += 1; // skips its value, which is not a second problem
      continue;
    }
    const isSwitch = FLAGS[name].placeholder === '';
    let text = match[2] ?? (isSwitch ? 'true' : undefined);
    if (text === undefined) {
      text = args[i + 1];
      if (text === undefined || text.startsWith('--')) {
        problems.push({
          where: `--${name}`,
          value: null,
          wanted: `a value is missing: ${wantedBy(FLAGS[name])}`,
        });
        continue;
      }
      i += 1;
    }
    if (found.has(name))
      problems.push({ where: `--${name}`, value: text, wanted: 'the flag once, it is given twice' });
    found.set(name, { where: `--${name}`, text });
  }
  return found;
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name);
}

/** The values that a flag accepts, as its reader describes them. */
function wantedBy(flag: Flag<unknown>): string {
  const read = flag.reader('\0');
  return 'wanted' in read ? read.wanted : flag.help;
}

/** Kubernetes sets these variables in every pod for a Service named isthmus or isthmus-…. A plain `_PORT` is recognised by its value. */
function isServiceLink(variable: string, value: string | undefined): boolean {
  if (/_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable))
    return true;
  return variable.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value ?? '');
}

/** A misspelt variable is an error like a misspelt flag, and harder to notice. */
function unknownVariables(environment: Environment): ConfigProblem[] {
  const known = new Set<string>([...FLAG_NAMES.map(environmentName), 'ISTHMUS_ADDON']);
  return Object.keys(environment)
    .filter(
      (variable) =>
        variable.startsWith('ISTHMUS_') &&
        !/^ISTHMUS_(DEMO|TEST)/.test(variable) &&
        !known.has(variable) &&
        !isServiceLink(variable, environment[variable]),
    )
    .sort()
    .map((variable) => {
      const close = nearest(variable, [...known]);
      return {
        where: variable,
        value: null,
        wanted: `no such setting${close ? `; did you mean ${close}?` : ''}`,
      };
    });
}

function contradictions(config: RunConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const named: [string, Endpoint | null][] = [
    ['--listen', config.listen],
    ['--admin', config.admin],
    ['--health-listen', config.healthListen],
  ];
  for (const [i, [name, one]] of named.entries()) {
    for (const [otherName, other] of named.slice(i + 1)) {
      if (one === null || other === null || one.port === 0 || one.port !== other.port) continue;
      if (!overlap(one.host, other.host)) continue;
      problems.push({
        where: otherName,
        value: String(other.port),
        wanted: `a port other than that of ${name}`,
      });
    }
  }
  return problems;
}

/** Checks only a range that the user gave. The default range skips ports that are in use. */
function portsInRange(config: RunConfig, found: Given | null): ConfigProblem[] {
  const { listenerPorts: range, listen, admin, healthListen } = config;
  if (range === null || found === null) return [];
  const named = { '--listen': listen, '--admin': admin, '--health-listen': healthListen };
  return Object.entries(named)
    .filter(([, endpoint]) => endpoint && endpoint.port >= range.from && endpoint.port <= range.to)
    .map(([name, endpoint]) => ({
      where: found.where,
      value: found.text,
      wanted: `a range without ${endpoint?.port}, the port of ${name}`,
    }));
}

/** Whether the kernel rejects listening on both with the same port. `::` and a missing address include IPv4. */
function overlap(one: string | undefined, other: string | undefined): boolean {
  const isAll = (host: string | undefined) => host === undefined || host === '::';
  if (isAll(one) || isAll(other) || one === other) return true;
  return [one, other].includes('0.0.0.0') && isIPv4(one ?? '') && isIPv4(other ?? '');
}
