// Counts the lines of the program in src/, without tests, by folder: `node scripts/measure/source-size.mjs [<commit>]`. Without a commit it
// reads the files that git tracks in the working tree. docs/decisions/0020-size.md uses its figures.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/setup.mjs';

const [commit] = process.argv.slice(2);
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 24 });
const names = commit ? git('ls-tree', '-r', '--name-only', commit, 'src') : git('ls-files', 'src');
const paths = names
  .split('\n')
  .filter((path) => /\.ts$/.test(path) && !/\.(test|conformance)\.ts$/.test(path));
const textOf = (path) => (commit ? git('show', `${commit}:${path}`) : readFileSync(join(root, path), 'utf8'));

/** The kind of each line: an import that spans lines counts with all its lines. */
function counted(text) {
  const counts = { lines: 0, comment: 0, empty: 0, import: 0, code: 0 };
  let open = null;
  for (const line of text
    .split('\n')
    .slice(0, -1)
    .map((each) => each.trim())) {
    let kind = open ?? 'code';
    if (open === null && line === '') kind = 'empty';
    else if (open === null && /^\/[/*]/.test(line)) kind = 'comment';
    else if (open === null && /^import\b/.test(line)) kind = 'import';
    if (kind === 'comment' && !line.startsWith('//')) open = line.includes('*/') ? null : kind;
    if (kind === 'import') open = line.endsWith(';') ? null : kind;
    counts.lines += 1;
    counts[kind] += 1;
  }
  return counts;
}

/** `src/control/plan` and `src/cli`, but `src` for a loose file. */
const folderOf = (path) =>
  path
    .split('/')
    .slice(0, -1)
    .slice(0, path.startsWith('src/control/') ? 3 : 2)
    .join('/');

const sums = new Map();
for (const path of paths) {
  const counts = { files: 1, ...counted(textOf(path)) };
  for (const name of [folderOf(path), 'all']) {
    const sum = sums.get(name) ?? {};
    for (const [kind, count] of Object.entries(counts)) sum[kind] = (sum[kind] ?? 0) + count;
    sums.set(name, sum);
  }
}
const rows = [...sums].sort(([, a], [, b]) => b.lines - a.lines);
console.table(Object.fromEntries(rows));
