// Compiles the load generator into the cache, once per version of its sources.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { cache, root } from './tools.ts';

const COMPILER_FLAGS = ['-std=c++17', '-O2', '-Wall', '-Wextra'];

export function buildLoad(): string {
  const folder = join(root, 'bench', 'load');
  const files = readdirSync(folder).sort();
  const hash = createHash('sha256').update(COMPILER_FLAGS.join(' '));
  for (const name of files) hash.update(name).update(readFileSync(join(folder, name)));
  const program = join(cache, `load-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  process.stderr.write('· compiling the load generator …\n');
  const sources = files.filter((name) => name.endsWith('.cc')).map((name) => join(folder, name));
  const unfinished = `${program}.${process.pid}`;
  execFileSync('c++', [...COMPILER_FLAGS, '-o', unfinished, ...sources], { stdio: 'inherit' });
  renameSync(unfinished, program);
  return program;
}
