import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/run/longest-first.ts';

// vitest starts each worker with process.execPath and has no setting for it. The wrapper gives each worker its own /run/netns and
// loopback. Outside the sandbox (`npm run check`), the wrapper lacks the rights for that, and no test creates namespaces.
if (process.env.ISTHMUS_TEST_SANDBOX !== undefined) {
  process.env.ISTHMUS_TEST_NODE ??= process.execPath;
  process.execPath = fileURLToPath(new URL('./test/support/worker-node', import.meta.url));
}

/** Floods use all cores and measure how fast other clients are served. Beside them no other file runs. */
const floods = [
  'test/attacks/health-flood.test.ts',
  'test/attacks/hello-flood.test.ts',
  'test/attacks/slots.test.ts',
  // These two judge what the whole machine does: socket queues, and clients that must be served within seconds.
  'test/attacks/dark-backends.test.ts',
  'test/attacks/stalled-readers.test.ts',
];

/**
 * Many files wait for seconds, for example until a Lease expires. The other processes use the cores meanwhile. docs/architecture/tests.md
 * says what was measured.
 */
const SIDE_BY_SIDE = 6;

// Files of test/ run in a process each: tests count descriptors and threads of their process, and a test that dies by a signal must not
// end the others. Tests beside the sources do neither: they share a worker for each core, because a new process costs more than most of
// these files.
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'sources',
          include: ['src/**/*.test.ts', 'demo/**/*.test.ts'],
          isolate: false,
          setupFiles: ['test/support/run/shared-worker.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'side by side',
          include: ['test/**/*.test.ts'],
          exclude: floods,
          maxWorkers: SIDE_BY_SIDE,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: floods, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // Upper bounds, not expectations: a machine may be ten times slower than usual. Each bound exceeds every wait inside a test
    // (WAIT_MS of test/support/tcp.ts), because those waits report what they waited for. A test checks speed itself if speed matters.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
