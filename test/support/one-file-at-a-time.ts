// What the suites share that start servers and containers of their own: one file at a time, each in a process of its own, and a line
// per test as it ends.
import { defineConfig, type ViteUserConfig } from 'vitest/config';

export function oneFileAtATime(own: NonNullable<ViteUserConfig['test']>): ViteUserConfig {
  return defineConfig({
    test: {
      pool: 'forks',
      reporters: ['verbose'],
      maxWorkers: 1,
      // Bounds, not expectations, above every wait inside.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      teardownTimeout: 60_000,
      expect: { poll: { timeout: 60_000 } },
      ...own,
    },
  });
}
