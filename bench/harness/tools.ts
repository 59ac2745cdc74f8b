// The programs of a run and their paths. prepare.ts writes the list and may use the network; main.ts reads it without network.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
/** git ignores `.cache/`, and the directory disappears with the clone. */
export const cache = join(root, '.cache', 'bench');

export interface Program {
  readonly path: string;
  /** LD_LIBRARY_PATH for a program unpacked into the cache; empty for a program of the system. */
  readonly libraries: string;
}

export type FoundProgram = { readonly program: Program } | { readonly problem: string };

export interface Tools {
  readonly load: string;
  readonly programs: Readonly<Record<string, FoundProgram>>;
}

const file = join(cache, 'tools.json');

export function writeTools(tools: Tools): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(tools, null, 2));
}

export const readTools = (): Tools => JSON.parse(readFileSync(file, 'utf8')) as Tools;
