import { defineConfig } from 'vitest/config';

// `npm run test:image`: what needs the built image and a container runtime. One file at a time.
export default defineConfig({
  test: {
    include: ['test/image/**/*.image.ts'],
    setupFiles: ['test/image/node-setup.ts'],
    pool: 'forks',
    reporters: ['verbose'],
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
});
