// Handles that are never closed explicitly: the garbage collector, the end of a worker, its termination in the middle of a call, and the
// end of the process each release the descriptors.
import { describe, expect, test } from 'vitest';
import { makeNetns } from '../support/network/netns.ts';
import { prologue, reportOf, runNode } from './addon-process.ts';

const { path } = makeNetns();
const PATH = JSON.stringify(path);
const WORKER = JSON.stringify(`${prologue}\nconst { parentPort } = require('node:worker_threads');\n`);

// A first worker creates the objects that Node keeps for all later workers, so that the later counts are exact.
const startWorkers = `
  const work = (source) => new Worker(${WORKER} + source, { eval: true });
  const ended = (worker) => new Promise((resolve) => worker.on('exit', resolve));
  await ended(work(''));
  const before = descriptors();
  const settled = async () => {
    for (let turn = 0; turn < 200 && descriptors() !== before; turn++) await tick();
    return descriptors() - before;
  };`;

describe('the finaliser', () => {
  test('closes forgotten handles', () => {
    const script = `
      const before = descriptors();
      (() => { for (let index = 0; index < 200; index++) native.openNetns(${PATH}); })();
      const held = descriptors() - before;
      for (let turn = 0; turn < 200 && descriptors() !== before; turn++) { gc(); await tick(); }
      report({ held, left: descriptors() - before });`;
    const { held, left } = reportOf<{ held: number; left: number }>(
      runNode(script, { flags: ['--expose-gc'] }),
    );
    expect(held).toBeGreaterThan(0);
    expect(left).toBe(0);
  });

  test('does not close a handle again after close(), because its number may belong to another file', () => {
    const script = `
      const before = descriptors();
      let others = [];
      (() => {
        const handles = Array.from({ length: 100 }, () => native.openNetns(${PATH}));
        for (const handle of handles) handle.close();
        others = handles.map(() => fs.openSync('/dev/null'));
      })();
      for (let turn = 0; turn < 20; turn++) { gc(); await tick(); }
      report(others.every((fd) => fs.readlinkSync('/proc/self/fd/' + fd) === '/dev/null') && descriptors() - before);`;
    expect(reportOf(runNode(script, { flags: ['--expose-gc'] }))).toBe(100);
  });
});

describe('the end of the process', () => {
  test.each([
    ['runs dry', ''],
    ['calls process.exit()', 'process.exit();'],
    ['exits while a worker holds handles too', 'setTimeout(() => process.exit(), 100);'],
  ])('with open handles is clean when it %s', (_title, ending) => {
    const script = `
      globalThis.handles = Array.from({ length: 100 }, () => native.openNetns(${PATH}));
      new Worker(${WORKER} + ${JSON.stringify(`globalThis.h = native.openNetns(${PATH}); ${ending && 'setInterval(() => {}, 9);'}`)},
        { eval: true });
      report('open');
      ${ending}`;
    const ended = runNode(script);
    expect(ended).toMatchObject({ status: 0, signal: null, stdout: '"open"', stderr: '' });
  });
});

describe('worker threads', () => {
  test('each load the addon, even twice, see the same netns, and return every handle when they end', () => {
    const script = `${startWorkers}
      const identities = new Set();
      const workers = Array.from({ length: 8 }, () => work(\`
        delete require.cache[addonPath];
        const again = require(addonPath); // a second instance in one environment
        globalThis.handles = Array.from({ length: 50 }, () => native.openNetns(${PATH}));
        for (const handle of handles) fs.closeSync(handle.createTcpSocket(4));
        parentPort.postMessage([native.ownIdentity(), handles.at(-1).identity, again !== native && again.ownIdentity()]);\`));
      for (const worker of workers) worker.on('message', (each) => identities.add(JSON.stringify(each)));
      await Promise.all(workers.map(ended));
      const own = native.ownIdentity();
      const inside = native.openNetns(${PATH});
      const expected = JSON.stringify([own, inside.identity, own]);
      inside.close();
      report({ expected, identities: [...identities], leaked: await settled(), threads: threadNetns().length });`;
    const result = reportOf<{ expected: string; identities: string[]; leaked: number; threads: number }>(
      runNode(script),
    );
    expect(result.identities).toEqual([result.expected]);
    expect(result).toMatchObject({ leaked: 0, threads: 1 });
  });

  test('that are terminated in the middle of calls and failures leak no descriptor and do not end the process', () => {
    const script = `${startWorkers}
      const busy = \`
        const kept = [];
        let calls = 0;
        for (;;) {
          kept.push(native.openNetns(${PATH}));
          caught(() => native.openNetns('/run/netns/missing'));
          caught(() => native.openNetns('/etc/passwd'));
          caught(() => kept[0].createTcpSocket(7));
          native.ownIdentity();
          if (kept.length > 40) for (const handle of kept.splice(0, 30)) handle.close();
          if (++calls === 3) parentPort.postMessage('busy');
        }\`;
      const codes = new Set();
      let terminated = 0;
      for (let round = 0; round < 12; round++) {
        const workers = Array.from({ length: 6 }, () => work(busy));
        await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
        for (const worker of workers) {
          codes.add(await worker.terminate());
          terminated += 1;
        }
      }
      report({ terminated, codes: [...codes], leaked: await settled(), threads: threadNetns().length });`;
    expect(reportOf(runNode(script))).toEqual({ terminated: 72, codes: [1], leaked: 0, threads: 1 });
  });

  test('identify their own netns even when they load the addon while the main thread is inside another', () => {
    const reload = `
      const { workerData } = require('node:worker_threads');
      const own = native.ownIdentity();
      for (let index = 0; index < 200; index++) {
        delete require.cache[addonPath];
        const again = require(addonPath);
        again.openNetns(${PATH}).close();
        if (again.ownIdentity() !== own) Atomics.add(workerData, 1, 1);
      }
      Atomics.add(workerData, 0, 1);`;
    const script = `
      const shared = new Int32Array(new SharedArrayBuffer(8));
      const source = ${WORKER} + ${JSON.stringify(reload)};
      const workers = [1, 2].map(() => new Worker(source, { eval: true, workerData: shared }));
      const netns = native.openNetns(${PATH});
      const deadline = Date.now() + 120_000;
      while (Atomics.load(shared, 0) < 2 && Date.now() < deadline) fs.closeSync(netns.createTcpSocket(4));
      report({ ended: shared[0], astray: shared[1] });`;
    expect(reportOf(runNode(script))).toEqual({ ended: 2, astray: 0 });
  });

  test('can be the only threads that load the addon: it is unloaded with the last of them, and loaded again', () => {
    const script = `
      const { Worker } = require('node:worker_threads');
      const fs = require('node:fs');
      const source = ${WORKER} + 'globalThis.handles = Array.from({ length: 20 }, () => native.openNetns(${PATH}));';
      const counts = [];
      for (let round = 0; round < 6; round++) {
        await new Promise((resolve) => new Worker(source, { eval: true }).on('exit', resolve));
        const count = () => fs.readdirSync('/proc/self/fd').length;
        // The first round waits a fixed time. Later rounds wait until the count is the same, up to a bound.
        for (let turn = 0; turn < 400 && (round === 0 ? turn < 40 : count() !== counts[0]); turn++)
          await new Promise((resolve) => setTimeout(resolve, 5));
        counts.push(count());
      }
      fs.writeSync(1, JSON.stringify(counts.map((count) => count - counts[0])));`;
    expect(reportOf(runNode(script, { bare: true }))).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
