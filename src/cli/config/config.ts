// Derives the configuration of `isthmus run` from the table of flags, and reads it once, before the program opens anything: flags, then
// environment, then defaults. It reports all problems together, each with its flag or variable, its value, and what is expected.
import { isIPv4 } from 'node:net';
import type { Environment } from '../../lifecycle/settings-environment.ts';
import { environmentName, FLAG_NAMES, FLAGS, type Flag, type FlagName } from './flags.ts';
import { filled, fromVariable, type Given, type Machine } from './legacy-environment.ts';
import { nearest } from './nearest.ts';
import type { Endpoint } from './values.ts';

/** The type of a flag's value in RunConfig. A flag without a default can be null. */
type Setting<F extends Flag> =
  | (ReturnType<F['reader']> extends infer R ? (R extends { readonly value: infer T } ? T : never) : never)
  | (F['fallback'] extends null ? null : never);

type FieldOf<N extends FlagName> = (typeof FLAGS)[N]['field'];

/** The settings whose field is `<section>.<name>`. */
type SectionSettings<S extends string> = {
  readonly [N in FlagName as FieldOf<N> extends `${S}.${infer F}` ? F : never]: Setting<(typeof FLAGS)[N]>;
};

type PlainSettings = {
  readonly [N in FlagName as FieldOf<N> extends `${string}.${string}` ? never : FieldOf<N>]: Setting<
    (typeof FLAGS)[N]
  >;
};

/** The configuration of `isthmus run`: one field for each flag, and POD_IP. */
export interface RunConfig extends PlainSettings {
  readonly health: SectionSettings<'health'>;
  /** `POD_IP`, if --advertise-address is not given. */
  readonly podIp: string | null;
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
  const { config, warnings, problems } = readWithDefaults(args, environment, machine);
  return problems.length > 0 ? { problems } : { config, warnings };
}

/** Like readConfig, with the default in place of each invalid value. */
export function readWithDefaults(
  args: readonly string[],
  environment: Environment,
  machine: Machine = ANY_MACHINE,
): {
  readonly config: RunConfig;
  readonly warnings: readonly string[];
  readonly problems: readonly ConfigProblem[];
} {
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  const fromFlags = readArguments(args, problems);
  const own = (name: FlagName): Given | null =>
    fromFlags.get(name) ?? fromVariable(environment, environmentName(name));
  const source = FLAGS.source.reader(own('source')?.text ?? FLAGS.source.fallback);
  const isKubernetes = 'value' in source && source.value.kind === 'kubernetes';

  const given = new Map<FlagName, Given>();
  const settings = { health: {} };
  for (const name of FLAG_NAMES) {
    const { alias, acceptsFile, field }: Flag = FLAGS[name];
    let found = own(name) ?? alias?.({ environment, machine, isKubernetes, warnings }) ?? null;
    if (acceptsFile) found = fromFile(found, machine, problems);
    if (found !== null) given.set(name, found);
    setField(settings, field, readValue(name, found, problems));
  }
  const podIp = isKubernetes && own('advertise-address') === null ? filled(environment, 'POD_IP') : null;
  const read = settings as unknown as Omit<RunConfig, 'podIp'>;
  const config: RunConfig = {
    ...read,
    clusterNamespace: given.has('cluster-namespace') ? read.clusterNamespace : read.namespace,
    podIp: podIp && (readValue('advertise-address', podIp, problems) as string | null),
  };
  problems.push(...unknownVariables(environment));
  for (const check of CROSS_FLAG_CHECKS) problems.push(...check({ config, given, machine }));
  return { config, warnings, problems };
}

/** Returns the default for an invalid value, after adding its problems. */
function readValue(name: FlagName, found: Given | null, problems: ConfigProblem[]): unknown {
  const flag: Flag = FLAGS[name];
  const text = found?.text ?? flag.fallback;
  if (text === null) return null;
  const read = flag.reader(text);
  if ('value' in read) return read.value;
  const where = found?.where ?? `--${name}`;
  if ('wanted' in read) problems.push({ where, value: text, wanted: read.wanted });
  else problems.push(...read.problems.map((wanted) => ({ where, value: null, wanted })));
  return text === flag.fallback ? null : readValue(name, null, []);
}

/** `health.kind` is the field `kind` of the section `health`. */
function setField(settings: { readonly health: object }, path: string, value: unknown): void {
  const [, section, field] = /^(?:(health)\.)?(.+)$/.exec(path) ?? [];
  Object.assign(section === undefined ? settings : settings.health, { [field as string]: value });
}

/** `@<path>` is replaced by the content of that file. */
function fromFile(found: Given | null, machine: Machine, problems: ConfigProblem[]): Given | null {
  if (found === null || !found.text.startsWith('@')) return found;
  const read = machine.readText(found.text.slice(1));
  if ('text' in read) return { where: `${found.where} ${found.text}`, text: read.text };
  problems.push({ where: found.where, value: found.text, wanted: read.wanted });
  return null;
}

