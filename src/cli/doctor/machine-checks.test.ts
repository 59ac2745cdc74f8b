import { expect, test } from 'vitest';
import { configurationCheck, descriptorCheck, effectiveCapabilities, nodeCheck } from './machine-checks.ts';

test.each<[status: string, expected: bigint | null]>([
  ['Name:\tnode\nCapPrm:\t0\nCapEff:\t0000000000200000\n', 1n << 21n],
  ['CapEff:\t000001ffffffffff\n', 0x1ffffffffffn],
  ['Name:\tnode\n', null],
])('capabilities of %j', (status, expected) => {
  expect(effectiveCapabilities(status)).toBe(expected);
});

test('too few descriptors are a warning with both numbers', async () => {
  expect(await descriptorCheck(8192, 20_000).run()).toMatchObject({ kind: 'ok' });
  expect(await descriptorCheck(8192, 1024).run()).toMatchObject({
    kind: 'warning',
    found: expect.stringMatching(/^1024 open files are enough for \d+ connections, not .* 8192$/),
  });
  expect(await descriptorCheck(8192, Number.POSITIVE_INFINITY).run()).toMatchObject({ kind: 'ok' });
});

test.each([
  ['24.1.0', 'ok'],
  ['22.19.0', 'ok'],
  ['22.18.9', 'problem'],
  ['20.20.0', 'problem'],
])('Node %s: %s', async (version, kind) => {
  expect(await nodeCheck(version, '/usr/bin/node').run()).toMatchObject({ kind });
});

test('warnings of the configuration are passed on', async () => {
  expect(await configurationCheck({ warnings: [] }).run()).toMatchObject({ kind: 'ok' });
  expect(await configurationCheck({ warnings: ['PROXY_ALWAYS=no'] }).run()).toMatchObject({
    kind: 'warning',
    found: 'PROXY_ALWAYS=no',
  });
});
