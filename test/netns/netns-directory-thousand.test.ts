// The netns directory of a large node.
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { native } from '../../src/netns/native.ts';
import { NetnsDirectory } from '../../src/netns/netns-directory.ts';
import { ip } from '../support/network/netns.ts';

const batch = '/run/netns-batch';

describe('the netns directory', () => {
  // A generous bound: the kernel is slow to create a thousand, and slower when other tests create some too.
  const BOUND = { timeout: 600_000 };
  test(
    'reads 1000 namespaces without blocking the event loop, and sees one more at once',
    BOUND,
    async () => {
      const add = [...Array(1000).keys()].map((index) => `netns add n${index}`);
      writeFileSync(batch, `${add.join('\n')}\n`);
      ip('-batch', batch);
      const watched = new NetnsDirectory({ directory: '/run/netns', addon: native, onChange: () => {} });
      const names = () => watched.snapshot().entries.map(({ name }) => name);
      // CPU time of this thread: other processes can occupy the cores for long, which is not a fault of the directory.
      const workedMs = () => {
        const { user, system } = process.threadCpuUsage();
        return (user + system) / 1000;
      };
      let longestMs = 0;
      let lastMs = workedMs();
      const beat = setInterval(() => {
        longestMs = Math.max(longestMs, workedMs() - lastMs);
        lastMs = workedMs();
      }, 1);
      try {
        const startMs = performance.now();
        await watched.start();
        const tookMs = performance.now() - startMs;
        await new Promise((resolve) => setTimeout(resolve, 5)); // one more heartbeat
        clearInterval(beat);
        expect(names().filter((name) => /^n\d+$/.test(name))).toHaveLength(1000);
        expect(longestMs).toBeLessThan(100); // 15 ms at rest

        const sinceMs = performance.now();
        ip('netns', 'add', 'newcomer');
        await expect.poll(names, { interval: 2 }).toContain('newcomer');
        console.log(
          `1000 netns read in ${tookMs.toFixed(0)} ms, loop busy for at most ${longestMs.toFixed(0)} ms; ` +
            `one more seen ${(performance.now() - sinceMs).toFixed(0)} ms after \`ip netns add\` was started`,
        );
      } finally {
        clearInterval(beat);
        watched.stop();
        writeFileSync(
          batch,
          `${[...add, 'netns add newcomer'].join('\n').replaceAll(' add ', ' delete ')}\n`,
        );
        ip('-force', '-batch', batch);
      }
    },
  );
});
