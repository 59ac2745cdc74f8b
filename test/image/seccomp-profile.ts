// The seccomp profiles for a Pod, in the format of an OCI runtime: our own, and RuntimeDefault.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const OURS = fileURLToPath(new URL('../../deploy/seccomp/isthmus.json', import.meta.url));

export function ourProfile(): object {
  return JSON.parse(readFileSync(OURS, 'utf8')) as object;
}

interface Condition {
  readonly caps?: readonly string[];
  readonly arches?: readonly string[];
}
interface ConditionalRule {
  readonly names: readonly string[];
  readonly includes?: Condition;
  readonly excludes?: Condition;
}

const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

/**
 * The default profile of containers-common, which for our purposes equals that of containerd and Docker. This code selects the rules
 * for the given capabilities and architecture, as a container engine does.
 */
export function runtimeDefault(capabilities: readonly string[]): object {
  const file = process.env.ISTHMUS_RUNTIME_DEFAULT;
  if (file === undefined)
    throw new Error('ISTHMUS_RUNTIME_DEFAULT is not set: run it with npm run test:image');
  const { syscalls, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as {
    syscalls: ConditionalRule[];
    archMap?: unknown;
    defaultErrno?: unknown;
  };
  const { archMap: _, defaultErrno: __, ...profile } = rest;
  const has = (name: string) => capabilities.includes(name.replace(/^CAP_/, ''));
  const applies = ({ includes = {}, excludes = {} }: ConditionalRule) =>
    (includes.caps ?? []).every(has) &&
    (includes.arches === undefined || includes.arches.includes(ARCHITECTURE)) &&
    !(excludes.caps ?? []).some(has);
  const chosen = syscalls.filter(applies).map(({ includes: _i, excludes: _e, ...rule }) => {
    const {
      errno: _n,
      comment: _c,
      ...plain
    } = rule as ConditionalRule & { errno?: unknown; comment?: unknown };
    return plain;
  });
  return { ...profile, syscalls: chosen };
}
