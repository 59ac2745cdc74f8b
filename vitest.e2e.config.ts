import { oneFileAtATime } from './test/support/one-file-at-a-time.ts';

// `npm run test:e2e`: tests that need the real Kubernetes of test/e2e/testbed.
export default oneFileAtATime({
  include: ['test/e2e/**/*.e2e.ts'],
  setupFiles: ['test/e2e/last-log-lines.ts'],
  // Longer than every wait inside a test, because those waits report what they waited for and what Isthmus logged.
  testTimeout: 900_000,
  hookTimeout: 900_000,
  teardownTimeout: 60_000,
});
