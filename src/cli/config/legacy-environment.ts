// Reads the variables of magnum-cluster-api-proxy, which isthmus replaces, and the usual variables in Kubernetes. They apply only if
// neither the flag nor its own variable is set. A value that the old proxy read differently causes a warning.
import type { Environment } from '../../lifecycle/settings-environment.ts';

export interface Given {
  /** The flag or variable, as the user wrote it. */
  readonly where: string;
  readonly text: string;
}

/** Access to the file system. */
export interface Machine {
  /** What is wrong with a directory; null if it is usable. */
  readonly directoryProblem: (path: string) => string | null;
  readonly isFile: (path: string) => boolean;
  /** The content of a small file, or a description of the expected file. */
  readonly readText: (path: string) => { readonly text: string } | { readonly wanted: string };
}

export interface AliasOptions {
  readonly environment: Environment;
  readonly machine: Machine;
  /** Whether the clusters come from Kubernetes. */
  readonly isKubernetes: boolean;
  /** Receives a sentence for each value that the old proxy read differently. */
  readonly warnings: string[];
}

/** Reads the value of a flag from the variables of other programs; null: none is set. */
export type Alias = (options: AliasOptions) => Given | null;

export function fromVariable(environment: Environment, variable: string): Given | null {
  const text = environment[variable];
  return text === undefined ? null : { where: variable, text };
}

/** Treats an empty variable as unset: a template can leave it empty. */
export function filled(environment: Environment, variable: string): Given | null {
  const given = fromVariable(environment, variable);
  return given?.text === '' ? null : given;
}

export const listen: Alias = ({ environment }) => {
  const port = environment.PROXY_PORT;
  const bind = environment.PROXY_BIND;
  if (port === undefined && bind === undefined) return null;
  const where = [port !== undefined && 'PROXY_PORT', bind !== undefined && 'PROXY_BIND']
    .filter(Boolean)
    .join(' and ');
  const host = bind?.includes(':') && !bind.startsWith('[') ? `[${bind}]` : (bind ?? '');
  return { where, text: host === '' ? (port ?? '6443') : `${host}:${port ?? '6443'}` };
};

export const proxyAlways: Alias = ({ environment, warnings }) => {
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
};

export const nodeName: Alias = ({ environment }) => filled(environment, 'NODE_NAME');

/** kubectl merges several files; isthmus reads one. It takes the first existing file, which usually has the current context. */
export const kubeconfig: Alias = ({ environment, machine, isKubernetes, warnings }) => {
  if (!isKubernetes) return null; // With --source file: a KUBECONFIG from the shell is ignored.
  const given = filled(environment, 'KUBECONFIG');
  if (given === null || !given.text.includes(':')) return given;
  const paths = given.text.split(':').filter((path) => path !== '');
  const path = paths.find(machine.isFile) ?? paths[0];
  if (path === undefined) return null;
  if (paths.length > 1)
    warnings.push(`KUBECONFIG names ${paths.length} files; only ${JSON.stringify(path)} is read`);
  return { where: given.where, text: path };
};
