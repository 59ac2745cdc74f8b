// Provides ansible-core for the Python of Debian 12, in which the tests run the role of deploy/ansible. The requirements name every
// package with its hashes, so pip accepts nothing else.

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, installPython } from './downloader.mjs';

const REQUIREMENTS = join(dirname(fileURLToPath(import.meta.url)), 'ansible-requirements.txt');
/** The Python that the wheels are for. The machine's own can be another one. */
const PYTHON = ['--python-version', '3.11', '--implementation', 'cp'];
const PLATFORMS = { x64: 'manylinux2014_x86_64', arm64: 'manylinux2014_aarch64' };

/** Returns the environment variable that tells a test where ansible-core is: a directory for PYTHONPATH. */
export async function ensureAnsible() {
  const path = await cached(`ansible-core-2.18.19-${process.arch}`, async (directory) => {
    mkdirSync(directory);
    const target = ['--platform', PLATFORMS[process.arch], ...PYTHON];
    await installPython('fetching ansible-core 2.18.19 from PyPI', directory, REQUIREMENTS, target);
  });
  return { ISTHMUS_TEST_ANSIBLE: path };
}
