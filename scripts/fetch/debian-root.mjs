// Provides a small Debian root in which the tests install the package. mmdebstrap creates it once in the user's cache. `test:deb` only
// chroots into it. `test:systemd` boots it with the systemd-nspawn that it contains, so the machine needs none.
import { readFileSync, rmSync } from 'node:fs';
import { ensureProgram } from './debian.mjs';
import { cached, fetchStep } from './downloader.mjs';

const PACKAGES = [
  'dbus',
  'iproute2',
  'libstdc++6',
  'passwd',
  'python3',
  'python3-apt',
  'systemd',
  'systemd-container',
  'systemd-sysv',
];

/** Returns the environment variables that tell a test where the Debian root is. */
export async function ensureDebianRoot() {
  const release =
    /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm';
  const path = await cached('debian-root-4', async (directory) => {
    const args = ['--mode=root', '--variant=minbase', `--include=${PACKAGES.join(',')}`, release, directory];
    const between = () => rmSync(directory, { recursive: true, force: true });
    const command = await ensureProgram('mmdebstrap');
    await fetchStep('making a small Debian to install into (mmdebstrap)', command, args, { between });
  });
  return { ISTHMUS_TEST_DEBIAN_ROOT: path };
}
