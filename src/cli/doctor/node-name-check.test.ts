import { describe, expect, test } from 'vitest';
import { holderFinding, type NameHolder, nameHolder, type OwnName } from './node-name-check.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 30);
const FRESH = '2026-01-02T03:04:18.000000Z';
const lease = (renewTime: string | undefined, holderIdentity = 'net-1/abc', host = '') => ({
  metadata: { name: 'isthmus-net-1', ...(host && { annotations: { 'isthmus.dev/host': host } }) },
  spec: { holderIdentity, leaseDurationSeconds: 30, ...(renewTime && { renewTime }) },
});
const judged = (each: ReturnType<typeof lease>, lives: OwnName['lives'] = null, host = 'boot-here') =>
  nameHolder(each as Parameters<typeof nameHolder>[0], { host, lives }, NOW);

describe('the Lease of this name is held by', () => {
  const other = { kind: 'other', holder: 'net-1/abc', ageS: 12, elsewhere: null, tookIt: false };
  test.each<[title: string, found: NameHolder, expected: object]>([
    ['the isthmus that runs here', judged(lease(FRESH), 'held'), { kind: 'own' }],
    ['no process once it has expired', judged(lease('2026-01-02T03:03:50.000000Z')), { kind: 'none' }],
    ['no process if it has no holder', judged(lease(FRESH, '')), { kind: 'none' }],
    ['no process if it was never renewed', judged(lease(undefined)), { kind: 'none' }],
    ['another process on an unknown host', judged(lease(FRESH)), other],
    ['another on this host', judged(lease(FRESH, 'net-1/abc', 'boot-here')), other],
    ['another process while the isthmus here starts', judged(lease(FRESH), 'not-yet'), other],
    [
      'another process that took it from the isthmus here',
      judged(lease(FRESH), 'lost'),
      { ...other, tookIt: true },
    ],
    ['another host', judged(lease(FRESH, 'net-1/abc', 'boot-there')), { ...other, elsewhere: 'boot-there' }],
    [
      'another process if the own boot id is not known',
      judged(lease(FRESH, 'net-1/abc', 'boot-there'), null, ''),
      other,
    ],
  ])('%s', (_title, found, expected) => {
    expect(found).toEqual(expected);
  });
});

describe('another holder of the Lease', () => {
  const other = { kind: 'other', holder: 'net-1/abc', ageS: 12.4, elsewhere: null, tookIt: false } as const;

  test('that does not renew it seems to have ended and is no problem', () => {
    expect(holderFinding('net-1', other, false)).toEqual({
      kind: 'ok',
      found:
        'net-1: its Lease was held by net-1/abc, which has not renewed it for 12 s and seems to have ended',
    });
  });

  test('that lives on another host is a problem: both use one name', () => {
    expect(holderFinding('net-1', { ...other, elsewhere: 'boot-there' }, true)).toMatchObject({
      kind: 'problem',
      found: expect.stringContaining('net-1/abc renews the Lease, and has boot id boot-there'),
      fix: expect.stringContaining('--node-name'),
    });
  });

  test.each([
    [true, 'which it took from the one that answers here'],
    [false, 'and does not answer at --admin here'],
  ])('that lives on this host is a problem too (it took the Lease: %s)', (tookIt, relation) => {
    expect(holderFinding('net-1', { ...other, tookIt }, true)).toMatchObject({
      kind: 'problem',
      found: expect.stringContaining(relation),
      fix: expect.stringMatching(/systemctl disable --now isthmus.*nodeSelector.*--node-name each/),
    });
  });
});
