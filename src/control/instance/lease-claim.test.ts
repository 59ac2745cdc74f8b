import { expect, test } from 'vitest';
import { leaseOf } from '../objects/published-objects.ts';
import { type ClaimReason, daemonSetPod, LeaseClaim, type LeaseClaimOptions } from './lease-claim.ts';

const HOLDER = 'net-1/aa';
const lease = (facts: { host?: string; daemonSet?: string; process?: string; holder?: string } = {}) =>
  leaseOf({
    instance: 'net-1',
    namespace: 'ns',
    holder: HOLDER,
    host: 'host-a',
    process: 'pid 7 on net-1',
    daemonSet: '',
    acquiredAtMs: 0,
    renewedAtMs: 0,
    transitions: 0,
    tags: {},
    ...facts,
  });
const options = (some: Partial<LeaseClaimOptions> = {}): LeaseClaimOptions => ({
  processId: 'bb',
  predecessor: null,
  takeOver: false,
  daemonSet: null,
  host: 'host-a',
  markOf: async () => 'unknown',
  servesAll: () => true,
  ...some,
});
const POD = { name: 'ns/isthmus', generation: 7 };
const ELSEWHERE = { host: 'host-b' };

test.each<
  [
    title: string,
    some: Partial<LeaseClaimOptions>,
    object: ReturnType<typeof lease>,
    reason: ClaimReason | null,
  ]
>([
  ['a process without any proof', {}, lease(), null],
  ['the successor of the holder', { predecessor: { processId: 'aa' } }, lease(), 'handed-over'],
  ['the successor of an older release', { predecessor: { processId: null } }, lease(), 'handed-over'],
  [
    'the successor of a process that itself waited for the Lease',
    { predecessor: { processId: 'cc' } },
    lease(),
    null,
  ],
  ['a process whose holder is dead', { markOf: async () => 'dead' }, lease(), 'dead'],
  ['a process whose holder lives', { markOf: async () => 'alive' }, lease(), null],
  [
    'a process on another host',
    { predecessor: { processId: 'aa' }, markOf: async () => 'dead' },
    lease(ELSEWHERE),
    null,
  ],
  ['an operator', { takeOver: true }, lease(), 'take-over'],
  ['an operator on another host', { takeOver: true }, lease(ELSEWHERE), 'take-over'],
  ['a newer Pod', { daemonSet: POD }, lease({ daemonSet: 'ns/isthmus:6' }), 'daemonset'],
  ['a Pod of the same version', { daemonSet: POD }, lease({ daemonSet: 'ns/isthmus:7' }), 'daemonset'],
  ['an older Pod', { daemonSet: POD }, lease({ daemonSet: 'ns/isthmus:8' }), null],
  ['a Pod of another DaemonSet', { daemonSet: POD }, lease({ daemonSet: 'ns/other:6' }), null],
  ['a Pod beside a systemd service', { daemonSet: POD }, lease(), null],
  ['a Pod on another host', { daemonSet: POD }, lease({ ...ELSEWHERE, daemonSet: 'ns/isthmus:6' }), null],
  [
    'a newer Pod that serves fewer clusters',
    { daemonSet: POD, servesAll: () => false },
    lease({ daemonSet: 'ns/isthmus:6' }),
    null,
  ],
  [
    'a second process in the Pod',
    { daemonSet: POD, markOf: async () => 'alive' },
    lease({ daemonSet: 'ns/isthmus:7' }),
    null,
  ],
])('%s', async (_title, some, object, reason) => {
  expect(await new LeaseClaim(options(some)).reason(object)).toBe(reason);
});

test('a Pod does not replace the holder of a Lease that records no process', async () => {
  const object = lease();
  for (const name of ['isthmus.dev/process', 'isthmus.dev/daemonset'])
    delete object.metadata?.annotations?.[name];
  expect(await new LeaseClaim(options({ daemonSet: POD })).reason(object)).toBeNull();
});

test('--take-over permits only one takeover', async () => {
  const claim = new LeaseClaim(options({ takeOver: true }));
  claim.taken('');
  expect(await claim.reason(lease())).toBeNull();
});

test('a holder that this process replaced before may be replaced again, as after a restore of the API server', async () => {
  const claim = new LeaseClaim(options());
  claim.taken(HOLDER);
  expect(await claim.reason(lease())).toBe('replaced');
  expect(await claim.reason(lease({ holder: 'net-1/cc' }))).toBeNull();
});

test.each(['', 'isthmus:7', 'a/b', 'a/b:', 'a/b:-1', 'a/b/c:1', 'a/b:1 '])(
  '%j names no Pod of a DaemonSet',
  (text) => {
    expect(daemonSetPod(text)).toBeNull();
  },
);
