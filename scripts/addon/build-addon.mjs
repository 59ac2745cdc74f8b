// Compiles the native addon. It uses the headers of the local Node (the pinned one in a clone, the running one in an installed
// package) and downloads nothing. Node-API is stable, so the addon also loads in every later Node.
// `--sanitize` and `--flavour <name>` (addon-flavours.mjs) build into separate directories.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolchain } from './addon-flavours.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const sanitize = process.argv.includes('--sanitize');
const flavourAt = process.argv.indexOf('--flavour');
const flavour = flavourAt === -1 ? null : process.argv[flavourAt + 1];
const tools = flavour === null ? { arch: process.arch, environment: {} } : toolchain(flavour);
if (tools.missing !== undefined) {
  console.error(tools.missing);
  process.exit(3); // not 1: the machine lacks something, the sources are fine
}
// npm runs this script on every install of the package. In a clone, the other scripts run it with the pinned Node when needed.
const installed = process.argv.includes('--if-installed');
if (installed && existsSync(join(root, 'package-lock.json'))) process.exit(0);

/** Whether the package contains a prebuilt addon that this machine can load. */
function prebuiltLoads() {
  return ['glibc', 'musl'].some((library) => {
    try {
      createRequire(import.meta.url)(
        join(root, 'prebuilds', `linux-${process.arch}-${library}`, 'linux_netns.node'),
      );
      return true;
    } catch {
      return false; // no build for this machine, or an incompatible C library: compile instead
    }
  });
}
if (installed && prebuiltLoads()) process.exit(0);

const homes = [join(root, 'node_modules', `node-linux-${process.arch}`), dirname(dirname(process.execPath))];
const home = homes.find((candidate) => existsSync(join(candidate, 'include', 'node', 'node_api.h')));

let nodeGyp;
try {
  nodeGyp = [createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js')];
} catch {
  nodeGyp = undefined; // an installed package has no node-gyp of its own: npm puts its bundled copy on the PATH
}

// node-gyp always writes to `build`, and a running process may use the addon in that directory. Every other variant therefore
// builds from a copy of the sources.
const apart = sanitize ? 'sanitize' : flavour;
const workshop = apart === null ? root : join(root, '.cache', `addon-${apart}`);
if (apart !== null) {
  rmSync(workshop, { recursive: true, force: true });
  mkdirSync(workshop, { recursive: true });
  for (const name of ['binding.gyp', 'native'])
    cpSync(join(root, name), join(workshop, name), { recursive: true });
}

const command = nodeGyp ? process.execPath : 'node-gyp';
const args = [
  ...(nodeGyp ?? []),
  'rebuild',
  '--jobs=max',
  `--arch=${tools.arch}`,
  ...(home ? [`--nodedir=${home}`] : []),
];
const env = {
  ...process.env,
  ...tools.environment,
  ISTHMUS_SANITIZE: sanitize ? '1' : '0',
  ISTHMUS_PORTABLE: flavour === null ? '0' : '1',
};
for (const name of Object.keys(env)) if (/^npm_config_nodedir$/i.test(name)) delete env[name];

const { status, error } = spawnSync(command, args, { cwd: workshop, env, stdio: 'inherit' });
if (error) console.error(`node-gyp did not start: ${error.message}`);
if (apart !== null) {
  const target = sanitize ? join(root, 'build-sanitize', 'Release') : join(root, 'prebuilds', flavour);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const name = 'linux_netns.node';
  if (status === 0) cpSync(join(workshop, 'build', 'Release', name), join(target, name));
}
if (installed && status !== 0) {
  console.error(
    `isthmus: this package has no prebuilt addon that loads on linux-${process.arch} with this C library, and none could be ` +
      'compiled here. Install make, a C++20 compiler and python3 (Debian: apt-get install make g++ python3; ' +
      'Alpine: apk add make g++ python3), then: npm rebuild isthmus',
  );
}
process.exit(status ?? 1);
