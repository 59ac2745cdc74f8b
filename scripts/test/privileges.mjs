// Selects the tests whose result depends on the user's privileges. Runs them and the demo as an unprivileged user, in a copy of the
// clone that belongs to that user.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireTools } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';

/**
 * Folders of test/ that use no namespaces, no addon and no started program. They give every user the same result, as do the tests beside
 * the sources in src/ and demo/. Every other folder is run, so a new one is included. test/scripts/privileges.test.ts checks these.
 */
export const INDEPENDENT = ['architecture', 'fake-kube-api', 'helm', 'image', 'kube', 'kube-api', 'tls'];

/** The user `nobody`. */
const UID = 65_534;

/** Returns the folders of the tests that depend on privileges, as vitest's filters. */
export function privilegedFolders() {
  return readdirSync(join(root, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !INDEPENDENT.includes(entry.name))
    .filter(({ name }) =>
      readdirSync(join(root, 'test', name), { recursive: true }).some((file) => file.endsWith('.test.ts')),
    )
    .map(({ name }) => `test/${name}/`);
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
