// The only way in which scripts and the benchmark fetch programs from the network. Each result is one directory of the user's cache,
// filled once, under a lock, and renamed into place when it is complete. Every source checks what it sends: apt by signature, pip by
// the hashes given here, Go by go.sum. (`npm ci` has its own cache and the hashes of package-lock.json.)
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withLock } from '../setup/lock.mjs';
import { onPath } from '../setup/problems.mjs';
import { runStep } from '../setup/step.mjs';

/** Waits between attempts. A mirror that is being updated or a lost connection is usually back after the first. */
const RETRY_DELAYS_MS = [2_000, 10_000];

export function cacheDirectory() {
  if (process.env.ISTHMUS_TESTBED_CACHE) return process.env.ISTHMUS_TESTBED_CACHE;
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'isthmus');
}

/**
 * Returns the path `name` in the cache. If it does not exist, `fill(path)` makes it under a temporary name. With `inPlace`, `fill` gets
 * the final path, for content that contains its own path; the file `done` inside then marks it as complete.
 */
export async function cached(name, fill, { inPlace = false } = {}) {
  const cache = cacheDirectory();
  const home = join(cache, name);
  const mark = inPlace ? join(home, 'done') : home;
  mkdirSync(cache, { recursive: true });
  await withLock(`${home}.lock`, async () => {
    if (existsSync(mark)) return;
    const place = inPlace ? home : `${home}.unfinished`;
    rmSync(place, { recursive: true, force: true });
    await fill(place);
    if (inPlace) writeFileSync(mark, '');
    else renameSync(place, home);
  });
  return home;
}

/** A step with progress, like runStep(), that is tried again if it fails. `between` runs before each further attempt. */
export async function fetchStep(
  title,
  command,
  args,
  { between = () => {}, delays = RETRY_DELAYS_MS, ...options } = {},
) {
  for (const wait of delays) {
    try {
      return await runStep(title, command, args, options);
    } catch (error) {
      process.stderr.write(`! ${error.message}; next attempt in ${wait / 1000} s\n`);
    }
    await delay(wait);
    await between();
  }
  return runStep(title, command, args, options);
}

/** Downloads Debian packages with their missing dependencies and unpacks them into `directory`. Installs nothing. */
export async function unpackDebian(directory, packages) {
  if (!onPath('apt-get')) throw new Error('apt-get is not on the PATH');
  const archives = join(directory, 'archives');
  mkdirSync(join(archives, 'partial'), { recursive: true });
  const install = ['install', '--download-only', '--reinstall', '--no-install-recommends', '-y'];
  const args = [...install, '-o', `Dir::Cache::Archives=${archives}`, ...packages];
  // The first attempt often fails on a new machine, which has no package lists.
  const between = () => runStep('updating the lists of Debian packages', 'apt-get', ['update']);
  await fetchStep(`fetching ${packages.join(', ')} from Debian`, 'apt-get', args, { between });
  for (const file of readdirSync(archives).filter((each) => each.endsWith('.deb')))
    execFileSync('dpkg-deb', ['-x', join(archives, file), directory]);
  rmSync(archives, { recursive: true });
}

/** Returns the command for pip. Debian's python3 has none, but with python3-venv it makes environments that do. */
async function ensurePip() {
  if (!onPath('python3')) throw new Error('python3 is not on the PATH');
  const python = execFileSync('python3', ['-VV'], { encoding: 'utf8' });
  const hash = createHash('sha256').update(python).digest('hex').slice(0, 16);
  const fill = (home) =>
    runStep('making a Python environment with pip', 'python3', ['-m', 'venv', '--clear', home]);
  // The scripts of an environment contain its path.
  return join(await cached(`pip-${hash}`, fill, { inPlace: true }), 'bin', 'pip');
}

/**
 * Installs the packages of a file with requirements into `directory`, without their dependencies. pip rejects every file whose hash is not
 * among the requirements. `options` can name another platform.
 */
export async function installPython(title, directory, requirements, options = []) {
  const rules = ['--quiet', '--no-deps', '--only-binary=:all:', '--no-compile', '--require-hashes'];
  const args = ['install', ...rules, '--target', directory, ...options, '--requirement', requirements];
  await fetchStep(title, await ensurePip(), args);
}

/** Returns the directory of a package from PyPI. `hashes` are the SHA-256 of its wheels, one per platform. */
export function pythonPackage({ name, version, hashes }) {
  return cached(`${name}-${version}-${process.arch}`, async (directory) => {
    mkdirSync(directory);
    const requirements = join(directory, 'requirements.txt');
    writeFileSync(
      requirements,
      [`${name}==${version}`, ...hashes.map((each) => `--hash=sha256:${each}`)].join(' \\\n  '),
    );
    await installPython(`fetching ${name} ${version} from PyPI`, directory, requirements);
  });
}

/** Returns the directory of a Go module in Go's own cache. `sum` is its line of go.sum. */
export async function goModule(go, { module, version, sum }) {
  const what = `${module}@${version}`;
  const options = { env: { ...process.env, GOFLAGS: '-mod=mod' }, cwd: '/' };
  await fetchStep(`fetching ${what}`, go, ['mod', 'download', what], options);
  const answer = execFileSync(go, ['mod', 'download', '-json', what], { ...options, encoding: 'utf8' });
  const { Dir, Sum } = JSON.parse(answer);
  if (Sum !== sum) throw new Error(`${what} has the checksum ${Sum} instead of ${sum}`);
  return Dir;
}
