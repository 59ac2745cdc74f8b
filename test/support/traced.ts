// A command under strace, where scripts/seccomp/record.mjs asks for that; as it is, otherwise.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

/** The process keeps its number and its parent: strace (-D) is a grandchild. It follows what the process starts, too. */
export function traced(...command: readonly string[]): readonly [string, ...string[]] {
  const { ISTHMUS_TEST_STRACE: strace, ISTHMUS_TEST_STRACE_DIRECTORY: directory } = process.env;
  if (strace === undefined || directory === undefined) return command as [string, ...string[]];
  return [strace, '-D', '-f', '-qq', '-c', '-o', join(directory, randomUUID()), '--', ...command];
}
