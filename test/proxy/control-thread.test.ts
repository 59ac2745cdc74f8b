// The control thread inside the built program: while it computes clients are served, and if it fails all of the program ends.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus, manifest } from '../support/isthmus.ts';
import { threadNetns } from '../support/process.ts';
import { readAll, readBytes, tcpClient } from '../support/tcp.ts';
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

/** One cluster, and over 1 MiB of who changed what: a second of parsing or more, for a single line in the log. */
function hugeManifest(name: string): string {
  const fields = Array.from(
    { length: 15_000 },
    (_, index) =>
      `  - manager: "controller number ${index}"\n    operation: Update\n    time: "2026-01-02T03:04:05Z"`,
  );
  const plain = manifest({ name, networkId: '5e6f0000-0000-4000-8000-00000000aaaa', address: ADDRESS });
  return plain.replace('spec:\n', `  managedFields:\n${fields.join('\n')}\nspec:\n`);
}

it('clients connect while a huge manifest is parsed, as if nothing was', async () => {
  await isthmus.start();
  const hello = await clientHello('alpha.magnum-system');
  const connectMs = async () => {
    const startedMs = performance.now();
    const socket = await tcpClient(isthmus.port);
    socket.write(hello);
    expect((await readBytes(socket, 1))[0]).toBe(0x16); // a ServerHello: decided, dialled, relayed
    socket.destroy();
    return performance.now() - startedMs;
  };
  for (let i = 0; i < 20; i++) await connectMs();

  const huge = hugeManifest('huge');
  expect(huge.length).toBeGreaterThan(1024 * 1024);
  isthmus.writeManifest('huge.yaml', huge);
  const found = () => isthmus.log.some((line) => line.msg === 'cluster found' && line.cluster === 'huge');
  const tookMs: number[] = [];
  let lagSeconds = 0;
  const end = performance.now() + 25_000;
  while (!found()) {
    if (performance.now() > end) throw new Error('the huge manifest was not read in 25 s');
    tookMs.push(await connectMs());
    const { body } = await isthmus.get('/metrics');
    lagSeconds = Math.max(lagSeconds, Number(/^isthmus_control_loop_lag_seconds (.*)$/m.exec(body)?.[1]));
  }
  tookMs.sort((a, b) => a - b);
  const p99 = tookMs[Math.floor(tookMs.length * 0.99)] as number;
  console.log(
    `the control thread was silent for ${lagSeconds.toFixed(2)} s; ${tookMs.length} connections meanwhile: ` +
      `p50 ${tookMs[tookMs.length >> 1]?.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, slowest ${tookMs.at(-1)?.toFixed(1)} ms`,
  );
  expect(lagSeconds).toBeGreaterThan(0.3); // it was really blocked
  expect(p99).toBeLessThan((lagSeconds * 1000) / 3);
});

it('every thread is in its own netns after probes and connections through others', async () => {
  isthmus.writeManifest('beta.yaml', clusters.beta.manifest);
  await isthmus.start('--health-interval', '100ms');
  await isthmus.untilState('beta', 'serving');
  expect(threadNetns(isthmus.pid)).toHaveLength(1);
});

it('a bug in it ends the program with a fatal line and exit code 1, rather than half of it', async () => {
  // The sanitizer's way to name another addon serves here to put a bug into the control thread alone.
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
    msg: 'the control thread ended: a bug in the control thread',
    err: { code: 'ECONTROLTHREAD', stack: expect.stringContaining('addon.cjs') },
  });
});

it('a thread in the middle of a huge manifest does not make the end a failure', async () => {
  await isthmus.start();
  isthmus.writeManifest('huge.yaml', hugeManifest('huge'));
  const lag = async () =>
    Number(/^isthmus_control_loop_lag_seconds (.*)$/m.exec((await isthmus.get('/metrics')).body)?.[1]);
  const end = performance.now() + 10_000;
  while ((await lag()) < 0.2) if (performance.now() > end) throw new Error('it was never busy');
  isthmus.signal('SIGTERM');
  expect(await isthmus.ended()).toBe(0);
  expect(isthmus.log.filter(({ level }) => level === 'fatal')).toEqual([]);
});
