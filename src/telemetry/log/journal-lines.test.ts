import { expect, test } from 'vitest';
import { journalLines } from './journal-lines.ts';

const line = (facts: object) => `${JSON.stringify(facts)}\n`;

test.each([
  ['debug', 7],
  ['info', 6],
  ['warn', 4],
  ['error', 3],
  ['fatal', 2],
])("%s has priority %i, and the time is the journal's", (level, priority) => {
  expect(journalLines(line({ level, time: '2026-01-01T00:00:00.000Z', cluster: 'a', msg: 'serving' }))).toBe(
    `<${priority}>serving {"cluster":"a"}\n`,
  );
});

test('each line of a stack has its priority', () => {
  const text = journalLines(
    line({ level: 'fatal', err: { type: 'Error', message: 'no', stack: 'Error: no\n    at x' }, msg: 'no' }),
  );
  const lines = text.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(2);
  expect(lines.filter((each) => !each.startsWith('<2>'))).toEqual([]);
});
