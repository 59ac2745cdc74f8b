import { expect, test } from 'vitest';
import { leaseFinding } from './node-name-check.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 30);
const lease = (renewTime: string | undefined, holderIdentity = 'net-1/abc') => ({
  metadata: { name: 'isthmus-net-1' },
  spec: { holderIdentity, leaseDurationSeconds: 30, ...(renewTime && { renewTime }) },
});
const find = (each: ReturnType<typeof lease>, isRunning = false) =>
  leaseFinding(
    each as Parameters<typeof leaseFinding>[0],
    { instance: 'net-1', host: 'boot-here', isRunning },
    NOW,
  );
const on = (host: string, each: ReturnType<typeof lease>) => ({
  ...each,
  metadata: { ...each.metadata, annotations: { 'isthmus.dev/host': host } },
});

test('a Lease that is renewed by somebody else is worth a warning that names the holder', () => {
  expect(find(lease('2026-01-02T03:04:18.000000Z'))).toMatchObject({
    kind: 'warning',
    found: expect.stringContaining('held by net-1/abc, renewed 12 s ago'),
  });
});

test('a Lease that another host renews is a problem: both go by one name', () => {
  const finding = find(on('boot-there', lease('2026-01-02T03:04:18.000000Z')));
  expect(finding).toMatchObject({
    kind: 'problem',
    found: expect.stringContaining('net-1/abc renewed the Lease 12 s ago, and has boot id boot-there'),
    fix: expect.stringContaining('--node-name'),
  });
  expect(find(on('boot-here', lease('2026-01-02T03:04:18.000000Z'))).kind).toBe('warning');
  expect(find(on('boot-there', lease('2026-01-02T03:03:50.000000Z'))).kind).toBe('ok');
});

test.each<[title: string, each: ReturnType<typeof lease>, isRunning: boolean]>([
  ['by the isthmus that runs here', lease('2026-01-02T03:04:18.000000Z'), true],
  ['that has expired', lease('2026-01-02T03:03:50.000000Z'), false],
  ['that nobody holds', lease('2026-01-02T03:04:18.000000Z', ''), false],
  ['that was never renewed', lease(undefined), false],
])('a Lease %s is well', (_title, each, isRunning) => {
  expect(find(each, isRunning).kind).toBe('ok');
});
