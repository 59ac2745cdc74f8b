import { defineConfig } from 'vitest/config';

// `npm run test:e2e`: what needs the real Kubernetes of test/e2e/testbed. One file at a time: each starts servers of its own.
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.e2e.ts'],
    pool: 'forks',
    reporters: ['verbose'], // a line per test as it ends: some take minutes
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
});
