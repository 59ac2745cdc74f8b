import { describe, expect, test } from 'vitest';
import { holderFinding, type LeaseHolder, leaseHolder, type OwnName } from './node-name-check.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 30);
const FRESH = '2026-01-02T03:04:18.000000Z';
const lease = (renewTime: string | undefined, holderIdentity = 'net-1/abc', host = '') => ({
  metadata: { name: 'isthmus-net-1', ...(host && { annotations: { 'isthmus.dev/host': host } }) },
  spec: { holderIdentity, leaseDurationSeconds: 30, ...(renewTime && { renewTime }) },
});
const judged = (each: ReturnType<typeof lease>, lives: OwnName['lives'] = null, host = 'boot-here') =>
  leaseHolder(each as Parameters<typeof leaseHolder>[0], { host, lives }, NOW);

describe('the Lease of our name is held by', () => {
  const other = { kind: 'other', holder: 'net-1/abc', ageS: 12, elsewhere: null, tookIt: false };
  test.each<[title: string, found: LeaseHolder, expected: object]>([
    ['the isthmus that runs here', judged(lease(FRESH), 'held'), { kind: 'own' }],
    ['nobody, once it has expired', judged(lease('2026-01-02T03:03:50.000000Z')), { kind: 'nobody' }],
    ['nobody, where no name stands in it', judged(lease(FRESH, '')), { kind: 'nobody' }],
    ['nobody, if it was never renewed', judged(lease(undefined)), { kind: 'nobody' }],
    ['another, of whom nobody knows where it is', judged(lease(FRESH)), other],
    ['another on this host', judged(lease(FRESH, 'net-1/abc', 'boot-here')), other],
    ['another while the one that runs here starts', judged(lease(FRESH), 'not-yet'), other],
    [
      'another that took it from the one that runs here',
      judged(lease(FRESH), 'lost'),
      { ...other, tookIt: true },
    ],
    ['another host', judged(lease(FRESH, 'net-1/abc', 'boot-there')), { ...other, elsewhere: 'boot-there' }],
    [
      'another, where we do not know our own boot id',
      judged(lease(FRESH, 'net-1/abc', 'boot-there'), null, ''),
      other,
    ],
  ])('%s', (_title, found, expected) => {
    expect(found).toEqual(expected);
  });
});

describe('one who holds it', () => {
  const other = { kind: 'other', holder: 'net-1/abc', ageS: 12.4, elsewhere: null, tookIt: false } as const;

  test('and is not seen to renew it has ended, it seems: that is no reason to change anything', () => {
    expect(holderFinding('net-1', other, false)).toEqual({
      kind: 'ok',
      found:
        'net-1: its Lease was held by net-1/abc, which has not renewed it for 12 s and seems to have ended',
    });
  });

  test('and lives on another host is a problem: both go by one name', () => {
    expect(holderFinding('net-1', { ...other, elsewhere: 'boot-there' }, true)).toMatchObject({
      kind: 'problem',
      found: expect.stringContaining('net-1/abc renews the Lease, and has boot id boot-there'),
      fix: expect.stringContaining('--node-name'),
    });
  });

  test.each([
    [true, 'which it took from the one that answers here'],
    [false, 'and does not answer at --admin here'],
  ])('and lives on this host is a problem too: a unit and a Pod, say (it took it: %s)', (tookIt, told) => {
    expect(holderFinding('net-1', { ...other, tookIt }, true)).toMatchObject({
      kind: 'problem',
      found: expect.stringContaining(told),
      fix: expect.stringMatching(/systemctl disable --now isthmus.*nodeSelector.*--node-name each/),
    });
  });
});
