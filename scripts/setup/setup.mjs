// Sets up a fresh clone: dependencies, native addon, compiled output. Each one has a stamp with the hash of its inputs, so a second
// run takes a few milliseconds. Plain JavaScript with built-ins only, because it runs before npm has installed anything.
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { requireTools } from './problems.mjs';
import { runStep } from './step.mjs';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const at = (...parts) => join(root, ...parts);

export const pinnedNodeHome = at('node_modules', `node-linux-${process.arch}`);
export const pinnedNode = join(pinnedNodeHome, 'bin', 'node');

/** The environment of every child: the pinned Node comes first on the PATH. npm settings that name another Node are removed. */
export function childEnvironment(extra = {}) {
  const env = { ...process.env, ...extra };
  for (const name of Object.keys(env))
    if (/^npm_config_(nodedir|node_gyp|target|runtime)$/i.test(name)) delete env[name];
  env.PATH = `${join(pinnedNodeHome, 'bin')}:${at('node_modules', '.bin')}:${env.PATH ?? ''}`;
  return env;
}

function filesBelow(path) {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const child = join(path, entry.name);
    return entry.isDirectory() ? filesBelow(child) : [child];
  });
}

function hashOf(files, extra = '') {
  const hash = createHash('sha256').update(extra);
  for (const file of [...files].sort())
    hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}

async function whenStale(stampFile, hash, work) {
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === hash) return false;
  rmSync(stampFile, { force: true });
  await work();
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, hash);
  return true;
}

/** npm skips optional packages whose `engines` exclude this Node. The strictest package in use requires Node 20.19. */
function isTooOldForOptionalPackages() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major < 20 || (major === 20 && minor < 19);
}

/** The fields of package.json that npm compares with the lock file. A new npm script must not reinstall everything. */
function dependencyFields() {
  const { dependencies, devDependencies, overrides } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  return JSON.stringify({ dependencies, devDependencies, overrides });
}

async function ensureDependencies() {
  const inputs = [at('package-lock.json'), at('tools', 'pinned-node', 'package.json')];
  const hash = hashOf(inputs, `${process.arch}${dependencyFields()}`);
  await whenStale(at('node_modules', '.isthmus-stamp'), hash, async () => {
    // With the path of npm's script, a Node other than the one on the PATH can run npm.
    const script = process.env.npm_execpath?.endsWith('.js') ? process.env.npm_execpath : undefined;
    // No dependency needs its install scripts. Skipping them keeps foreign code from running at install time.
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const [command, first] = script ? [process.execPath, [script]] : ['npm', []];
    await runStep('installing dependencies (npm ci)', command, [...first, ...args], { cwd: root });
    if (!isTooOldForOptionalPackages() || !script) return;
    mkdirSync(at('.cache'), { recursive: true });
    const copy = at('.cache', 'node'); // npm ci deletes the pinned Node in node_modules, so a copy must run it
    copyFileSync(pinnedNode, copy);
    const title = `installing them again with the pinned Node, since this machine's is ${process.versions.node}`;
    await runStep(title, copy, [script, ...args], { cwd: root });
    rmSync(copy);
  });
  if (!existsSync(pinnedNode)) {
    throw new Error(
      `no pinned Node for linux/${process.arch}: tools/pinned-node/package.json lists the platforms`,
    );
  }
}

const addonDirectory = (sanitize) => (sanitize ? 'build-sanitize' : 'build');

function isBuilt(sanitize) {
  return existsSync(at(addonDirectory(sanitize), '.isthmus-stamp'));
}

async function ensureAddon({ sanitize = false } = {}) {
  const inputs = [...filesBelow(at('native')), at('binding.gyp')].filter(
    (file) => !/\.(md|ts)$/.test(file) && !file.startsWith(at('native', 'test')),
  );
  const version = readFileSync(join(pinnedNodeHome, 'package.json'), 'utf8');
  await whenStale(at(addonDirectory(sanitize), '.isthmus-stamp'), hashOf(inputs, version), async () => {
    requireTools(['make', 'c++', 'python3']);
    const args = ['scripts/addon/build-addon.mjs', ...(sanitize ? ['--sanitize'] : [])];
    const title = sanitize
      ? 'compiling the native addon with ASan and UBSan'
      : 'compiling the native addon (node-gyp)';
    await runStep(title, pinnedNode, args, { cwd: root, env: childEnvironment() });
  });
}

/** Sets up everything that a task needs, one set-up at a time. Reports missing tools before it downloads anything. */
export function setUp({ addon = true, compiled = true, sanitize = false } = {}) {
  if (addon && !isBuilt(sanitize)) requireTools(['make', 'c++', 'python3']);
  return withLock(at('.cache', 'setup.lock'), async () => {
    await ensureDependencies();
    if (addon) await ensureAddon({ sanitize });
    if (compiled) await ensureCompiled();
  });
}

async function ensureCompiled() {
  const sources = filesBelow(at('src')).filter((file) => !/\.(test|conformance)\.ts$/.test(file));
  const inputs = [...sources, at('tsconfig.json'), at('tsconfig.build.json')];
  await whenStale(at('dist', '.isthmus-stamp'), hashOf(inputs), async () => {
    rmSync(at('dist'), { recursive: true, force: true });
    const args = [at('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json'];
    await runStep('compiling TypeScript', pinnedNode, args, { cwd: root, env: childEnvironment() });
  });
}
