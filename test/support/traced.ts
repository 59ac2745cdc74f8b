// Runs a command under strace if scripts/seccomp/record.mjs requests it, and unchanged otherwise.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

/** The process keeps its pid and its parent, because strace (-D) is a grandchild. strace also follows child processes. */
export function traced(...command: readonly string[]): readonly [string, ...string[]] {
  const { ISTHMUS_TEST_STRACE: strace, ISTHMUS_TEST_STRACE_DIRECTORY: directory } = process.env;
  if (strace === undefined || directory === undefined) return command as [string, ...string[]];
  return [strace, '-D', '-f', '-qq', '-c', '-o', join(directory, randomUUID()), '--', ...command];
}
