// The prober: without Node (native/test/prober_cases.cc), and as JavaScript uses it, up to the end of its thread in the middle of probes.
// test/health/tcp-probe.test.ts tests the verdict of a probe on a backend.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildProgram, sanitizerOptions, type Variant, withoutPreload } from '../support/native-program.ts';
import { inNetns, ip, makeNetns } from '../support/network/netns.ts';
import { prologue, reportOf, root, runNode, sanitized } from './addon-process.ts';

const execute = promisify(execFile);
/** Generous bounds for a busy machine. */
const [COMPILE_MS, PLAY_MS] = [600_000, 300_000];

/** Loopback returns a packet for a foreign address, and a host that does not forward drops it silently. */
const SILENT = '10.7.0.2';
const netns = makeNetns();
ip('-n', netns.name, 'route', 'add', '10.7.0.0/24', 'dev', 'lo');

const directory = mkdtempSync(join(tmpdir(), 'isthmus-prober-'));
afterAll(() => rmSync(directory, { recursive: true }));
const VARIANTS: readonly Variant[] = sanitized ? ['asan', 'tsan'] : ['plain'];
const programs = new Map<Variant, string>();
beforeAll(async () => {
  for (const variant of VARIANTS) programs.set(variant, await compiled(variant));
}, COMPILE_MS);

async function compiled(variant: Variant): Promise<string> {
  const program = join(directory, variant);
  const layer = readdirSync(join(root, 'native/sys')).filter((name) => name.endsWith('.cc'));
  const sources = ['native/test/prober_cases.cc', 'native/test/sockets.cc', 'native/prober/prober.cc'];
  const calls = ['socket', 'connect', 'setsockopt', 'getsockopt', 'epoll_ctl', 'epoll_wait'];
  const wraps = calls.map((name) => `-Wl,--wrap=${name}`);
  await buildProgram(variant, program, ...sources, ...layer.map((name) => `native/sys/${name}`), ...wraps);
  return program;
}

