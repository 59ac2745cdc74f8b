// crun, with which the end-to-end tests start Isthmus from a root filesystem as a node's runtime would. Where it cannot be had the
// tests say so and go on without it.
import { ensureProgram } from './debian.mjs';

/** The environment in which the tests find it, or the reason why they do not. */
export async function ensureCrun() {
  try {
    return { ISTHMUS_E2E_CRUN: await ensureProgram('crun') };
  } catch (error) {
    process.stderr.write(`! not tried: Isthmus in a container\n${error.message}\n`);
    return { ISTHMUS_E2E_CRUN_MISSING: error.problems?.[0]?.what ?? error.message };
  }
}
