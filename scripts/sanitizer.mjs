// The environment in which the addon's tests run under AddressSanitizer and UndefinedBehaviorSanitizer. Node itself is not
// instrumented, so the runtimes are loaded ahead of it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MissingError, onPath } from './problems.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The compiler knows where its own runtime is; one of another version would not match. */
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
      // Exit 99 and not 1: nobody takes a report for an ordinary failure.
      'exitcode=99',
      // Off in Node: LeakSanitizer does not look into V8's heap, so all that is held from there would be a leak, and Node
      // frees nothing of its own when it exits. The syscall layer, which runs without Node too, is checked for leaks
      // (test/netns/addon-sys.test.ts), and descriptors are counted.
      'detect_leaks=0',
      // The aborts are the tests' own and must end by SIGABRT; faults belong to V8, which uses SIGSEGV for WebAssembly.
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
