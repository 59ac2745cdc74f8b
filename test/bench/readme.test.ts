// The README shows the last result between two marks, and only a result that has the main things in it.
import { expect, test } from 'vitest';
import { readmeWith } from '../../bench/report/readme.ts';
import type { Report } from '../../bench/report/report.ts';

const README = 'before\n<!-- bench: written by npm run bench -->\nold\n<!-- bench: end -->\nafter\n';
const MAIN = ['new-connections', 'latency', 'requests', 'bulk', 'idle-memory'];

const report = (scenarios: readonly string[]): Report =>
  ({
    machine: { date: '2026-11-16T08:58:00.936Z', commit: 'abc', cores: 2, cpu: 'a CPU', kernel: '6.18' },
    results: scenarios.map((name) => ({ name })),
  }) as unknown as Report;

test('what is between the marks is replaced, the rest stays', () => {
  const shown = readmeWith(README, report(MAIN), '| new |')!;
  expect(shown.startsWith('before\n')).toBe(true);
  expect(shown.endsWith('<!-- bench: end -->\nafter\n')).toBe(true);
  expect(shown).toContain('| new |\n\n2026-11-16, commit abc');
  expect(shown).not.toContain('old');
  expect(readmeWith(shown, report(MAIN), '| new |')).toBe(shown);
});

test('a run that measured too little, or a README without the marks, changes nothing', () => {
  expect(readmeWith(README, report(MAIN.slice(1)), '| new |')).toBeNull();
  expect(readmeWith('no marks', report(MAIN), '| new |')).toBeNull();
});
