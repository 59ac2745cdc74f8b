import { oneFileAtATime } from './test/support/one-file-at-a-time.ts';

// `npm run test:image`: tests that need the built image and a container runtime.
export default oneFileAtATime({
  include: ['test/image/**/*.image.ts'],
  setupFiles: ['test/image/node-setup.ts'],
});
