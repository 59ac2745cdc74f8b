// Provides the Debian programs that the end-to-end tests and the image build run. It uses the machine's own program, or downloads
// the Debian packages and unpacks them into the cache. It installs nothing on the machine.
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MissingError, onPath } from '../setup/problems.mjs';
import { cacheDirectory, cached, unpackDebian } from './downloader.mjs';

/** The names that Debian's `update-alternatives` links to the iptables variant that writes nftables rules. */
const IPTABLES = ['iptables', 'ip6tables'].flatMap((name) => [name, `${name}-save`, `${name}-restore`]);

const PACKET_FILTER = {
  name: 'packet-filter',
  packages: ['nftables', 'iptables'],
  programs: ['nft', ...IPTABLES],
  links: Object.fromEntries(IPTABLES.map((name) => [name, 'xtables-nft-multi'])),
  why: 'kube-proxy writes its rules with them',
};
const HAPROXY = { name: 'haproxy', packages: ['haproxy'], programs: ['haproxy'] };
/** Each program is fetched separately. Libraries are listed explicitly: apt skips them if it considers them already installed. */
const BUILD_AND_RUN = {
  buildah: { packages: ['buildah', 'libgpgme11', 'libassuan0'], why: 'the image is built with it' },
  crun: { packages: ['crun', 'libyajl2', 'libseccomp2'], why: 'Isthmus is started in a container with it' },
  runc: { packages: ['runc', 'libseccomp2'], why: 'the image is started with it too' },
  mmdebstrap: { packages: ['mmdebstrap'], script: true, why: 'the base of the image is made with it' },
  strace: { packages: ['strace', 'libunwind8'], why: 'system calls are recorded with it' },
};

/** The runtime of the test nodes. The machine's own containerd is never used: its version and its configuration are not ours. */
const NODE_RUNTIME = {
  name: 'node-runtime',
  packages: ['containerd', 'runc', 'containernetworking-plugins', 'libseccomp2', 'patchelf'],
  relocated: ['runc'],
};

const libraryPath = (home) => {
  const machine = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return ['usr/lib', 'lib'].map((directory) => join(home, directory, machine)).join(':');
};

const programIn = (home, name) =>
  ['usr/bin', 'usr/sbin', 'bin', 'sbin'].map((place) => join(home, place, name)).find(existsSync);

async function fetchPrograms(what) {
  const { packages, links = {}, relocated = [] } = what;
  const name = `debian-${what.name}-1`;
  const home = join(cacheDirectory(), name);
  await cached(name, async (directory) => {
    await unpackDebian(directory, packages);
    for (const [link, target] of Object.entries(links)) {
      const path = join(directory, 'usr', 'sbin', link);
      rmSync(path, { force: true });
      symlinkSync(target, path);
    }
    // Some programs re-execute themselves with an empty environment. The rpath lets them find their libraries without LD_LIBRARY_PATH.
    const rpath = ['--force-rpath', '--set-rpath', libraryPath(home)];
    for (const each of relocated)
      execFileSync(programIn(directory, 'patchelf'), [...rpath, programIn(directory, each)]);
  });
  return { home, programs: join(home, 'usr', 'sbin'), libraries: libraryPath(home) };
}

const isInstalled = (name) => onPath(name) || existsSync(join('/usr/sbin', name));

/** Returns the programs' directory and their LD_LIBRARY_PATH, or null if the machine has them. Throws if they cannot be fetched. */
async function ensure(what) {
  return what.programs.every(isInstalled) ? null : fetchPrograms(what);
}

/** Fetches one program even if the machine has it. Returns its path and its LD_LIBRARY_PATH. */
export async function fetchedProgram(name, packages = [name]) {
  const { home, libraries } = await fetchPrograms({ name, packages });
  const path = programIn(home, name);
  if (path === undefined) throw new Error(`${packages.join(', ')} contains no ${name}`);
  return { path, libraries };
}

/** Returns the environment variables that tell the tests where nft and iptables are; empty if the machine has them. */
export async function ensurePacketFilter() {
  const { packages, why } = PACKET_FILTER;
  try {
    const found = await ensure(PACKET_FILTER);
    if (found === null) return {};
    return {
      ISTHMUS_PACKET_FILTER: found.programs,
      ISTHMUS_PACKET_FILTER_LIBRARIES: found.libraries,
    };
  } catch (error) {
    const what = `neither nft and iptables nor a way to fetch them (${error.message}): ${why}`;
    throw new MissingError([{ what, fix: `install it: apt-get install -y ${packages.join(' ')}` }]);
  }
}

export const ensureHaproxy = () => ensure(HAPROXY);

/** Returns the path of a program from `BUILD_AND_RUN`. */
export async function ensureProgram(name) {
  const { packages, why, script = false } = BUILD_AND_RUN[name];
  try {
    const relocated = script ? [] : [name];
    const all = script ? packages : [...packages, 'patchelf'];
    const found = await ensure({ name, packages: all, programs: [name], relocated });
    return found === null ? name : programIn(found.home, name);
  } catch (error) {
    const what = `neither ${name} nor a way to fetch it (${error.message}): ${why}`;
    throw new MissingError([{ what, fix: `install it: apt-get install -y ${packages[0]}` }]);
  }
}

/** Returns the /usr/share directory that belongs to a program: the machine's own, or the unpacked one. */
export async function ensureShared(name) {
  const command = await ensureProgram(name);
  return command === name ? '/usr/share' : join(dirname(dirname(command)), 'share');
}

/** Returns the environment variables that tell the tests of real nodes where containerd, runc and the CNI plugins are. */
export async function ensureNodeRuntime() {
  try {
    const { home } = await fetchPrograms(NODE_RUNTIME);
    return {
      ISTHMUS_NODE_RUNTIME: ['bin', 'sbin'].map((directory) => join(home, 'usr', directory)).join(':'),
      ISTHMUS_NODE_CNI: join(home, 'usr', 'lib', 'cni'),
    };
  } catch (error) {
    const what = `containerd, runc and the CNI plugins cannot be fetched from Debian (${error.message})`;
    throw new MissingError([
      { what, fix: 'use a Debian with apt-get and its package lists (apt-get update)' },
    ]);
  }
}

/**
 * Returns the environment variables that tell the end-to-end tests where crun is, or why it is missing. The tests then report that and
 * skip the container cases.
 */
export async function ensureCrun() {
  try {
    return { ISTHMUS_E2E_CRUN: await ensureProgram('crun') };
  } catch (error) {
    process.stderr.write(`! not tried: Isthmus in a container\n${error.message}\n`);
    return { ISTHMUS_E2E_CRUN_MISSING: error.problems?.[0]?.what ?? error.message };
  }
}
