// Runs the benchmark once: a short round of one scenario, with the correctness test. This test does not judge the measured values.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Report } from '../../bench/report/report.ts';

const file = (path: string): string => fileURLToPath(new URL(`../../bench/${path}`, import.meta.url));
const args = [
  '--scenarios',
  'new-connections',
  '--peers',
  'direct,isthmus-native',
  '--rounds',
  '1',
  '--seconds',
  '0.2',
];
const able = ['c++', 'taskset'].every((tool) => spawnSync(tool, ['--version']).status === 0);

test.skipIf(!able)(
  'npm run bench measures one round of new connections and the correctness of the native engine (needs c++)',
  { timeout: 900_000 }, // a bound: it compiles its peers
  () => {
    const results = mkdtempSync(join(tmpdir(), 'bench-smoke-'));
    execFileSync(process.execPath, [file('prepare.ts'), ...args], { stdio: 'ignore' });
    execFileSync(process.execPath, [file('main.ts'), ...args], {
      stdio: 'ignore',
      env: { ...process.env, BENCH_RESULTS: results },
    });
    const report = JSON.parse(readFileSync(join(results, 'latest.json'), 'utf8')) as Report;
    expect(report.correctness.map(({ peer, disqualified }) => [peer, disqualified])).toEqual([
      ['direct', null],
      ['isthmus-native', null],
    ]);
    expect(report.results[0]?.failures).toEqual({});
    expect(report.results[0]?.rounds[0]?.measurements['isthmus-native']?.values.perSecond).toBeGreaterThan(0);
  },
);
