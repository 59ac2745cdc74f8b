import { defineConfig } from 'vitest/config';

// `npm run test:e2e`: what needs the real Kubernetes of test/e2e/testbed. One file at a time: each starts servers of its own.
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.e2e.ts'],
    pool: 'forks',
    reporters: ['verbose'], // a line per test as it ends: some take minutes
    maxWorkers: 1,
    setupFiles: ['test/e2e/last-words.ts'],
    // Above every wait inside: those say what was awaited, and what Isthmus said meanwhile.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    teardownTimeout: 60_000,
  },
});
