// crun, with which the end-to-end tests start Isthmus from a root filesystem as a node's runtime would. Where it cannot be had the
// tests say so and go on without it.
import { dirname, join } from 'node:path';
import { ensure } from './debian.mjs';

const CRUN = {
  name: 'e2e-crun',
  // Its libraries are named, since apt would leave out those that this machine happens to have.
  packages: ['crun', 'libyajl2', 'libseccomp2'],
  programs: ['crun'],
  links: {},
};

/** The environment in which the tests find it, or the reason why they do not. */
export async function ensureCrun() {
  try {
    const found = await ensure(CRUN);
    if (found === null) return { ISTHMUS_E2E_CRUN: 'crun' };
    const program = join(dirname(found.programs), 'bin', 'crun');
    return { ISTHMUS_E2E_CRUN: program, ISTHMUS_E2E_CRUN_LIBRARIES: found.libraries };
  } catch (error) {
    process.stderr.write(`! not tried: Isthmus in a container (no crun: ${error.message})\n`);
    return { ISTHMUS_E2E_CRUN_MISSING: error.message };
  }
}
