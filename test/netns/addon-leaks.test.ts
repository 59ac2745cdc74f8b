// Memory of the addon inside Node, checked by LeakSanitizer. It also reports memory that Node never frees, so only records whose stack
// passes through the addon count. Runs only in `npm run test:sanitize`.
import { describe, expect, test } from 'vitest';
import { makeNetns } from '../support/network/netns.ts';
import { prologue, runNode, sanitized } from './addon-process.ts';

describe.runIf(sanitized)('LeakSanitizer', () => {
  const PATH = JSON.stringify(makeNetns().path);
  const use = `
    globalThis.kept = [];
    const use = (netns, index) => {
      if (index % 3 === 0) netns.close();
      else fs.closeSync(netns.createTcpSocket(index % 2 ? 4 : 6));
      if (index % 10 === 0) kept.push(netns);
      for (const bad of ['/run/netns/missing', '/etc/passwd', 7]) caught(() => native.openNetns(bad));
      caught(() => native.setUserTimeout(99999, 1));
      native.ownIdentity();
    };
    for (let index = 0; index < 500; index++) use(native.openNetns(${PATH}), index);`;
  const worker = JSON.stringify(`${prologue}${use}`);
  const busy = JSON.stringify(`${prologue}
    require('node:worker_threads').parentPort.postMessage('busy');
    for (;;) { native.openNetns(${PATH}); caught(() => native.openNetns('/run/netns/missing')); }`);

  test('finds no leak of the addon: handles closed, forgotten, kept to the end, and of workers ended and terminated', () => {
    const script = `${use}
      const ended = (worker) => new Promise((resolve) => worker.on('exit', resolve));
      await Promise.all([1, 2, 3].map(() => ended(new Worker(${worker}, { eval: true }))));
      for (let round = 0; round < 10; round++) {
        const terminated = new Worker(${busy}, { eval: true });
        await new Promise((resolve) => terminated.once('message', resolve));
        await terminated.terminate();
      }
      report('done');`;
    const { ASAN_OPTIONS = '' } = process.env;
    const ended = runNode(script, {
      env: {
        ASAN_OPTIONS: `${ASAN_OPTIONS}:detect_leaks=1:fast_unwind_on_malloc=0`,
        LSAN_OPTIONS: 'exitcode=0',
      },
    });
    expect(ended).toMatchObject({ status: 0, signal: null, stdout: '"done"' });
    // Node's own leaks prove that LeakSanitizer ran.
    expect(ended.stderr).toContain('LeakSanitizer: detected memory leaks');
    const ours = ended.stderr.split('\n\n').filter((record) => /linux_netns|isthmus::/.test(record));
    expect(ours).toEqual([]);
  });
});