export function problemText({ where, value, wanted }: ConfigProblem): string {
  return value === null
    ? `${where}: ${wanted}`
    : `${where}: ${JSON.stringify(value)} is not valid. Use ${wanted}`;
}

export function formatProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.map((each) => `  ${problemText(each)}`);
  const count = problems.length === 1 ? 'One problem' : `${problems.length} problems`;
  return `${count} with the configuration:\n${lines.join('\n')}\n\nisthmus run --help explains every flag.`;
}

function readArguments(args: readonly string[], problems: ConfigProblem[]): Map<FlagName, Given> {
  const found = new Map<FlagName, Given>();
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    const match = /^--([^=]+)(?:=(.*))?$/s.exec(arg);
    if (match === null) {
      problems.push({ where: arg, value: null, wanted: 'this is not a flag. Flags start with --' });
      continue;
    }
    const name = match[1] as string;
    if (!isFlag(name)) {
      const close = nearest(name, FLAG_NAMES);
      problems.push({
        where: `--${name}`,
        value: null,
        wanted: `this flag does not exist${close ? `; did you mean --${close}?` : ''}`,
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
    if (found.has(name)) problems.push({ where: `--${name}`, value: text, wanted: 'this flag only once' });
    found.set(name, { where: `--${name}`, text });
  }
  return found;
}

/** Converts flags into the variables that mean the same. Ignores arguments that are not flags. */
export function flagVariables(args: readonly string[]): Readonly<Record<string, string>> {
  const flags = [...readArguments(args, [])];
  return Object.fromEntries(flags.map(([name, { text }]) => [environmentName(name), text]));
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name);
}

/** The values that a flag accepts, as its reader describes them. */
function wantedBy(flag: Flag): string {
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
        wanted: `this setting does not exist${close ? `; did you mean ${close}?` : ''}`,
      };
    });
}

interface CrossFlagCheckOptions {
  readonly config: RunConfig;
  /** The settings that are not defaults. */
  readonly given: ReadonlyMap<FlagName, Given>;
  readonly machine: Machine;
}

const CROSS_FLAG_CHECKS: readonly ((options: CrossFlagCheckOptions) => ConfigProblem[])[] = [
  portsGivenTwice,
  portsInListenerRange,
  missingKubeconfig,
  missingManifests,
];

function ownPorts({ listen, admin, healthListen }: RunConfig): [flag: string, endpoint: Endpoint][] {
  const ports = { '--listen': listen, '--admin': admin, '--health-listen': healthListen };
  return Object.entries(ports).filter((entry): entry is [string, Endpoint] => entry[1] !== null);
}

function portsGivenTwice({ config }: CrossFlagCheckOptions): ConfigProblem[] {
  const ports = ownPorts(config);
  return ports.flatMap(([name, one], index) =>
    ports
      .slice(index + 1)
      .filter(([, other]) => one.port !== 0 && one.port === other.port && overlap(one.host, other.host))
      .map(([otherName, other]) => ({
        where: otherName,
        value: String(other.port),
        wanted: `a port other than that of ${name}`,
      })),
  );
}

/** Checks only a range that the user gave. The default range skips ports that are in use. */
function portsInListenerRange({ config, given }: CrossFlagCheckOptions): ConfigProblem[] {
  const range = config.listenerPorts;
  const found = given.get('listener-ports');
  if (range === null || found === undefined) return [];
  return ownPorts(config)
    .filter(([, { port }]) => port >= range.from && port <= range.to)
    .map(([name, { port }]) => ({
      where: found.where,
      value: found.text,
      wanted: `a range without ${port}, the port of ${name}`,
    }));
}

function missingKubeconfig({ config, given, machine }: CrossFlagCheckOptions): ConfigProblem[] {
  const path = config.kubeconfig;
  const found = given.get('kubeconfig');
  if (config.source?.kind !== 'kubernetes' || found === undefined || path === null) return [];
  return machine.isFile(path) ? [] : [{ where: found.where, value: path, wanted: 'a file that exists' }];
}

function missingManifests({ config: { source }, machine }: CrossFlagCheckOptions): ConfigProblem[] {
  if (source?.kind !== 'file') return [];
  const wanted = machine.directoryProblem(source.directory);
  return wanted === null ? [] : [{ where: '--source', value: `file:${source.directory}`, wanted }];
}

/** Whether the kernel rejects listening on both with the same port. `::` and a missing address include IPv4. */
function overlap(one: string | undefined, other: string | undefined): boolean {
  const isAll = (host: string | undefined) => host === undefined || host === '::';
  if (isAll(one) || isAll(other) || one === other) return true;
  return [one, other].includes('0.0.0.0') && isIPv4(one ?? '') && isIPv4(other ?? '');
}
