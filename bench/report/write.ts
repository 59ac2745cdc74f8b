// Writes the result: of a complete run into bench/results and the README, of any other run into the cache. Every round of any run, as
// JSON, goes into the cache: it is large, and a new run replaces it.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cache, root } from '../harness/tools.ts';
import { markdown } from './markdown.ts';
import { readmeTable, readmeWith } from './readme.ts';
import type { Report } from './report.ts';
import { latencyPlot, throughputPlot } from './svg.ts';
import { partialBecause } from './whole.ts';

export interface Written {
  readonly directory: string;
  /** Why this run does not replace the project's last result; null if it does. */
  readonly partial: string | null;
}

export function writeReport(report: Report): Written {
  // A run with its own results directory never replaces the project's last result.
  const elsewhere = process.env.BENCH_RESULTS;
  const partial = elsewhere === undefined ? partialBecause(report) : 'BENCH_RESULTS says where';
  const raw = elsewhere ?? join(cache, 'results');
  const directory = partial === null ? join(root, 'bench', 'results') : raw;
  for (const each of [raw, directory]) mkdirSync(each, { recursive: true });
  replace(join(raw, 'latest.json'), `${JSON.stringify(report, null, 1)}\n`);
  const files = {
    'latest.md': `${markdown(report).trimEnd()}\n`,
    'throughput.svg': throughputPlot(report),
    'latency.svg': latencyPlot(report),
  };
  for (const [name, content] of Object.entries(files)) replace(join(directory, name), content);
  if (partial !== null) return { directory, partial };
  const path = join(root, 'README.md');
  const shown = readmeWith(readFileSync(path, 'utf8'), report, readmeTable(report.goals));
  if (shown !== null) replace(path, shown);
  return { directory, partial };
}

function replace(path: string, content: string): void {
  writeFileSync(`${path}.tmp`, content);
  renameSync(`${path}.tmp`, path);
}
