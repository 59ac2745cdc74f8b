import { oneFileAtATime } from './test/support/one-file-at-a-time.ts';

// `npm run test:node`: tests that need two nodes with a real kubelet and containerd.
export default oneFileAtATime({
  include: ['test/node/**/*.node.ts'],
  setupFiles: ['test/e2e/last-log-lines.ts'],
  // Longer than every wait inside a test, because those waits report what they waited for and what Isthmus logged.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  teardownTimeout: 60_000,
});
