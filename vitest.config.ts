import { defineConfig } from 'vitest/config';

// Every test file runs in a process of its own: tests count descriptors and threads of their process,
// and one that dies by a signal must not take the others along.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
