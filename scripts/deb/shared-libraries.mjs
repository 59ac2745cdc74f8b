// Finds which versions of the C and C++ libraries a binary needs, from the highest symbol version that it references.
import { readFileSync } from 'node:fs';

/** Maps the last part of GLIBCXX_3.4.x to the gcc version that introduced it. */
const GCC_OF = {
  25: '8',
  26: '9',
  27: '9',
  28: '10',
  29: '11',
  30: '12',
  31: '13.1',
  32: '13.2',
  33: '14',
  34: '15',
};

function highest(text, pattern) {
  let most = null;
  for (const [, major, minor] of text.matchAll(pattern)) {
    const found = [Number(major), Number(minor)];
    if (most === null || found[0] > most[0] || (found[0] === most[0] && found[1] > most[1])) most = found;
  }
  return most;
}

/** Returns the dependencies in the form of a Debian package's Depends field. */
export function libraryDependencies(files) {
  const text = files.map((file) => readFileSync(file, 'latin1')).join('\0');
  const libc = highest(text, /GLIBC_(\d+)\.(\d+)/g) ?? [2, 28];
  const cxx = highest(text, /GLIBCXX_3\.(4)\.(\d+)/g);
  const gcc = cxx === null ? undefined : GCC_OF[cxx[1]];
  return [
    `libc6 (>= ${libc.join('.')})`,
    'libgcc-s1',
    gcc === undefined ? 'libstdc++6' : `libstdc++6 (>= ${gcc})`,
  ];
}
