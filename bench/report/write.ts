// Writes the result where the README looks for it.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../harness/tools.ts';
import { goalTable, markdown } from './markdown.ts';
import { readmeWith } from './readme.ts';
import type { Report } from './report.ts';
import { latencyPlot, throughputPlot } from './svg.ts';

export const RESULTS = process.env.BENCH_RESULTS ?? join(root, 'bench', 'results');

export function writeReport(report: Report): void {
  mkdirSync(RESULTS, { recursive: true });
  const files = {
    'latest.json': `${JSON.stringify(report, null, 1)}\n`,
    'latest.md': `${markdown(report).trimEnd()}\n`,
    'throughput.svg': throughputPlot(report),
    'latency.svg': latencyPlot(report),
  };
  for (const [name, content] of Object.entries(files)) replace(join(RESULTS, name), content);
  // A run whose results go elsewhere is nobody's last result.
  if (process.env.BENCH_RESULTS !== undefined) return;
  const path = join(root, 'README.md');
  const shown = readmeWith(
    readFileSync(path, 'utf8'),
    report,
    goalTable(report.goals.filter(({ measured }) => measured !== null)),
  );
  if (shown !== null) replace(path, shown);
}

function replace(path: string, content: string): void {
  writeFileSync(`${path}.tmp`, content);
  renameSync(`${path}.tmp`, path);
}
