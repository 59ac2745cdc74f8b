// Checks the content of the netns directory and, in a container, whether namespaces that the host adds later appear in it.
import { type Dirent, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isNetworkNetns, netnsPrefixes } from '../../control/world/netns-index.ts';
import { identify } from '../../netns/identify.ts';
import { hiddenHost, MOUNT_NETNS, type MountPlace, placeOf } from '../../netns/mount-place.ts';
import type { NativeAddon } from '../../netns/native.ts';
import { type Check, type Finding, ok, problem, warning } from './check.ts';
import type { LoadedAddon } from './machine-checks.ts';

export interface NetnsCheckOptions {
  readonly directory: string;
  /** `--netns-prefixes` */
  readonly addedPrefixes: readonly string[];
  readonly loaded: LoadedAddon;
  readonly inContainer: boolean;
  /** Set by tests; read from the kernel otherwise. */
  readonly mountinfo?: string;
}

export function netnsCheck(options: NetnsCheckOptions): Check {
  return { name: 'netns', after: ['addon'], run: () => look(options) };
}

/** What the rules judge. */
interface DirectoryView extends Sorted {
  readonly directory: string;
  readonly inContainer: boolean;
  readonly isEmpty: boolean;
  readonly mountinfo: string | undefined;
  /** How many usable namespaces have the name of a Neutron network. */
  readonly known: number;
  readonly counts: string;
  /** null outside a container. */
  readonly place: MountPlace | null;
}

function look(options: NetnsCheckOptions): Finding {
  const { directory, addedPrefixes, loaded, inContainer, mountinfo } = options;
  let files: Dirent[];
  try {
    files = readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    return unreadable(error as NodeJS.ErrnoException, options);
  }
  const { usable, unusable } = sorted(files, directory, loaded.addon as NativeAddon);
  const prefixes = netnsPrefixes(addedPrefixes);
  const known = usable.filter((name) => isNetworkNetns(name, prefixes)).length;
  const counts =
    `${usable.length} network ${usable.length === 1 ? 'namespace' : 'namespaces'} in ${directory}, ` +
    `${known} of them named ${prefixes.map((prefix) => `${prefix}…`).join(' or ')}`;
  const place = inContainer ? placeOf(directory, mountinfo) : null;
  const isEmpty = files.length === 0;
  const view = { directory, inContainer, isEmpty, mountinfo, usable, unusable, known, counts, place };
  for (const rule of RULES) {
    const finding = rule(view);
    if (finding !== null) return finding;
  }
  return ok(counts);
}

function unreadable(
  { code, message }: NodeJS.ErrnoException,
  { directory, inContainer }: NetnsCheckOptions,
): Finding {
  if (code !== 'ENOENT')
    return problem(
      `${directory} cannot be read: ${message}`,
      'Let this user read it, or correct --netns-dir.',
    );
  const found = `${directory} does not exist`;
  return inContainer
    ? problem(`${found} in this container`, MOUNT_NETNS)
    : warning(
        found,
        'The first network namespace creates it. If this host has them in another directory, set --netns-dir.',
      );
}

/** In order: the first finding counts. */
const RULES: readonly ((view: DirectoryView) => Finding | null)[] = [
  function noneUsable({ directory, inContainer, usable, unusable: [first, ...others] }) {
    if (first === undefined || usable.length > 0) return null;
    return problem(
      `none of the ${others.length + 1} entries of ${directory} can be used: ${first.name} is ${first.reason}`,
      inContainer ? MOUNT_NETNS : 'Remove the files of deleted namespaces, or correct --netns-dir.',
    );
  },
  function hostHidden({ directory, inContainer, isEmpty, mountinfo }) {
    const hidden = inContainer && isEmpty && mountinfo === undefined ? hiddenHost(directory) : null;
    return hidden === null ? null : problem(hidden, MOUNT_NETNS);
  },
  function privateMount({ usable, counts, place }) {
    if (place?.propagation !== 'private') return null;
    return (usable.length === 0 ? problem : warning)(
      `${counts}; namespaces that the host adds later will not be seen here (the mount is private)`,
      MOUNT_NETNS,
    );
  },
  function noNamespace({ inContainer, usable, counts }) {
    if (usable.length > 0) return null;
    return warning(
      counts,
      inContainer
        ? `If the host has some (ip netns list): ${MOUNT_NETNS}`
        : 'If this is a network node: is the DHCP or OVN metadata agent running, and --netns-dir right?',
    );
  },
  function someUnusable({ unusable: [first, ...others], counts }) {
    if (first === undefined) return null;
    return warning(
      `${counts}; ${others.length + 1} cannot be used: ${first.name} is ${first.reason}`,
      'Remove the files of deleted namespaces (ip netns delete <name>).',
    );
  },
  function noNetworkNode({ known, counts }) {
    if (known > 0) return null;
    return warning(
      counts,
      'On a network node the DHCP or the OVN metadata agent creates them. Is this host a network node?',
    );
  },
  // `ip netns add` makes the directory a mount for the first namespace after a boot.
  function lostReadOnly({ counts, place }) {
    if (place?.lostReadOnly !== true) return null;
    return warning(
      `${counts}; the directory is writable here, although it was mounted read-only: the host has made it a separate mount since then`,
      'Restart this container. To prevent this state, enable run-netns.mount on the host (docs/how-to/install/kubernetes.md).',
    );
  },
];

interface Sorted {
  readonly usable: readonly string[];
  readonly unusable: readonly { readonly name: string; readonly reason: string }[];
}

function sorted(files: readonly Dirent[], directory: string, addon: NativeAddon): Sorted {
  const usable: string[] = [];
  const unusable: { name: string; reason: string }[] = [];
  for (const file of files) {
    const { name } = file;
    const found = identify(addon, join(directory, name), file);
    // The setns check reports a missing right to enter them.
    if (found.kind === 'netns' || (found.kind === 'problem' && found.reason.startsWith('not permitted')))
      usable.push(name);
    else if (found.kind === 'problem') unusable.push({ name, reason: found.reason });
  }
  return { usable, unusable };
}

/** A guess from the environment and from marker files. */
export function seemsContainer(environment: Readonly<Record<string, string | undefined>>): boolean {
  return (
    environment.KUBERNETES_SERVICE_HOST !== undefined ||
    environment.container !== undefined ||
    ['/.dockerenv', '/run/.containerenv'].some((path) => existsSync(path))
  );
}
