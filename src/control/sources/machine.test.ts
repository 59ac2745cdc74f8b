import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMachine } from './machine.ts';

const machine = (status: object = {}, metadata: object = {}, spec: object = {}) => ({
  apiVersion: 'cluster.x-k8s.io/v1beta1',
  kind: 'Machine',
  metadata: { name: 'w-1', namespace: 'magnum-system', labels: { role: 'worker' }, ...metadata },
  spec: { clusterName: 'kube-1', bootstrap: {}, ...spec },
  status,
});
const internal = (...addresses: readonly string[]) => ({
  addresses: addresses.map((address) => ({ type: 'InternalIP', address })),
});

test('a machine is read into its cluster, its labels and its addresses', () => {
  const read = readMachine(
    machine({
      phase: 'Running',
      addresses: [
        { type: 'Hostname', address: 'w-1' },
        { type: 'InternalIP', address: '10.0.0.11' },
        { type: 'ExternalIP', address: '203.0.113.9' },
        { type: 'InternalIP', address: 'FD00:0::11' },
        { type: 'InternalIP', address: '10.0.0.11' },
      ],
    }),
  );
  expect(read).toEqual({
    key: 'magnum-system/w-1',
    name: 'w-1',
    namespace: 'magnum-system',
    cluster: 'kube-1',
    labels: { role: 'worker' },
    addresses: ['10.0.0.11', 'fd00::11'],
    addressProblem: null,
    leaving: false,
  });
});

describe('addresses', () => {
  test.each<[string, object, string[], RegExp | null]>([
    ['none yet', { phase: 'Provisioning' }, [], /no InternalIP .*"Provisioning"/],
    ['no status at all', {}, [], /no InternalIP in status.addresses yet$/],
    [
      'one that leads back into the node',
      internal('169.254.169.254'),
      [],
      /can be dialled.*metadata service/,
    ],
    ['a loopback address and a valid one', internal('127.0.0.1', '10.0.0.12'), ['10.0.0.12'], null],
    ['a name', internal('w-1.internal'), [], /not an IP address/],
    ['addresses that are not a list', { addresses: 'here' }, [], /no InternalIP/],
    ['IPv6 alone', internal('fd00::5'), ['fd00::5'], null],
  ])('%s', (_title, status, addresses, problem) => {
    const read = readMachine(machine(status));
    expect(read.addresses).toEqual(addresses);
    if (problem === null) expect(read.addressProblem).toBeNull();
    else expect(read.addressProblem).toMatch(problem);
  });

  test('a machine has at most eight addresses', () => {
    const many = Array.from({ length: 1000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
    expect(readMachine(machine(internal(...many))).addresses).toHaveLength(8);
  });
});

test.each<[string, object, boolean]>([
  ['is deleted', machine({ phase: 'Running' }, { deletionTimestamp: '2026-08-01T00:00:00Z' }), true],
  ['is in phase Deleting', machine({ phase: 'Deleting' }), true],
  ['has failed', machine({ phase: 'Failed' }), false],
])('a machine that %s is being removed: %s', (_title, object, leaving) =>
  expect(readMachine(object).leaving).toBe(leaving),
);

test('a label cannot move a machine into another cluster', () => {
  const labels = { 'cluster.x-k8s.io/cluster-name': 'other' };
  expect(readMachine(machine({}, { labels })).cluster).toBe('kube-1');
  expect(readMachine(machine({}, { labels }, { clusterName: undefined })).cluster).toBe('other');
  expect(readMachine(machine({}, {}, { clusterName: undefined })).cluster).toBe('');
});

test('both versions give the same facts, and a write of other fields is no change', () => {
  const one = readMachine(machine(internal('10.0.0.1')));
  const two = readMachine({
    ...machine({ ...internal('10.0.0.1'), conditions: [{ type: 'Ready' }] }),
    apiVersion: 'cluster.x-k8s.io/v1beta2',
  });
  expect(one).toEqual(two);
  expect(one).not.toEqual(readMachine(machine(internal('10.0.0.2'))));
  expect(one).not.toEqual(readMachine(machine(internal('10.0.0.1'), { labels: { role: 'edge' } })));
});

test('no object makes the reader throw', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), (object) => {
      const { addresses, addressProblem } = readMachine(object);
      expect(addresses.length === 0).toBe(addressProblem !== null);
    }),
  );
});
