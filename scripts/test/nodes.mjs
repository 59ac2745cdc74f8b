// Prepares and runs `npm run test:node`: test/node on two nodes with a real kubelet and containerd. The sandbox gets cgroups of its own.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureHelm } from '../fetch/chart-tools.mjs';
import { ensureNodeRuntime, ensurePacketFilter } from '../fetch/debian.mjs';
import { ensureTestbed, NODE_COMPONENTS } from '../fetch/testbed.mjs';
import { buildImage, imageDirectory } from '../image/build.mjs';
import { makeCgroups } from '../sandbox/node-cgroups.mjs';
import { runEndToEnd } from './end-to-end.mjs';

/** Returns the environment variables for the tests. ISTHMUS_IMAGE_REUSE=1 reuses an existing archive. */
export async function prepareNodes() {
  const found = join(imageDirectory, `isthmus-${process.arch === 'arm64' ? 'arm64' : 'amd64'}.tar`);
  return {
    ...(await ensureTestbed(NODE_COMPONENTS)),
    ...(await ensurePacketFilter()),
    ...(await ensureNodeRuntime()),
    ...(await ensureHelm()),
    ...(process.env.ISTHMUS_IMAGE_REUSE && existsSync(found)
      ? { ISTHMUS_IMAGE_ARCHIVE: found }
      : await builtImage()),
  };
}

/** The archive of the image, and how long its build took: docs/how-to/install/kubernetes.md names the time. */
async function builtImage() {
  const from = Date.now();
  const archive = await buildImage();
  return {
    ISTHMUS_IMAGE_ARCHIVE: archive,
    ISTHMUS_IMAGE_SECONDS: ((Date.now() - from) / 1000).toFixed(0),
  };
}

/** `--short` leaves out the tests that only the nightly run needs. */
export async function runNodes(args, env) {
  const chosen = args.filter((each) => each !== '--short');
  const short = chosen.length < args.length ? { ISTHMUS_NODE_SHORT: '1' } : {};
  const around = () => {
    const { groups, close } = makeCgroups();
    return { env: { ISTHMUS_NODE_CGROUPS: JSON.stringify(groups) }, close };
  };
  return runEndToEnd(chosen, { ...env, ...short }, { name: 'node', sites: 1, around });
}