async function play(variant: Variant, ...args: string[]): Promise<string> {
  const [command, rest] = inNetns(netns.name, programs.get(variant) as string, ...args);
  const env = { ...withoutPreload(), ...sanitizerOptions };
  try {
    return (await execute(command, rest, { env, timeout: PLAY_MS })).stdout;
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${args.join(' ')}: ${stdout ?? message}\n${stderr ?? ''}`);
  }
}

describe('without Node', () => {
  test('a failing system call ends only its probe, with the name of the call, or does no harm', {
    timeout: PLAY_MS,
  }, async () => {
    expect(await play(sanitized ? 'asan' : 'plain', 'faults')).toBe('9 faults, 0 wrong\n');
  });

  test.each<Variant>(VARIANTS)(
    'every probe ends once, whatever is cancelled and however the prober ends: %s',
    { timeout: PLAY_MS },
    async (variant) => {
      expect(await play(variant, 'stress', sanitized ? '6000' : '2000', SILENT)).toMatch(/, 0 wrong\n$/);
    },
  );
});

describe('in JavaScript', () => {
  const PATH = JSON.stringify(netns.path);
  const open = `
    const handle = native.openNetns(${PATH});
    const { path, identity } = handle;
    handle.close();
    const probeInto = (prober, place) => prober.start(place, path, identity, '${SILENT}', 6443);`;

  test('keeps the process alive only while a probe runs', () => {
    const script = `${open}
      const reports = [];
      const prober = native.createProber({ most: 2, timeoutMs: 200 }, (place, error) => {
        reports.push([place, error]);
        if (reports.length === 2) report(reports);
      });
      probeInto(prober, 0);
      probeInto(prober, 1);
      prober.cancel(1);`;
    const started = performance.now();
    expect(reportOf(runNode(script))).toEqual([
      [1, 'ECANCELED'],
      [0, 'ETIMEDOUT'],
    ]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(200);
  });

  test('reports nothing after stop(), which can be called again, and releases everything', () => {
    const script = `${open}
      const before = descriptors();
      let reports = 0;
      const prober = native.createProber({ most: 50, timeoutMs: 100 }, () => { reports += 1; });
      for (let place = 0; place < 50; place += 1) probeInto(prober, place);
      const threads = fs.readdirSync('/proc/self/task').length;
      prober.stop();
      prober.stop();
      prober.cancel(0);
      // A thread that has exited stays in /proc for a short time.
      for (let turn = 0; turn < 400 && fs.readdirSync('/proc/self/task').length >= threads; turn += 1) await tick();
      const after = fs.readdirSync('/proc/self/task').length;
      const refused = caught(() => probeInto(prober, 0)).code;
      const left = descriptors() - before;
      // A probe that starts now, with the same timeout, ends after all of those would have ended.
      await new Promise((resolve) => probeInto(native.createProber({ most: 1, timeoutMs: 100 }, resolve), 0));
      report({ reports, ended: threads - after, refused, left });`;
    expect(reportOf(runNode(script))).toEqual({ reports: 0, ended: 1, refused: 'ERR_PROBE_PLACE', left: 0 });
  });

  test('can be stopped from its own callback', () => {
    const script = `
      let reports = 0;
      const prober = native.createProber({ most: 9, timeoutMs: 100 }, () => {
        reports += 1;
        prober.stop();
        if (reports > 1) return;
        // A later probe that fails in the same way marks the time when the other eight would have been reported.
        native.createProber({ most: 1, timeoutMs: 100 }, () => report(reports)).start(0, null, null, 'none', 1);
      });
      for (let place = 0; place < 9; place += 1) prober.start(place, null, null, 'none', 1);`;
    expect(reportOf(runNode(script))).toBe(1);
  });

  test('rejects a busy place, a missing place, and settings out of range', () => {
    const script = `
      const ended = () => {};
      const prober = native.createProber({ most: 2, timeoutMs: 100 }, ended);
      prober.start(0, null, null, '127.0.0.1', 1);
      const code = (work) => caught(work)?.code;
      const settings = [{ most: 0, timeoutMs: 1 }, { most: 1, timeoutMs: 0 }, { most: 1e9, timeoutMs: 1 }, {}];
      report([
        code(() => prober.start(0, null, null, '127.0.0.1', 1)),
        code(() => prober.start(2, null, null, '127.0.0.1', 1)),
        code(() => prober.start(-1, null, null, '127.0.0.1', 1)),
        code(() => prober.start(1, 7, null, '127.0.0.1', 1)),
        code(() => prober.start(1, 'path', null, '127.0.0.1', 1)),
        code(() => prober.start(1, null, null, '127.0.0.1', '1')),
        code(() => native.createProber(null, ended)),
        code(() => native.createProber({ most: 1, timeoutMs: 1 })),
        ...settings.map((each) => code(() => native.createProber(each, ended))),
      ]);`;
    expect(reportOf(runNode(script))).toEqual([
      'ERR_PROBE_PLACE',
      'ERR_PROBE_PLACE',
      'ERR_OUT_OF_RANGE',
      'ERR_INVALID_ARG_TYPE',
      'ERR_INVALID_ARG_TYPE',
      'ERR_INVALID_ARG_TYPE',
      'ERR_INVALID_ARG_TYPE',
      'ERR_INVALID_ARG_TYPE',
      ...Array(4).fill('ERR_OUT_OF_RANGE'),
    ]);
  });

  test('lets an exception of its callback become an uncaught exception', () => {
    const script = `
      process.on('uncaughtException', ({ message }) => report(message));
      const prober = native.createProber({ most: 1, timeoutMs: 100 }, () => { throw new Error('a bug'); });
      prober.start(0, null, null, '127.0.0.1', 1);`;
    expect(reportOf(runNode(script))).toBe('a bug');
  });

  test.each([
    ['ends by itself', 'process.exit();'],
    ['is terminated', 'setInterval(() => {}, 1000);'],
  ])('a worker that %s in the middle of probes ends all of them', (_title, ending) => {
    const worker = JSON.stringify(`${prologue}${open}
      const prober = native.createProber({ most: 100, timeoutMs: 50 }, (place) => probeInto(prober, place));
      for (let place = 0; place < 100; place += 1) probeInto(prober, place);
      require('node:worker_threads').parentPort.postMessage('busy');
      setTimeout(() => { ${ending} }, 20);`);
    const script = `
      const round = async () => {
        const each = new Worker(${worker}, { eval: true });
        const exited = new Promise((resolve) => each.on('exit', resolve));
        await new Promise((resolve) => each.once('message', resolve));
        ${ending.startsWith('process') ? '' : 'setTimeout(() => each.terminate(), 60);'}
        await exited;
      };
      await round();
      const before = descriptors();
      for (let i = 0; i < 8; i += 1) await round();
      report({ left: descriptors() - before, threads: threadNetns().length });`;
    expect(reportOf(runNode(script))).toEqual({ left: 0, threads: 1 });
  });
});
