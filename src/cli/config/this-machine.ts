// The files of this machine, as the configuration reads them.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { Machine } from './legacy-environment.ts';

export const thisMachine: Machine = { directoryProblem, isFile, readText };

/** What a valid value would be, phrased like the other configuration problems; null when the directory is valid. */
function directoryProblem(path: string): string | null {
  try {
    return statSync(path).isDirectory() ? null : 'a directory, not a file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'a directory that exists' : `a directory that can be read (${code})`;
  }
}

function isFile(path: string): boolean {
  // A pipe is valid too: `--kubeconfig <(…)`.
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
}

/** A node selector is short. A longer file is the wrong file. */
const MAX_FILE_BYTES = 65_536;

function readText(path: string): { readonly text: string } | { readonly wanted: string } {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null);
      return length > MAX_FILE_BYTES
        ? { wanted: `a file of at most ${MAX_FILE_BYTES} bytes` }
        : { text: bytes.toString('utf8', 0, length) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { wanted: code === 'ENOENT' ? 'a file that exists' : `a file that can be read (${code})` };
  }
}
