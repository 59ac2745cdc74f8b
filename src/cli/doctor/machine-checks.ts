// The checks of the machine: configuration, Node, clock, addon, the right to enter network namespaces, descriptors.
import { closeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { descriptorBudget, descriptorLimit } from '../../lifecycle/descriptor-limit.ts';
import { CLOCK_FIX, clockProblem, nodeProblem } from '../../lifecycle/start-checks.ts';
import type { NativeAddon } from '../../netns/native.ts';
import { type Check, type Finding, ok, problem, warning } from './check.ts';

/** Filled by the addon check; null before it, and if the addon does not load. */
export interface LoadedAddon {
  addon: NativeAddon | null;
}

export interface ConfigurationFacts {
  /** A sentence for each wrong setting. */
  readonly problems?: readonly string[];
  readonly warnings: readonly string[];
  /** Where settings come from besides the command line and the environment of this command. */
  readonly sources?: readonly string[];
}

export function configurationCheck({ problems = [], warnings, sources = [] }: ConfigurationFacts): Check {
  return {
    name: 'configuration',
    run: () => {
      if (problems.length > 0)
        return problem(
          problems.join('; '),
          'Correct these settings (isthmus run --help). The other checks use the default in place of each.',
        );
      return warnings.length === 0
        ? ok(['every flag and variable can be read', ...sources.map((each) => `also ${each}`)].join(', '))
        : warning(warnings.join('; '), 'Correct the values that the warning names.');
    },
  };
}

export function nodeCheck(version: string, path: string): Check {
  return {
    name: 'node',
    run: () => {
      const wrong = nodeProblem(version, path);
      return wrong === null ? ok(`Node ${version}`) : problem(wrong, 'Run it with a newer Node.');
    },
  };
}

/** Checks only this host's clock. clockCheck compares it with the API server's, and needs an answer from the server. */
export function dateCheck(wallNow: () => number): Check {
  return {
    name: 'date',
    run: () => {
      const wrong = clockProblem(wallNow());
      return wrong === null ? ok('the clock is plausible') : problem(wrong, CLOCK_FIX);
    },
  };
}

export function addonCheck(loaded: LoadedAddon): Check {
  return {
    name: 'addon',
    run: async () => {
      try {
        loaded.addon = (await import('../../netns/native.ts')).native;
        return ok('the native addon loads');
      } catch (error) {
        return problem(
          `the native addon does not load: ${(error as Error).message.split('\n', 1)[0]}`,
          'Compile it for this Node and libc: npm rebuild isthmus, or npm run setup in a clone.',
        );
      }
    },
  };
}

const OWN_NETNS = '/proc/thread-self/ns/net';
const CAP_SYS_ADMIN = 21n;

export function setnsCheck(loaded: LoadedAddon, status = '/proc/self/status'): Check {
  return {
    name: 'setns',
    after: ['addon'],
    run: async () => {
      const effective = effectiveCapabilities(await readFile(status, 'utf8'));
      const mayEnter = effective === null || ((effective >> CAP_SYS_ADMIN) & 1n) === 1n;
      return mayEnter ? triedSetns(loaded.addon as NativeAddon) : problem('CAP_SYS_ADMIN is missing', GRANT);
    },
  };
}

const GRANT =
  'Grant it: AmbientCapabilities=CAP_SYS_ADMIN in a systemd unit; in a Pod runAsUser: 0 and ' +
  'capabilities: {drop: [ALL], add: [SYS_ADMIN]}.';

export function effectiveCapabilities(status: string): bigint | null {
  const digits = /^CapEff:\s*([0-9a-f]+)$/im.exec(status)?.[1];
  return digits === undefined ? null : BigInt(`0x${digits}`);
}

/** Enters this process's own netns: it always exists, and entering it has no effect. */
function triedSetns(addon: NativeAddon): Finding {
  const home = addon.ownIdentity();
  try {
    const netns = addon.openNetns(OWN_NETNS);
    try {
      closeSync(netns.createTcpSocket(4));
    } finally {
      netns.close();
    }
  } catch (error) {
    const { message } = error as Error;
    return problem(
      `CAP_SYS_ADMIN is effective, but a network namespace cannot be entered: ${message}`,
      'Run it outside of a user namespace, and allow setns(CLONE_NEWNET) in its seccomp profile (RestrictNamespaces= of systemd too).',
    );
  }
  // The addon aborts the process if it cannot return. This check repeats it, because all isolation depends on it.
  return addon.ownIdentity() === home
    ? ok('CAP_SYS_ADMIN is effective; a thread entered a network namespace and returned')
    : problem(
        'this thread is in another network namespace now',
        'This is a bug of isthmus: please report it.',
      );
}

export function descriptorCheck(wantedConnections: number, limit?: number): Check {
  return {
    name: 'descriptors',
    run: () => {
      const descriptors = limit ?? descriptorLimit();
      const { maxConnections } = descriptorBudget(descriptors, wantedConnections);
      const shown = Number.isFinite(descriptors) ? `${descriptors} open files` : 'open files without limit';
      return maxConnections < wantedConnections
        ? warning(
            `${shown} are enough for ${maxConnections} connections, not for --max-connections ${wantedConnections}`,
            'Raise LimitNOFILE= (systemd) or ulimit -n, or lower --max-connections.',
          )
        : ok(`${shown} are enough for --max-connections ${wantedConnections}`);
    },
  };
}
