// Builds the Debian package: the compiled program, its addon, the pinned Node and the production packages below /usr/lib/isthmus, plus
// units, settings and a user. `task.mjs deb` has set up all inputs, so this file downloads and installs nothing.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pinnedNode, pinnedNodeHome, root } from '../setup/setup.mjs';
import { stageDocuments } from './documents.mjs';
import { libraryDependencies } from './shared-libraries.mjs';

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const HOME = 'usr/lib/isthmus';

/** A network node does not need these files. Licences stay. */
const LEFT_OUT =
  /(\.(d\.[cm]?ts|[cm]?ts|map|md|markdown|test\.[cm]?js)|\.isthmus-stamp)$|\/node_modules\/(@[^/]+\/)?[^/]+\/(tests?|docs|examples?|benchmarks?|\.github)$/;

/** Type declarations, the headers of the addon's C++ wrapper, and the pinned Node. */
const COMPILE_ONLY = /(^|\/)(@types\/[^/]+|undici-types|node-addon-api|@isthmus\/pinned-node)$/;

function copy(from, to) {
  cpSync(from, to, {
    recursive: true,
    filter: (path) =>
      basename(path) !== 'node_modules' && !(LEFT_OUT.test(path) && !/licen[cs]e/i.test(basename(path))),
  });
}

function* filesBelow(path) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) yield* filesBelow(child);
    yield child;
  }
}

/**
 * The packages of node_modules that the running program needs, from the lock file: paths such as node_modules/pino. It excludes packages
 * that serve only development or only compilation.
 */
function productionPackages() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages)
    .filter(
      ([path, { dev, devOptional, link }]) =>
        path.startsWith('node_modules/') && !dev && !devOptional && !link,
    )
    .map(([path]) => path)
    .filter((path) => !COMPILE_ONLY.test(path))
    .sort();
}

function stageProgram(tree) {
  const home = join(tree, HOME);
  copy(join(root, 'dist'), join(home, 'dist'));
  for (const path of productionPackages())
    if (existsSync(join(root, path))) copy(join(root, path), join(home, path));
  mkdirSync(join(home, 'bin'), { recursive: true });
  cpSync(pinnedNode, join(home, 'bin', 'node'), { dereference: true });
  const addon = join('build', 'Release', 'linux_netns.node');
  mkdirSync(join(home, dirname(addon)), { recursive: true });
  cpSync(join(root, addon), join(home, addon));
  return [join(home, 'bin', 'node'), join(home, addon)];
}

function stageSystem(tree, version) {
  const put = (from, to, mode = 0o644) => {
    mkdirSync(join(tree, dirname(to)), { recursive: true });
    cpSync(join(root, from), join(tree, to));
    chmodSync(join(tree, to), mode);
  };
  const { name, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(tree, HOME, 'package.json'), `${JSON.stringify({ name, version, type }, null, 2)}\n`);
  put('deploy/debian/isthmus', 'usr/bin/isthmus', 0o755);
  for (const unit of ['isthmus.service', 'isthmus.socket'])
    put(`deploy/systemd/${unit}`, `usr/lib/systemd/system/${unit}`);
  put('deploy/systemd/isthmus.sysusers', 'usr/lib/sysusers.d/isthmus.conf');
  put('deploy/systemd/isthmus.env', 'etc/default/isthmus');
  put('deploy/debian/copyright', 'usr/share/doc/isthmus/copyright');
  stageDocuments(root, join(tree, 'usr/share/doc/isthmus'));
  const licence = join(pinnedNodeHome, 'LICENSE');
  if (existsSync(licence)) cpSync(licence, join(tree, 'usr/share/doc/isthmus/LICENSE.node'));
  writeFileSync(
    join(tree, 'usr/share/doc/isthmus/changelog.gz'),
    gzipSync(readFileSync(join(root, 'CHANGELOG.md')), { level: 9 }),
  );
}

/** Sets directories and executables to 0755 and other files to 0644, so the umask of the build does not matter. */
function setModes(tree) {
  chmodSync(tree, 0o755);
  for (const path of filesBelow(tree)) {
    const found = lstatSync(path);
    if (found.isSymbolicLink()) continue;
    chmodSync(path, found.isDirectory() || (found.mode & 0o111) !== 0 ? 0o755 : 0o644);
  }
}

function stageControl(tree, version, binaries) {
  const size = Math.ceil([...filesBelow(tree)].reduce((sum, path) => sum + lstatSync(path).size, 0) / 1024);
  mkdirSync(join(tree, 'DEBIAN'));
  const values = {
    VERSION: version,
    ARCHITECTURE: ARCHITECTURES[process.arch],
    SIZE: String(size),
    DEPENDS: [...libraryDependencies(binaries), 'passwd'].join(', '),
  };
  const text = readFileSync(join(root, 'deploy/debian/control'), 'utf8');
  writeFileSync(
    join(tree, 'DEBIAN', 'control'),
    text.replaceAll(/@([A-Z]+)@/g, (_, name) => values[name]),
  );
  writeFileSync(join(tree, 'DEBIAN', 'conffiles'), '/etc/default/isthmus\n');
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm']) {
    cpSync(join(root, 'deploy/debian', script), join(tree, 'DEBIAN', script));
    chmodSync(join(tree, 'DEBIAN', script), 0o755);
  }
  for (const file of ['control', 'conffiles']) chmodSync(join(tree, 'DEBIAN', file), 0o644);
}

/** Builds the package. `compression` is a value for dpkg-deb's -Z. */
export function buildDeb({ directory, version, compression = 'xz' }) {
  const tree = mkdtempSync(join(tmpdir(), 'isthmus-deb-'));
  try {
    const binaries = stageProgram(tree);
    stageSystem(tree, version);
    setModes(tree);
    stageControl(tree, version, binaries);
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `isthmus_${version}_${ARCHITECTURES[process.arch]}.deb`);
    execFileSync('dpkg-deb', ['--root-owner-group', `-Z${compression}`, '--build', tree, file], {
      stdio: 'pipe',
    });
    return { file, bytes: statSync(file).size };
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** The program's version in Debian's notation, where a pre-release sorts before its release. */
export function debVersion() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version.replace('-', '~');
}
