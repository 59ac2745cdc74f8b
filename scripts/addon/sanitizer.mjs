// The environment for the addon's tests under AddressSanitizer and UndefinedBehaviorSanitizer. Node itself is not instrumented, so
// LD_PRELOAD loads the sanitizer runtimes first.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { MissingError, onPath } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';

/** Asks the compiler for the path of its own runtime. The runtime must match the compiler's version. */
function runtime(name) {
  const compiler = process.env.CXX?.split(' ')[0] ?? ['c++', 'g++', 'clang++'].find(onPath);
  const { stdout } = spawnSync(compiler, [`-print-file-name=lib${name}.so`], { encoding: 'utf8' });
  const path = stdout?.trim() ?? '';
  if (isAbsolute(path) && existsSync(path)) return path;
  throw new MissingError([
    {
      what: `${compiler} has no lib${name}.so: the sanitizer run loads it ahead of Node`,
      fix: 'install the sanitizer runtimes of GCC (Debian: they come with g++; Fedora: libasan and libubsan) and use CXX=g++',
    },
  ]);
}

export function sanitizedEnvironment() {
  return {
    ISTHMUS_ADDON: join(root, 'build-sanitize', 'Release', 'linux_netns.node'),
    LD_PRELOAD: [runtime('asan'), runtime('ubsan')].join(':'),
    ASAN_OPTIONS: [
      'halt_on_error=1',
      // Exit code 99, not 1, separates a sanitizer report from an ordinary failure.
      'exitcode=99',
      // Off in Node: LeakSanitizer does not scan V8's heap, so it reports everything held from there as a leak. Node also
      // frees nothing at exit. test/netns/addon-sys.test.ts checks the syscall layer for leaks without Node, and tests
      // count descriptors.
      'detect_leaks=0',
      // Tests provoke aborts and expect SIGABRT. V8 handles SIGSEGV itself, for WebAssembly.
      'handle_abort=0',
      'handle_segv=0',
      'detect_stack_use_after_return=1',
      'strict_string_checks=1',
      'check_initialization_order=1',
      'allocator_may_return_null=1',
    ].join(':'),
    UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1:exitcode=99',
  };
}
