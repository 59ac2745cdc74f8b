// Selects the tests whose result depends on the user's privileges. Runs them and the demo as an unprivileged user, in a copy of the
// clone that belongs to that user.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireTools } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';

/**
 * Folders and files of test/ that use no namespaces, no addon and no started program. They give every user the same result, as do the
 * tests beside the sources in src/ and demo/. Every other file is run, so a new one is included. test/scripts/privileges.test.ts checks
 * these.
 */
export const INDEPENDENT = [
  'architecture',
  ...inFolder('bench', 'flame-graph load peers readme report stretches verdicts'),
  'cli/settings-file.test.ts',
  'fake-kube-api',
  'helm',
  'image',
  'kube',
  'kube-api',
  ...inFolder('scripts', 'end-to-end longest-first nightly privileges seccomp'),
  'tls',
];

function inFolder(folder, names) {
  return names.split(' ').map((name) => `${folder}/${name}.test.ts`);
}

/** The user `nobody`. */
const UID = 65_534;

const isIndependent = (path) => INDEPENDENT.some((each) => path === each || path.startsWith(`${each}/`));

/** Returns the folders of the tests that depend on privileges, or single files of a folder, as vitest's filters. */
export function privilegedTests() {
  return readdirSync(join(root, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const files = readdirSync(join(root, 'test', name), { recursive: true })
        .filter((file) => file.endsWith('.test.ts'))
        .map((file) => `${name}/${file}`);
      const depending = files.filter((file) => !isIndependent(file));
      if (depending.length === 0) return [];
      return depending.length === files.length ? [`test/${name}/`] : depending.map((file) => `test/${file}`);
    });
}

const asNobody = (command) => [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', ...command];

function run(command, options) {
  return new Promise((resolve, reject) => {
    const child = spawn('setpriv', asNobody(command), { stdio: 'inherit', ...options });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** Resolves with the exit code. With `--all`, all tests are run. */
export async function runUnprivileged(args) {
  requireTools(['setpriv', 'unshare']);
  if (process.getuid() !== 0 || spawnSync('setpriv', asNobody(['unshare', '-Ur', 'true'])).status !== 0) {
    const why =
      process.getuid() === 0
        ? 'this kernel allows it no user namespaces'
        : 'only root can become another user';
    process.stderr.write(`! not tried: the demo and the tests as an unprivileged user (${why})\n`);
    return 0;
  }
  const home = mkdtempSync(join(realpathSync(tmpdir()), 'isthmus-unprivileged-'));
  try {
    const copy = join(home, 'isthmus');
    cpSync(root, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    spawnSync('chown', ['-R', `${UID}:${UID}`, home]);
    const options = { cwd: copy, env: { ...process.env, HOME: home } };
    const demo = await run(['npm', 'run', '--silent', 'demo', '--', '--once'], options);
    if (demo !== 0) return demo;
    return await run(
      ['npm', 'run', '--silent', args.includes('--all') ? 'test' : 'test:privileges'],
      options,
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
