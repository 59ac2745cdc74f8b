// Lists the addon builds of a release and the compiler for each. Node-API is stable, so one build serves every Node version on the
// same machine and C library. Uses only Node built-ins, because the image's build stage also runs this file.
import { spawnSync } from 'node:child_process';

/** `zig` is Zig's name for the machine and C library. Node 24 itself requires glibc 2.28. */
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
 * Returns how to compile a flavour: `arch` for node-gyp and the `environment` that selects the compiler. If no compiler exists,
 * returns `missing` with the reason. ISTHMUS_ZIG names a zig that compiles every flavour; without it, GCC compiles the glibc ones.
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
  // An empty environment lets node-gyp use the machine's default compiler.
  if (arch === process.arch) return { arch, environment: {} };
  const [cxx, cc] = gcc;
  if (!works(cxx)) return { missing: `no compiler for ${flavour}: ${cxx} is not on the PATH` };
  return { arch, environment: { CC: cc, CXX: cxx, AR: cxx.replace(/g\+\+$/, 'ar') } };
}
