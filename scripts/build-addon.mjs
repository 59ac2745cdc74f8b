// Compiles the native addon. Headers come from the Node that is there (the pinned one in a clone, the running one in an
// installed package), so nothing is downloaded; Node-API is stable, so the addon loads in every later Node too.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sanitize = process.argv.includes('--sanitize');
// npm runs us for every install of the package. In a clone the other scripts do so when it is needed, with the pinned Node.
if (process.argv.includes('--if-installed') && existsSync(join(root, 'package-lock.json'))) process.exit(0);

const homes = [join(root, 'node_modules', `node-linux-${process.arch}`), dirname(dirname(process.execPath))];
const home = homes.find((candidate) => existsSync(join(candidate, 'include', 'node', 'node_api.h')));

let nodeGyp;
try {
  nodeGyp = [createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js')];
} catch {
  nodeGyp = undefined; // an installed package has none of its own: npm puts the one it ships on the PATH
}

// node-gyp knows one output directory, `build`, and someone may be running the addon that is there: the sanitized one is
// built from a copy of the sources.
const workshop = join(root, '.cache', 'sanitize');
if (sanitize) {
  rmSync(workshop, { recursive: true, force: true });
  mkdirSync(workshop, { recursive: true });
  for (const name of ['binding.gyp', 'native'])
    cpSync(join(root, name), join(workshop, name), { recursive: true });
}

const command = nodeGyp ? process.execPath : 'node-gyp';
const args = [...(nodeGyp ?? []), 'rebuild', ...(home ? [`--nodedir=${home}`] : [])];
const env = { ...process.env, ISTHMUS_SANITIZE: sanitize ? '1' : '0' };
for (const name of Object.keys(env)) if (/^npm_config_nodedir$/i.test(name)) delete env[name];

const { status, error } = spawnSync(command, args, {
  cwd: sanitize ? workshop : root,
  env,
  stdio: 'inherit',
});
if (error) console.error(`node-gyp did not start: ${error.message}`);
if (sanitize) {
  const target = join(root, 'build-sanitize', 'Release');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const name = 'linux_netns.node';
  if (status === 0) cpSync(join(workshop, 'build', 'Release', name), join(target, name));
}
process.exit(status ?? 1);
