// The programs of a run and where they are: written by prepare.ts, which may use the network, read by main.ts, which has none.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
/** `.cache/` is ignored by git; a clone that is deleted takes it along. */
export const cache = join(root, '.cache', 'bench');

export interface Program {
  readonly path: string;
  /** LD_LIBRARY_PATH for what was unpacked into the cache; empty for what the system has. */
  readonly libraries: string;
}

export type Found = { readonly program: Program } | { readonly problem: string };

export interface Tools {
  readonly load: string;
  readonly programs: Readonly<Record<string, Found>>;
}

const file = join(cache, 'tools.json');

export function writeTools(tools: Tools): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(tools, null, 2));
}

export const readTools = (): Tools => JSON.parse(readFileSync(file, 'utf8')) as Tools;
