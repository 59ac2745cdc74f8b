// Provides Zig, which compiles the addon for every machine and C library of a release. Debian has no package for it, so it comes from
// PyPI and is unpacked into the cache.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../setup/lock.mjs';
import { onPath } from '../setup/problems.mjs';
import { runStep } from '../setup/step.mjs';
import { cacheDirectory } from './testbed.mjs';

const VERSION = '0.17.0';

/** Returns the path of the zig program. */
export async function ensureZig() {
  if (!onPath('python3')) throw new Error('python3 is not on the PATH');
  const cache = cacheDirectory();
  const home = join(cache, `zig-${VERSION}-${process.arch}`);
  mkdirSync(cache, { recursive: true });
  await withLock(`${home}.lock`, async () => {
    if (existsSync(home)) return;
    const unfinished = `${home}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished);
    const pip = [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--only-binary=:all:',
      '--dest',
      unfinished,
    ];
    await runStep('fetching zig from PyPI (100 MB, once)', 'python3', [...pip, `ziglang==${VERSION}`]);
    const wheel = join(unfinished, readdirSync(unfinished)[0]);
    // A wheel is a zip archive. Python unpacks it without `unzip`, but loses the executable permissions.
    execFileSync('python3', ['-m', 'zipfile', '-e', wheel, unfinished]);
    chmodSync(join(unfinished, 'ziglang', 'zig'), 0o755);
    rmSync(wheel);
    renameSync(unfinished, home);
  });
  return join(home, 'ziglang', 'zig');
}
