import { oneFileAtATime } from './test/support/one-file-at-a-time.ts';

// `npm run test:systemd`: tests that install the package in a booted Debian.
export default oneFileAtATime({
  include: ['test/systemd/booted/**/*.systemd.ts'],
  // Longer than every wait inside a test, such as a whole run of the Ansible role.
  testTimeout: 900_000,
  hookTimeout: 900_000,
});
