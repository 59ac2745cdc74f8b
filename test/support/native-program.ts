// Compiles the programs of native/test against engine/ and sys/, without Node: plain, with AddressSanitizer and
// UndefinedBehaviorSanitizer, or with ThreadSanitizer. The results stay in .cache until a source changes.
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../netns/addon-process.ts';

export type Variant = 'plain' | 'asan' | 'tsan';

const run = promisify(execFile);

/** The programs link their own sanitizer runtime. The compiler itself must run without one. */
export function withoutPreload(): NodeJS.ProcessEnv {
  const { LD_PRELOAD: _, ASAN_OPTIONS: __, UBSAN_OPTIONS: ___, ...env } = process.env;
  return env;
}

/** LeakSanitizer works here: without V8 it can follow every reference. */
export const sanitizerOptions = {
  ASAN_OPTIONS: 'detect_leaks=1:halt_on_error=1:exitcode=99:detect_stack_use_after_return=1',
  UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1:exitcode=99',
  TSAN_OPTIONS: 'halt_on_error=1:exitcode=99:second_deadlock_stack=1',
};

const FLAGS = [
  '-std=c++20',
  '-fno-exceptions',
  '-D_GNU_SOURCE',
  '-DISTHMUS_WITNESS',
  '-pthread',
  '-Wall',
  '-Wextra',
  '-Wshadow',
  '-Wconversion',
  '-Werror',
  '-Wno-missing-field-initializers',
  '-Inative',
];
const VARIANT_FLAGS: Record<Variant, readonly string[]> = {
  plain: ['-O0'],
  asan: ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer'],
  tsan: ['-O1', '-g', '-fsanitize=thread'],
};

/** The functions that native/test/fault.cc replaces. */
const WRAPPED = 'recv send splice accept4 connect socket pipe2 fcntl open epoll_ctl epoll_wait'.split(' ');

const PROGRAMS = {
  engine_faults: [
    'cells',
    'engine_faults',
    'fault',
    'fault_kinds',
    'lifetimes',
    'endings',
    'routes',
    'shortages',
    'sockets',
    'stage',
    'stage_answers',
    'stage_peers',
    'traps',
    'witness',
  ],
  engine_stress: ['engine_stress', 'sockets', 'witness'],
  pool_race: ['pool_race', 'witness'],
};
export type Program = keyof typeof PROGRAMS;

const compiler = () =>
  ['c++', 'g++', 'clang++'].find(
    (name) => spawnSync(name, ['--version'], { env: withoutPreload() }).status === 0,
  )!;

function sourcesOf(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(cc|h)$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
}

const builds = new Map<Variant, Promise<Record<Program, string>>>();

/** The paths of the programs. Concurrent callers share one build, which compiles two sources at a time. */
export function buildPrograms(variant: Variant): Promise<Record<Program, string>> {
  const build = builds.get(variant) ?? newPrograms(variant);
  builds.set(variant, build);
  return build;
}

async function newPrograms(variant: Variant): Promise<Record<Program, string>> {
  const inputs = sourcesOf('native/engine', 'native/sys', 'native/test').sort();
  const hash = createHash('sha256').update(JSON.stringify([FLAGS, VARIANT_FLAGS, WRAPPED, PROGRAMS]));
  for (const input of inputs) hash.update(input).update(readFileSync(join(root, input)));
  const home = join(root, '.cache', 'native-test');
  const directory = join(home, `${variant}-${hash.digest('hex').slice(0, 16)}`);
  const programs = Object.fromEntries(
    Object.keys(PROGRAMS).map((program) => [program, join(directory, program)]),
  ) as Record<Program, string>;
  if (existsSync(directory)) return programs;

  mkdirSync(home, { recursive: true });
  for (const old of readdirSync(home).filter((name) => name.startsWith(`${variant}-`)))
    rmSync(join(home, old), { recursive: true, force: true });
  const workshop = join(home, `workshop-${variant}-${process.pid}`);
  rmSync(workshop, { recursive: true, force: true }); // left by a killed run: a sandbox reuses process ids
  mkdirSync(workshop);
  const flags = [...FLAGS, ...VARIANT_FLAGS[variant]];
  const cxx = compiler();
  const compile = async (args: readonly string[]) => {
    await run(cxx, [...flags, ...args], { cwd: root, env: withoutPreload(), maxBuffer: 1 << 24 });
  };
  const objectOf = (source: string) => join(workshop, `${source.replaceAll('/', '_')}.o`);
  const library = inputs.filter((name) => /^native\/(engine|sys)\/.*\.cc$/.test(name));
  const tests = [...new Set(Object.values(PROGRAMS).flat())].map((name) => `native/test/${name}.cc`);
  const waiting = [...library, ...tests];
  await Promise.all(
    [1, 2].map(async () => {
      for (let source = waiting.pop(); source !== undefined; source = waiting.pop())
        await compile(['-c', '-o', objectOf(source), source]);
    }),
  );
  for (const [program, parts] of Object.entries(PROGRAMS)) {
    const objects = [...library, ...parts.map((name) => `native/test/${name}.cc`)].map(objectOf);
    const wraps = program === 'engine_faults' ? WRAPPED.map((name) => `-Wl,--wrap=${name}`) : [];
    await compile(['-o', join(workshop, program), ...objects, ...wraps]);
  }
  try {
    renameSync(workshop, directory);
  } catch (error) {
    rmSync(workshop, { recursive: true });
    if (!existsSync(directory)) throw error; // otherwise another test file built it first
  }
  return programs;
}

/** A program of one or two sources for one test file. It is too small to be worth caching. */
export async function buildProgram(
  variant: Variant,
  program: string,
  ...sources: readonly string[]
): Promise<void> {
  const args = [...FLAGS, ...VARIANT_FLAGS[variant], '-o', program, ...sources];
  await run(compiler(), args, { cwd: root, env: withoutPreload(), maxBuffer: 1 << 24 });
}
