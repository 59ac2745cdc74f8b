// The syscall layer without Node: compiles and runs the cases of native/test/sys_cases.cc.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeNetns } from '../support/network/netns.ts';
import { root, sanitized } from './addon-process.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-sys-'));
const program = join(directory, 'sys_cases');
/** A generous bound for a busy machine. */
const COMPILE_MS = 600_000;
const compiler = ['c++', 'g++', 'clang++'].find(
  (name) => spawnSync(name, ['--version'], { env: withoutPreload() }).status === 0,
);

/** The program has its own sanitizer runtime, and the compiler must run without one. */
function withoutPreload(): NodeJS.ProcessEnv {
  const { LD_PRELOAD: _, ASAN_OPTIONS: __, ...env } = process.env;
  return env;
}

beforeAll(() => {
  const layer = readdirSync(join(root, 'native/sys')).filter((name) => name.endsWith('.cc'));
  const sources = ['native/test/sys_cases.cc', ...layer.map((name) => `native/sys/${name}`)];
  const flags = [
    '-std=c++20',
    '-fno-exceptions',
    '-D_GNU_SOURCE',
    '-pthread',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-Inative',
  ];
  if (sanitized) flags.push('-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-g');
  const wraps = ['-Wl,--wrap=setns', '-Wl,--wrap=getsockopt'];
  const args = [...flags, '-Wno-missing-field-initializers', '-o', program, ...sources, ...wraps];
  const { status, stderr } = spawnSync(compiler!, args, {
    cwd: root,
    env: withoutPreload(),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the syscall layer does not compile:\n${stderr}`);
}, COMPILE_MS);
afterAll(() => rmSync(directory, { recursive: true }));

function run(name: string, path = '') {
  // LeakSanitizer works here, because no V8 stands between the roots and the objects that they hold.
  const env = { ...withoutPreload(), ASAN_OPTIONS: 'detect_leaks=1:handle_abort=0' };
  const { status, signal, stdout, stderr } = spawnSync(program, [name, path], { env, encoding: 'utf8' });
  return { status, signal, stdout: stdout.trim(), stderr: stderr.trim() };
}

test('errors have the names and messages that Node gives them, for every error that Node names on this system', () => {
  const lines = run('errnos').stdout.split('\n');
  expect(lines.pop()).toBe("Unknown system error -250, socket '/x'");
  const nodes = [...getSystemErrorMap()]
    .filter(([errno]) => errno > -256)
    .map(([errno, [code, message]]) => `${-errno}\t${code}\t${message}`);
  expect(nodes.length).toBeGreaterThan(50);
  expect(lines.sort()).toEqual(nodes.sort());
});

describe('in a real netns', () => {
  const { path } = makeNetns();
  const ok = { status: 0, signal: null, stderr: '' };

  test('the identity is the cookie, or the inode on a kernel without cookies', () => {
    const { dev, ino } = statSync(path);
    expect(run('identity', path)).toMatchObject({ ...ok, stdout: expect.stringMatching(/^cookie:\d+$/) });
    expect(run('old-kernel', path)).toEqual({ ...ok, stdout: `inode:${dev}:${ino}` });
  });

  test('each call enters and returns once, and the return is tested once before the first call', () => {
    expect(run('sockets', path)).toEqual({ ...ok, stdout: 'setns was called 2003 times' });
  });

  test('a failed entry is an error that needs no return', () => {
    const message = `EPERM: operation not permitted, setns '${path}'`;
    expect(run('no-entry', path)).toMatchObject({ status: 1, stdout: message });
    expect(run('no-way-back', path)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining(`${message} (this`),
    });
  });

  test.each([
    ['no-return', 'cannot return to its own network namespace: EPERM (errno 1)'],
    ['another-thread', 'uses the home network namespace of another thread: EINVAL (errno 22)'],
  ])('%s aborts', (name, message) => {
    const ended = run(name, path);
    expect(ended).toMatchObject({ status: null, signal: 'SIGABRT', stdout: '' });
    expect(ended.stderr).toMatch(/^isthmus linux-netns: FATAL: thread \d+ /);
    expect(ended.stderr).toContain(message);
  });

  test.runIf(sanitized)('LeakSanitizer is active: it finds a planted leak', () => {
    const ended = run('leak');
    expect(ended.status).not.toBe(0);
    expect(ended.stderr).toContain('LeakSanitizer: detected memory leaks');
  });
});
