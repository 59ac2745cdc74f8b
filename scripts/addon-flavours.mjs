// The builds of the addon that a release carries, and the compiler for each. Node-API is stable, so one build serves every Node of
// its machine and C library. Runs on built-ins alone: also in the build stage of the image.
import { spawnSync } from 'node:child_process';

/** Zig's name of the machine and C library; 2.28 is the glibc that Node 24 itself asks for. */
const FLAVOURS = {
  'linux-x64-glibc': { arch: 'x64', gcc: ['g++', 'gcc'], zig: 'x86_64-linux-gnu.2.28' },
  'linux-arm64-glibc': {
    arch: 'arm64',
    gcc: ['aarch64-linux-gnu-g++', 'aarch64-linux-gnu-gcc'],
    zig: 'aarch64-linux-gnu.2.28',
  },
  'linux-x64-musl': { arch: 'x64', gcc: null, zig: 'x86_64-linux-musl' },
  'linux-arm64-musl': { arch: 'arm64', gcc: null, zig: 'aarch64-linux-musl' },
};

export const flavourNames = Object.keys(FLAVOURS);

const works = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * How to compile a flavour: `arch` for node-gyp and the environment that names the compiler, or `missing`, a sentence. ISTHMUS_ZIG
 * names a zig, which compiles for all of them; without it there is GCC for glibc.
 */
export function toolchain(flavour, environment = process.env) {
  const known = FLAVOURS[flavour];
  if (known === undefined) return { missing: `${flavour} is none of ${flavourNames.join(', ')}` };
  const { arch, gcc, zig } = known;
  if (environment.ISTHMUS_ZIG) {
    const command = (name) => `${environment.ISTHMUS_ZIG} ${name} -target ${zig}`;
    const archiver = `${environment.ISTHMUS_ZIG} ar`;
    return { arch, environment: { CC: command('cc'), CXX: command('c++'), AR: archiver } };
  }
  if (gcc === null) return { missing: `no compiler for ${flavour}: GCC for musl is not packaged, zig is` };
  // The machine's own compiler, whatever it is called.
  if (arch === process.arch) return { arch, environment: {} };
  const [cxx, cc] = gcc;
  if (!works(cxx)) return { missing: `no compiler for ${flavour}: ${cxx} is not on the PATH` };
  return { arch, environment: { CC: cc, CXX: cxx, AR: cxx.replace(/g\+\+$/, 'ar') } };
}
