// Prepares `npm run test:image` outside the sandbox, which has no network. Provides the image, a second build of it, and two runtimes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureProgram, ensureShared } from '../fetch/debian.mjs';
import { buildImage, imageDirectory, judge, sourceFacts } from './build.mjs';
import { describe } from './oci-archive.mjs';

/** Returns the environment variables for the tests. ISTHMUS_IMAGE_REUSE=1 reuses existing archives. */
export async function prepareImage() {
  const of = sourceFacts();
  const built = async (name) => {
    const archive = join(imageDirectory, `${name}-${process.arch === 'arm64' ? 'arm64' : 'amd64'}.tar`);
    return process.env.ISTHMUS_IMAGE_REUSE && existsSync(archive) ? archive : buildImage({ name, of });
  };
  const archive = await built('isthmus');
  const again = await built('again');
  const rootfs = join(imageDirectory, 'rootfs');
  const { text } = judge(archive, rootfs);
  process.stderr.write(text);
  return {
    ISTHMUS_IMAGE_FACTS: JSON.stringify(describe(archive)),
    ISTHMUS_IMAGE_FACTS_AGAIN: JSON.stringify(describe(again)),
    ISTHMUS_IMAGE_ROOT: rootfs,
    ISTHMUS_RUNTIME_DEFAULT: join(await ensureShared('buildah'), 'containers', 'seccomp.json'),
    ISTHMUS_CRUN: await ensureProgram('crun'),
    ISTHMUS_RUNC: await ensureProgram('runc'),
  };
}
