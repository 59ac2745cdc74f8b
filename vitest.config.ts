import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// A worker is started with our own execPath, and there is no setting for it. Outside of the sandbox (`npm run check`) no test makes
// namespaces, and nobody may.
if (process.env.ISTHMUS_TEST_SANDBOX !== undefined) {
  process.env.ISTHMUS_TEST_NODE ??= process.execPath;
  process.execPath = fileURLToPath(new URL('./test/support/worker-node', import.meta.url));
}

// Every test file runs in a process of its own: tests count descriptors and threads of their process,
// and one that dies by a signal must not take the others along.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'demo/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Bounds, not expectations: the machine may be a tenth as fast as one thinks. Each is above every wait inside (WAIT_MS of
    // test/support/tcp.ts), which says what was awaited. What must be quick says so in the test.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
