// Provides a small Debian root in which the tests install the package. mmdebstrap creates it once in the user's cache. The tests only
// chroot into it and never boot it.
import { readFileSync, rmSync } from 'node:fs';
import { ensureProgram } from './debian.mjs';
import { cached, fetchStep } from './downloader.mjs';

const PACKAGES = ['libstdc++6', 'passwd', 'systemd-standalone-sysusers'];

/** Returns the environment variables that tell a test where the Debian root is. */
export async function ensureDebianRoot() {
  const release =
    /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm';
  const path = await cached('debian-root-1', async (directory) => {
    const args = [
      '--mode=root',
      '--variant=essential',
      `--include=${PACKAGES.join(',')}`,
      release,
      directory,
    ];
    const between = () => rmSync(directory, { recursive: true, force: true });
    const command = await ensureProgram('mmdebstrap');
    await fetchStep('making a small Debian to install into (mmdebstrap)', command, args, { between });
  });
  return { ISTHMUS_TEST_DEBIAN_ROOT: path };
}
