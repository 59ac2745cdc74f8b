// Writes the result where the README looks for it.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../harness/tools.ts';
import { markdown } from './markdown.ts';
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
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(RESULTS, `${name}.tmp`), content);
    renameSync(join(RESULTS, `${name}.tmp`), join(RESULTS, name));
  }
}
