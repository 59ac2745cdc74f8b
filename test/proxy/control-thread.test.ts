// The control thread inside the built program: clients are served while it computes, and the whole program ends if it fails.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus, manifest } from '../support/isthmus.ts';
import { threadNames, threadNetns } from '../support/process.ts';
import { readAll, readBytes, tcpClient, until, WAIT_MS } from '../support/tcp.ts';
import { ADDRESS, TwoClusters } from '../support/two-clusters.ts';

const clusters = new TwoClusters();
let isthmus: Isthmus;

beforeAll(() => clusters.start());
afterAll(() => clusters.stop());
beforeEach(() => {
  isthmus = new Isthmus();
  isthmus.writeManifest('alpha.yaml', clusters.alpha.manifest);
});
afterEach(() => isthmus.stop());

/** One cluster with over 2 MiB of managedFields: about a second of parsing, for a single log line. */
function hugeManifest(name: string): string {
  const fields = Array.from(
    { length: 25_000 },
    (_, index) =>
      `  - manager: "controller number ${index}"\n    operation: Update\n    time: "2026-01-02T03:04:05Z"`,
  );
  const plain = manifest({ name, networkId: '5e6f0000-0000-4000-8000-00000000aaaa', address: ADDRESS });
  return plain.replace('spec:\n', `  managedFields:\n${fields.join('\n')}\nspec:\n`);
}

test('clients connect without delay while a huge manifest is parsed', async () => {
  await isthmus.start();
  const hello = await clientHello('alpha.magnum-system');
  const served: { readonly fromMs: number; readonly toMs: number }[] = [];
  const connect = async () => {
    const fromMs = performance.now();
    const socket = await tcpClient(isthmus.port);
    socket.write(hello);
    expect((await readBytes(socket, 1))[0]).toBe(0x16); // a ServerHello: decided, dialled, relayed
    socket.destroy();
    served.push({ fromMs, toMs: performance.now() });
  };
  for (let i = 0; i < 20; i++) await connect();

  const huge = hugeManifest('huge');
  expect(huge.length).toBeGreaterThan(2 * 1024 * 1024);
  isthmus.writeManifest('huge.yaml', huge);
  const found = () => isthmus.log.some((line) => line.msg === 'cluster found' && line.cluster === 'huge');
  let lagSeconds = 0;
  let meanwhile: number[] = [];
  const end = performance.now() + WAIT_MS;
  while (!found()) {
    if (performance.now() > end) throw new Error(`the huge manifest was not read in ${WAIT_MS} ms`);
    await connect();
    const askedMs = performance.now();
    const { body } = await isthmus.get('/metrics');
    const lag = Number(/^isthmus_control_loop_lag_seconds (.*)$/m.exec(body)?.[1]);
    if (lag <= lagSeconds) continue; // the lag keeps its value after the stall
    lagSeconds = lag;
    // The control thread is silent since `sinceMs` at the latest. Selects the clients that connected and were served in that time.
    const sinceMs = performance.now() - lag * 1000;
    meanwhile = served
      .filter(({ fromMs, toMs }) => fromMs >= sinceMs && toMs <= askedMs)
      .map(({ fromMs, toMs }) => toMs - fromMs);
  }
  meanwhile.sort((a, b) => a - b);
  console.log(
    `the control thread was silent for ${lagSeconds.toFixed(2)} s; ${meanwhile.length} connections meanwhile: ` +
      `p50 ${meanwhile[meanwhile.length >> 1]?.toFixed(1)} ms, slowest ${meanwhile.at(-1)?.toFixed(1)} ms`,
  );
  expect(lagSeconds).toBeGreaterThan(0.3); // it was really blocked
  // Counted, not timed: if clients had to wait for the control thread, only one would complete, at the end.
  expect(meanwhile.length).toBeGreaterThan(5);
});

test('every thread is in its own netns after probes and connections through others', async () => {
  isthmus.writeManifest('beta.yaml', clusters.beta.manifest);
  await isthmus.start('--health-interval', '100ms');
  await isthmus.untilState('beta', 'serving');
  expect(threadNetns(isthmus.pid)).toHaveLength(1);
});

test('every thread that the program starts has its own name, so an operator sees which one is busy', async () => {
  await isthmus.start('--threads', '2');
  const names = threadNames(isthmus.pid);
  expect(names).toEqual(expect.arrayContaining(['control', 'prober', 'relay-0', 'relay-1']));
  // The others are Node's threads. Only the thread that runs JavaScript has Node's own name.
  expect(names.filter((name) => name === 'MainThread')).toHaveLength(1);
});

test('a bug in the control thread ends the whole program with a fatal line and exit code 1', async () => {
  // The variable that names the sanitizer's addon serves here to put a bug into the control thread alone.
  const addon = join(isthmus.directory, 'addon.cjs');
  const real = JSON.stringify(new URL('../../build/Release/linux_netns.node', import.meta.url).pathname);
  writeFileSync(
    addon,
    `const { isMainThread } = require('node:worker_threads');
     const { existsSync } = require('node:fs');
     module.exports = require(${real});
     if (!isMainThread) setInterval(() => {
       if (existsSync(${JSON.stringify(`${addon}.now`)})) throw new Error('a bug in the control thread');
     }, 20);`,
  );
  isthmus.environment.ISTHMUS_ADDON = addon;
  await isthmus.start();
  const open = await tcpClient(isthmus.port);
  open.write(await clientHello('alpha.magnum-system'));
  await readBytes(open, 1);
  const end = readAll(open);
  writeFileSync(`${addon}.now`, '');
  expect(await isthmus.ended()).toBe(1);
  await end;
  expect(isthmus.log.at(-1)).toMatchObject({
    level: 'fatal',
    msg: 'control thread exited unexpectedly: a bug in the control thread',
    err: { code: 'ECONTROLTHREAD', stack: expect.stringContaining('addon.cjs') },
  });
});

test('a stop during the parsing of a huge manifest is not a failure', async () => {
  await isthmus.start();
  isthmus.writeManifest('huge.yaml', hugeManifest('huge'));
  const lag = async () =>
    Number(/^isthmus_control_loop_lag_seconds (.*)$/m.exec((await isthmus.get('/metrics')).body)?.[1]);
  await until('it is busy', async () => (await lag()) >= 0.2);
  isthmus.signal('SIGTERM');
  expect(await isthmus.ended()).toBe(0);
  expect(isthmus.log.filter(({ level }) => level === 'fatal')).toEqual([]);
});
