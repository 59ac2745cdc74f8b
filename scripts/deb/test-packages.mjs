// The packages that tests install: this version, and one that dpkg and the program take for the next. They exist while `use` runs.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atTheEnd } from '../sandbox/at-the-end.mjs';
import { buildDeb, debVersion } from './build-deb.mjs';

/** `use` gets the environment variable that names the packages, the older one first. Resolves with its result. */
export async function withTestPackages(use) {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-debs-'));
  const remove = atTheEnd('rm -rf "$1"', directory);
  try {
    const version = debVersion();
    const made = [version, `${version}+next`].map((each) =>
      buildDeb({ directory, version: each, compression: 'none' }),
    );
    return await use({ ISTHMUS_TEST_DEBS: made.map(({ file }) => file).join(':') });
  } finally {
    await remove();
  }
}
