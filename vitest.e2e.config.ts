import { oneFileAtATime } from './test/support/one-file-at-a-time.ts';

// `npm run test:e2e`: what needs the real Kubernetes of test/e2e/testbed.
export default oneFileAtATime({
  include: ['test/e2e/**/*.e2e.ts'],
  setupFiles: ['test/e2e/last-words.ts'],
  // Above every wait inside: those say what was awaited, and what Isthmus said meanwhile.
  testTimeout: 900_000,
  hookTimeout: 900_000,
  teardownTimeout: 60_000,
});
