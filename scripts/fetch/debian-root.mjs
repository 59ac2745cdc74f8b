// Provides a small Debian root in which the tests install the package. mmdebstrap creates it once in the user's cache. The tests only
// chroot into it and never boot it.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { requireTools } from '../setup/problems.mjs';
import { runStep } from '../setup/step.mjs';

const NAME = 'debian-root-1';
const PACKAGES = ['libstdc++6', 'passwd', 'systemd-standalone-sysusers'];

/** Returns the environment variables that tell a test where the Debian root is. */
export async function ensureDebianRoot() {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const path = join(cache, 'isthmus', NAME);
  if (!existsSync(path)) {
    requireTools(['mmdebstrap', 'dpkg-deb']);
    const workshop = `${path}.${process.pid}`;
    mkdirSync(join(cache, 'isthmus'), { recursive: true });
    const release =
      /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm';
    const args = ['--mode=root', '--variant=essential', `--include=${PACKAGES.join(',')}`, release, workshop];
    try {
      await runStep('making a small Debian to install into (mmdebstrap)', 'mmdebstrap', args, {});
      renameSync(workshop, path);
    } finally {
      rmSync(workshop, { recursive: true, force: true });
    }
  }
  return { ISTHMUS_TEST_DEBIAN_ROOT: path };
}
