// Provides magnum-cluster-api-proxy, from PyPI in its own virtual environment, and HAProxy. The tests run Isthmus beside it. If it is
// unavailable, the tests report that and skip these cases.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPath } from '../setup/problems.mjs';
import { ensureHaproxy } from './debian.mjs';
import { cached, fetchStep } from './downloader.mjs';

/** The package imports novaclient without declaring the dependency. */
const PACKAGES = ['magnum-cluster-api==0.38.2', 'python-novaclient'];

async function ensureEnvironment() {
  if (!onPath('python3')) throw new Error('python3 is not on the PATH');
  const python = execFileSync('python3', ['-VV'], { encoding: 'utf8' });
  const hash = createHash('sha256').update(`${python}${PACKAGES}`).digest('hex').slice(0, 16);
  const fill = async (home) => {
    const title = 'fetching magnum-cluster-api-proxy from PyPI (2 minutes, once)';
    const commands = `python3 -m venv --clear "$1" && "$1/bin/pip" install --quiet ${PACKAGES.join(' ')}`;
    await fetchStep(title, 'nice', ['-n', '19', 'sh', '-c', commands, 'sh', home]);
    // The proxy starts HAProxy through sudo, but it already runs as root here.
    writeFileSync(join(home, 'bin', 'sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  };
  // The scripts of a virtual environment contain its path.
  return cached(`upstream-${hash}`, fill, { inPlace: true });
}

/** Returns the environment variables that tell the tests where the proxy is, or why it is missing. */
export async function ensureUpstream() {
  try {
    const home = await ensureEnvironment();
    const haproxy = await ensureHaproxy();
    return {
      ISTHMUS_UPSTREAM: home,
      ...(haproxy !== null && {
        ISTHMUS_HAPROXY: haproxy.programs,
        ISTHMUS_HAPROXY_LIBRARIES: haproxy.libraries,
      }),
    };
  } catch (error) {
    process.stderr.write(`! not tried: beside magnum-cluster-api-proxy (${error.message})\n`);
    return { ISTHMUS_UPSTREAM_MISSING: error.message };
  }
}
