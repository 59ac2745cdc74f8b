// The environment of the program we replace, and the variables that everything in Kubernetes goes by: honoured where a flag
// and its own variable say nothing. What it reads differently than its old reader did, it warns of once.
import type { FlagName } from './flags.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Given {
  /** The flag or variable, as it was written. */
  readonly where: string;
  readonly text: string;
}

/** What only the machine knows. */
export interface Machine {
  /** What is wrong with a directory, if anything. */
  readonly directoryProblem: (path: string) => string | null;
  readonly isFile: (path: string) => boolean;
  /** What a small file says, or what would be right in its place. */
  readonly readText: (path: string) => { readonly text: string } | { readonly wanted: string };
}

export function legacyGiven(
  name: FlagName,
  environment: Environment,
  machine: Machine,
  warnings: string[],
): Given | null {
  switch (name) {
    case 'listen':
      return listen(environment);
    case 'proxy-always':
      return proxyAlways(environment, warnings);
    case 'kubeconfig':
      return kubeconfig(environment, machine, warnings);
    case 'node-name':
      return filled(environment, 'NODE_NAME');
    default:
      return null;
  }
}

export function fromVariable(environment: Environment, variable: string): Given | null {
  const text = environment[variable];
  return text === undefined ? null : { where: variable, text };
}

/** A variable that is empty is one that a template left unset. */
export function filled(environment: Environment, variable: string): Given | null {
  const given = fromVariable(environment, variable);
  return given?.text === '' ? null : given;
}

function listen(environment: Environment): Given | null {
  const port = environment.PROXY_PORT;
  const bind = environment.PROXY_BIND;
  if (port === undefined && bind === undefined) return null;
  const where = [port !== undefined && 'PROXY_PORT', bind !== undefined && 'PROXY_BIND']
    .filter(Boolean)
    .join(' and ');
  const host = bind?.includes(':') && !bind.startsWith('[') ? `[${bind}]` : (bind ?? '');
  return { where, text: host === '' ? (port ?? '6443') : `${host}:${port ?? '6443'}` };
}

function proxyAlways(environment: Environment, warnings: string[]): Given | null {
  const given = fromVariable(environment, 'PROXY_ALWAYS');
  if (given === null || /^(1|true|yes|on)$/i.test(given.text)) return given;
  if (/^(0|false|no|off|)$/i.test(given.text)) {
    warnings.push(
      `PROXY_ALWAYS=${given.text} means false here; magnum-cluster-api-proxy took any value for true`,
    );
    return given;
  }
  warnings.push(
    `PROXY_ALWAYS=${JSON.stringify(given.text.slice(0, 60))} means true, as any value did for magnum-cluster-api-proxy; ` +
      'write true or false',
  );
  return { where: given.where, text: 'true' };
}

/** kubectl merges several files; we read one. Of those that are named the first that exists has the current context. */
function kubeconfig(environment: Environment, machine: Machine, warnings: string[]): Given | null {
  const given = filled(environment, 'KUBECONFIG');
  if (given === null || !given.text.includes(':')) return given;
  const paths = given.text.split(':').filter((path) => path !== '');
  const path = paths.find(machine.isFile) ?? paths[0];
  if (path === undefined) return null;
  if (paths.length > 1)
    warnings.push(`KUBECONFIG names ${paths.length} files; only ${JSON.stringify(path)} is read`);
  return { where: given.where, text: path };
}
