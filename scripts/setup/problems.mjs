// Detects tools that the machine lacks and explains how to install them. Runs on Node 18 or later, before anything is installed.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A problem of the machine, not of the program. It is printed with its fix and without a stack trace. */
export class MissingError extends Error {
  constructor(problems) {
    super(problems.map((p) => `  ✗ ${p.what}\n    → ${p.fix}`).join('\n'));
    this.problems = problems;
  }
}

export function onPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function install(packages) {
  const managers = {
    'apt-get': 'apt-get install -y',
    dnf: 'dnf install -y',
    zypper: 'zypper install -y',
    apk: 'apk add',
  };
  const manager = Object.keys(managers).find(onPath);
  const names = packages[manager] ?? packages['apt-get'];
  return `install it: ${manager ? managers[manager] : 'your package manager, packages'} ${names}`;
}

const tools = {
  ip: {
    what: '`ip` (iproute2) is not on the PATH: the network namespaces of the tests and the demo are made with it',
    packages: { 'apt-get': 'iproute2', dnf: 'iproute', zypper: 'iproute2', apk: 'iproute2' },
  },
  unshare: {
    what: '`unshare` (util-linux) is not on the PATH: tests and demo run in namespaces of their own',
    packages: { 'apt-get': 'util-linux', apk: 'util-linux-misc' },
  },
  mount: {
    what: '`mount` (util-linux) is not on the PATH: the sandbox needs a /run of its own',
    packages: { 'apt-get': 'mount', dnf: 'util-linux', zypper: 'util-linux', apk: 'util-linux-misc' },
  },
  setpriv: {
    what: '`setpriv` (util-linux) is not on the PATH: Isthmus is started with the privileges of a Pod and of a systemd unit',
    packages: { 'apt-get': 'util-linux', apk: 'setpriv' },
  },
  taskset: {
    what: '`taskset` (util-linux) is not on the PATH: the benchmark pins each process to a core',
    packages: { 'apt-get': 'util-linux', apk: 'util-linux-misc' },
  },
  perf: {
    what: '`perf` is not on the PATH: a profile is recorded with it',
    packages: { 'apt-get': 'linux-perf', dnf: 'perf', zypper: 'perf', apk: 'perf' },
  },
  openssl: {
    what: '`openssl` is not on the PATH: the certificates of the tests and the demo are made with it',
    packages: { 'apt-get': 'openssl' },
  },
  make: {
    what: '`make` is not on the PATH: the native addon is compiled on this machine',
    packages: {
      'apt-get': 'make g++ python3',
      dnf: 'make gcc-c++ python3',
      zypper: 'make gcc-c++ python3',
      apk: 'make g++ python3',
    },
  },
  'c++': {
    what: 'no C++ compiler (`c++`, `g++` or `clang++`) is on the PATH: the native addon is compiled on this machine',
    alternatives: ['c++', 'g++', 'clang++'],
    packages: { 'apt-get': 'g++', dnf: 'gcc-c++', zypper: 'gcc-c++', apk: 'g++' },
  },
  'dpkg-deb': {
    what: '`dpkg-deb` is not on the PATH: the Debian package is made with it',
    packages: { 'apt-get': 'dpkg', dnf: 'dpkg', zypper: 'dpkg', apk: 'dpkg' },
  },
  mmdebstrap: {
    what: '`mmdebstrap` is not on the PATH: it makes the Debian into which the package is installed',
    packages: { 'apt-get': 'mmdebstrap' },
  },
  python3: {
    what: '`python3` is not on the PATH: node-gyp needs it to compile the native addon',
    packages: { 'apt-get': 'python3' },
  },
};

/** Throws one MissingError that names every missing tool at once. */
export function requireTools(names) {
  const problems = [];
  if (process.platform !== 'linux') {
    problems.push({
      what: `this is ${process.platform}: network namespaces exist on Linux only`,
      fix: 'use a Linux machine or VM',
    });
  }
  for (const name of names) {
    const tool = tools[name];
    if (!(tool.alternatives ?? [name]).some(onPath))
      problems.push({ what: tool.what, fix: install(tool.packages) });
  }
  if (problems.length > 0) throw new MissingError(problems);
}
