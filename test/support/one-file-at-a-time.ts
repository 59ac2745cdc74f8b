// Shared settings of the suites that start servers and containers: one file at a time, each in its own process, and one line
// per finished test.
import { defineConfig, type ViteUserConfig } from 'vitest/config';

export function oneFileAtATime(own: NonNullable<ViteUserConfig['test']>): ViteUserConfig {
  return defineConfig({
    test: {
      pool: 'forks',
      reporters: ['verbose'],
      maxWorkers: 1,
      // These are upper bounds, not expectations. They exceed every wait inside a test.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      teardownTimeout: 60_000,
      expect: { poll: { timeout: 60_000 } },
      ...own,
    },
  });
}
