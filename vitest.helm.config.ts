import { defineConfig } from 'vitest/config';

// `npm run test:helm`: what needs Helm, and the real Kubernetes of test/e2e/testbed.
export default defineConfig({
  test: {
    include: ['test/helm/*.helm.ts'],
    pool: 'forks',
    reporters: ['verbose'],
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
});
