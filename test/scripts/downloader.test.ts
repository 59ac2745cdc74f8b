// The downloader without the network: what is in the cache is complete, made once, and a failed attempt is repeated.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const { cached, fetchStep, pythonPackage } = (await import(
  fileURLToPath(new URL('../../scripts/fetch/downloader.mjs', import.meta.url))
)) as {
  cached: (
    name: string,
    fill: (directory: string) => Promise<void>,
    options?: { inPlace?: boolean },
  ) => Promise<string>;
  fetchStep: (
    title: string,
    command: string,
    args: readonly string[],
    options: { delays: readonly number[]; between?: () => void },
  ) => Promise<void>;
  pythonPackage: (options: { name: string; version: string; hashes: readonly string[] }) => Promise<string>;
};

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'isthmus-test-cache-'));
  process.env.ISTHMUS_TESTBED_CACHE = cache;
});
afterEach(() => {
  delete process.env.ISTHMUS_TESTBED_CACHE;
  rmSync(cache, { recursive: true, force: true });
});

async function fill(directory: string): Promise<void> {
  mkdirSync(directory);
  writeFileSync(join(directory, 'program'), directory);
}

async function breakOff(directory: string): Promise<void> {
  await fill(directory);
  throw new Error('the connection was lost');
}

test.each([
  ['under another name', { inPlace: false }, 'tool.unfinished'],
  ['in place if the content needs its own path', { inPlace: true }, 'tool'],
])('a directory of the cache is filled once, %s', async (_title, options, filledAs) => {
  const home = await cached('tool', fill, options);
  expect(home).toBe(join(cache, 'tool'));
  expect(readFileSync(join(home, 'program'), 'utf8')).toBe(join(cache, filledAs));
  expect(await cached('tool', () => Promise.reject(new Error('filled again')), options)).toBe(home);
});

test.each([{ inPlace: false }, { inPlace: true }])(
  'an incomplete download is never used, and the next one begins with nothing (%o)',
  async (options) => {
    await expect(cached('tool', breakOff, options)).rejects.toThrow('the connection was lost');
    const home = await cached(
      'tool',
      async (directory) => {
        expect(existsSync(directory)).toBe(false);
        await fill(directory);
      },
      options,
    );
    expect(existsSync(join(home, 'program'))).toBe(true);
    expect(readdirSync(cache)).toEqual(['tool']);
  },
);

/** A command that fails until it has been run `times` times, and the file that counts the runs. */
function failingUntil(times: number) {
  const runs = join(cache, 'runs');
  writeFileSync(runs, '');
  const script = `echo run >> "$1"; test "$(wc -l < "$1")" -ge ${times}`;
  return { args: ['-c', script, 'sh', runs], count: () => readFileSync(runs, 'utf8').split('\n').length - 1 };
}

test('a step that fails is tried again after `between`', async () => {
  const { args, count } = failingUntil(3);
  let between = 0;
  await fetchStep('fetching', 'sh', args, {
    delays: [0, 0],
    between: () => {
      between += 1;
    },
  });
  expect([count(), between]).toEqual([3, 2]);
});

test('a step that keeps failing ends with its error', async () => {
  const { args, count } = failingUntil(9);
  await expect(fetchStep('fetching', 'sh', args, { delays: [0, 0] })).rejects.toThrow(
    'fetching: ended with exit code 1',
  );
  expect(count()).toBe(3);
});

/** Debian's python3 with python3-venv: it has no pip, and makes environments with one. This pip writes its arguments into its target. */
const PYTHON = `#!/bin/sh
case "$*" in
  -VV) echo 'Python 3.11.2 (test)' ;;
  '-m venv --clear '*)
    mkdir -p "$4/bin"
    printf '%s\\n' '#!/bin/sh' 'while [ "$1" != --target ]; do shift; done; echo "$*" >"$2/arguments"' >"$4/bin/pip"
    chmod +x "$4/bin/pip" ;;
  *) echo "/usr/bin/python3: No module named pip" >&2; exit 1 ;;
esac
`;

test('a package comes from PyPI on a machine whose python3 has venv and no pip', async () => {
  const { PATH } = process.env;
  const programs = join(cache, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'python3'), PYTHON, { mode: 0o755 });
  process.env.PATH = `${programs}:${PATH}`;
  try {
    const home = await pythonPackage({ name: 'tool', version: '1.2', hashes: ['00', 'ff'] });
    expect(readFileSync(join(home, 'arguments'), 'utf8')).toMatch(/--requirement \S+requirements\.txt$/m);
    expect(readFileSync(join(home, 'requirements.txt'), 'utf8')).toBe(
      'tool==1.2 \\\n  --hash=sha256:00 \\\n  --hash=sha256:ff',
    );
  } finally {
    process.env.PATH = PATH;
  }
});
