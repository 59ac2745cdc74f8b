// Provides crun. The end-to-end tests use it to start Isthmus from a root filesystem, as a node's container runtime does. If crun is
// unavailable, the tests report that and skip the container cases.
import { ensureProgram } from './debian.mjs';

/** Returns the environment variables that tell the tests where crun is, or why it is missing. */
export async function ensureCrun() {
  try {
    return { ISTHMUS_E2E_CRUN: await ensureProgram('crun') };
  } catch (error) {
    process.stderr.write(`! not tried: Isthmus in a container\n${error.message}\n`);
    return { ISTHMUS_E2E_CRUN_MISSING: error.problems?.[0]?.what ?? error.message };
  }
}
