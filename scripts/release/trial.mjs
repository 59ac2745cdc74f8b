// Tests the packed package like a user on a clean machine: installs only the archive with `npm install`, then runs the program.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pinnedNode } from '../setup/setup.mjs';

const NEEDED_BY_NPM = [
  'sh',
  'env',
  'node',
  'npm',
  'uname',
  'getconf',
  'ldd',
  'python3',
  'sed',
  'grep',
  'cat',
];

/** Returns a PATH with a few programs of this machine and no compiler. */
function pathWithoutCompiler(directory) {
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  symlinkSync(pinnedNode, join(bin, 'node'));
  const places = (process.env.PATH ?? '').split(delimiter);
  for (const name of NEEDED_BY_NPM.filter((each) => each !== 'node')) {
    const found = places.map((place) => join(place, name)).find((each) => existsSync(each));
    if (found !== undefined) symlinkSync(found, join(bin, name));
  }
  return bin;
}

function tried(command, args, options) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: 900_000,
    ...options,
  });
  return { status, said: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim() };
}

/**
 * Installs `archive` into a temporary directory. `compiler: false` hides every compiler. `prebuilt: false` removes the prebuilt addons
 * from the package, which then compiles. Returns whether `isthmus doctor` loads the addon, and the output of the program.
 */
export function tryPackage(archive, { compiler, prebuilt }) {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-install-'));
  try {
    const env = { ...process.env, npm_config_update_notifier: 'false' };
    for (const name of Object.keys(env))
      if (/^npm_(config_nodedir|lifecycle|package)/i.test(name)) delete env[name];
    if (!compiler) env.PATH = pathWithoutCompiler(directory);
    writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
    const npm = (...args) =>
      tried('npm', [...args, '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'], {
        cwd: directory,
        env,
      });
    const installed = npm('install', ...(prebuilt ? [] : ['--ignore-scripts']), archive);
    if (installed.status !== 0) return { ok: false, said: installed.said };
    const home = join(directory, 'node_modules', 'isthmus');
    if (!prebuilt) {
      rmSync(join(home, 'prebuilds'), { recursive: true, force: true });
      const built = npm('rebuild', 'isthmus', '--foreground-scripts');
      if (built.status !== 0) return { ok: false, said: built.said };
    }
    const program = join(directory, 'node_modules', '.bin', 'isthmus');
    const ours = { ...env, PATH: `${dirname(pinnedNode)}${delimiter}${env.PATH}` };
    const version = tried(program, ['version'], { env: ours });
    if (version.status !== 0) return { ok: false, said: version.said };
    const doctor = tried(program, ['doctor', '--source', `file:${directory}`], { env: ours });
    const loads = doctor.said.includes('the native addon loads');
    return { ok: loads, said: loads ? version.said : doctor.said };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
