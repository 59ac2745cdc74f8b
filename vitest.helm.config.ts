import { oneFileAtATime } from './test/support/one-file-at-a-time.ts';

// `npm run test:helm`: tests that need Helm and the real Kubernetes of test/e2e/testbed.
export default oneFileAtATime({ include: ['test/helm/*.helm.ts'] });
