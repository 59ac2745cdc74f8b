import { describe, expect, test } from 'vitest';
import {
  boundedRecord,
  type CertificateRecord,
  joinedRecord,
  recordIn,
  recordNames,
  recordText,
  verifies,
} from './certificate-record.ts';

const record = (names: readonly string[], changes: Partial<CertificateRecord> = {}): CertificateRecord => ({
  names,
  omitted: 0,
  notAfter: '2027-01-01T00:00:00.000Z',
  ...changes,
});

test.each<[names: readonly string[], name: string, yes: boolean]>([
  [['alpha.ns'], 'alpha.ns', true],
  [['alpha.ns'], 'alpha', false],
  [[], 'alpha', false],
  [['*.ns.svc'], 'alpha.ns.svc', true],
  [['*.ns.svc'], 'a.alpha.ns.svc', false],
  [['*.ns.svc'], 'ns.svc', false],
  [['*.ns'], 'alpha.ns', false],
  [['10.0.0.5'], '10.0.0.5', true],
])('a certificate for %j verifies %s: %s', (names, name, yes) => {
  expect(verifies(record(names), name)).toBe(yes);
});

describe('the record on a slice', () => {
  test('is read as it was written', () => {
    const written = boundedRecord(record(['b', 'a.ns', '10.0.0.5'], { omitted: 2 }), ['a.ns']);
    expect(written).toEqual(record(['a.ns', 'b', '10.0.0.5'], { omitted: 2 }));
    expect(recordIn(recordText(written))).toEqual(written);
  });

  test('never leaves out a server name for other names, and stays short', () => {
    const long = (letter: string) => `${letter.repeat(63)}.${letter.repeat(63)}`;
    const own = [long('a'), `${long('a')}.svc`, `${long('a')}.svc.cluster.local`];
    const others = Array.from({ length: 250 }, (_, i) => `${'x'.repeat(200)}${i}`);
    const written = boundedRecord(record([...others, ...own]), own);
    expect(written.names.slice(0, 3)).toEqual(own);
    expect(written.names.length + written.omitted).toBe(253);
    expect(recordText(written).length).toBeLessThanOrEqual(1500);
    const many = boundedRecord(record(Array.from({ length: 250 }, (_, i) => `n${i}`)), []);
    expect(many.names).toHaveLength(64);
  });

  test.each([
    undefined,
    '',
    '[',
    'null',
    '7',
    '{}',
    '{"names":"a","notAfter":"2027-01-01T00:00:00Z"}',
    '{"names":["a b"],"notAfter":"2027-01-01T00:00:00Z"}',
    '{"names":[1],"notAfter":"2027-01-01T00:00:00Z"}',
    '{"names":["a"],"notAfter":"never"}',
    '{"names":["a"],"omitted":"1","notAfter":"2027-01-01T00:00:00Z"}',
    `{"names":[${'"a",'.repeat(64)}"a"],"notAfter":"2027-01-01T00:00:00Z"}`,
    `{"names":["a"],"notAfter":"2027-01-01T00:00:00Z"${' '.repeat(2000)}}`,
  ])('of another writer counts as unknown: %j', (text) => {
    expect(recordIn(text)).toBeNull();
  });
});

test('of several records only the common names and the earliest end count', () => {
  expect(joinedRecord([])).toBeNull();
  const joined = joinedRecord([
    record(['a', 'b', 'cp-0']),
    record(['b', 'a', 'cp-1'], { notAfter: '2026-12-01T00:00:00.000Z', omitted: 3 }),
  ]);
  expect(joined).toEqual(record(['a', 'b'], { notAfter: '2026-12-01T00:00:00.000Z', omitted: 3 }));
});

test.each([
  [record([]), 'it has no names'],
  [record([], { omitted: 4 }), 'it has none that can be used'],
  [record(['a', 'b']), 'it has a, b'],
  [
    record(
      Array.from({ length: 14 }, (_, i) => `n${i}`),
      { omitted: 1 },
    ),
    /^it has n0, .*, n11 and 3 more$/,
  ],
])('a message shows the names of a record', (given, text) => {
  expect(recordNames(given)).toMatch(text);
});
