// The command blocks of the documentation. The word after `sh` in a fence is the class of the block; an `output` fence shows what the
// block before it prints. CONTRIBUTING.md explains the classes.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export const CLASSES = ['run', 'cluster', 'host', 'sample'] as const;
export type BlockClass = (typeof CLASSES)[number];

export interface CommandBlock {
  /** `<page>:<line of the fence>` */
  readonly place: string;
  /** The rest of the line after `sh`. */
  readonly info: string;
  readonly text: string;
  /** The text of the `output` fence that follows; null if the page shows no output. */
  readonly shown: string | null;
}

const FOLDERS = ['bench', 'demo', 'deploy', 'docs', 'native', 'test'];

/** Every page of the repository, relative to its root. */
export function pages(): string[] {
  const loose = readdirSync(root).filter((name) => name.endsWith('.md'));
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((each) => each.isFile() && each.name.endsWith('.md'))
      .map((each) => relative(root, join(each.parentPath, each.name))),
  );
  return [...loose, ...below].filter((page) => page !== 'CHANGELOG.md').sort();
}

export function blocksOf(page: string): CommandBlock[] {
  return blocksIn(page, readFileSync(join(root, page), 'utf8'));
}

const FENCE = /^( *)```(\S*) *(.*)$/;

export function blocksIn(page: string, text: string): CommandBlock[] {
  const blocks: CommandBlock[] = [];
  const lines = text.split('\n');
  for (let i = 0; i < lines.length; i += 1) {
    const [, indent = '', language = '', info = ''] = FENCE.exec(lines[i]!) ?? [];
    if (!FENCE.test(lines[i]!)) continue;
    const place = `${page}:${i + 1}`;
    const length = lines.slice(i + 1).findIndex((line) => line.trim() === '```');
    if (length === -1) throw new Error(`${place}: the block has no end`);
    const content = lines.slice(i + 1, i + 1 + length).map((line) => line.replace(indent, ''));
    i += length + 1;
    if (language === 'sh') blocks.push({ place, info, text: content.join('\n'), shown: null });
    if (language !== 'output') continue;
    const last = blocks.pop();
    if (last === undefined || last.shown !== null)
      throw new Error(`${place}: no command block before this output`);
    blocks.push({ ...last, shown: content.join('\n') });
  }
  return blocks;
}
