import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exampleListeners } from '../../../test/kube-api/behaviour-additional-listeners.ts';
import { readAdditionalListener, selectorDigest } from './additional-listener.ts';

const SETTINGS = { ignoredLabels: new Set(['generation']) };
const listener = (spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'isthmus.dev/v1alpha1',
  kind: 'AdditionalListener',
  metadata: {
    name: 'ssh',
    namespace: 'magnum-system',
    uid: 'u-1',
    generation: 3,
    creationTimestamp: '2026-08-01T00:00:00Z',
    ...metadata,
  },
  spec: { clusterName: 'kube-1', port: 22, ...spec },
});
const read = (object: unknown, settings = SETTINGS) =>
  readAdditionalListener(object, 'AdditionalListener x', settings);

test('an absent field gets the default of the API', () => {
  const reading = read(listener());
  expect(reading.problems).toEqual([]);
  expect(reading).toMatchObject({
    key: 'magnum-system/ssh',
    createdAtMs: Date.parse('2026-08-01T00:00:00Z'),
    deleting: false,
    object: { apiVersion: 'isthmus.dev/v1alpha1', uid: 'u-1', generation: 3, status: null },
    definition: {
      cluster: 'kube-1',
      poolName: 'ssh',
      protocol: 'TCP',
      port: 22,
      targetPort: 22,
      allowedCidrs: [],
    },
  });
});

test('every example in deploy/ is valid', () => {
  const readings = exampleListeners().map((each) => read(each));
  expect(readings.flatMap(({ problems }) => problems)).toEqual([]);
  expect(readings.map(({ name }) => name)).toContain('bootstrap-ssh');
});

describe('an invalid listener is rejected with the path of the field', () => {
  test.each<[string, object, RegExp]>([
    ['no cluster', { clusterName: undefined }, /^spec.clusterName is ""/],
    ['a cluster without a Service', { clusterName: 'a.b' }, /^spec.clusterName is "a.b"/],
    ['no port', { port: undefined }, /^spec.port is missing: expected the port of its Service/],
    ['a port in quotes', { port: '22' }, /^spec.port is "22": expected a whole number/],
    ['6443', { port: 6443 }, /^spec.port is the number 6443: the cluster's own Service uses this port/],
    ['a target port', { targetPort: 70_000 }, /^spec.targetPort is the number 70000/],
    ['a protocol', { protocol: 'UDP' }, /^spec.protocol is "UDP"/],
    ['a pool name', { defaultPoolName: 'A' }, /^spec.defaultPoolName is "A"/],
    ['a range', { allowedCIDRs: ['10.0.0.0/8', '10.0.0.0/40'] }, /^spec.allowedCIDRs\[1\] is "10.0.0.0\/40"/],
    ['ranges that are not a list', { allowedCIDRs: '10.0.0.0/8' }, /^spec.allowedCIDRs is "10.0.0.0\/8"/],
    [
      'an operator',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } },
      /^spec.selector.matchExpressions\[0\].operator is "Like"/,
    ],
    [
      'values for an operator that takes none',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } },
      /Exists takes no values/,
    ],
    [
      'a rollout label that the operator did not allow',
      { rolloutLabels: { role: 'x' } },
      /spec.rolloutLabels has the key/,
    ],
    [
      'a selector that has only ignored labels',
      { selector: { matchLabels: { generation: 'blue' } } },
      /would match every machine/,
    ],
  ])('%s', (_title, spec, words) => {
    const { definition, problems } = read(listener(spec));
    expect(definition).toBeNull();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(words);
  });

  test('all problems are listed at once, and readable values are shown', () => {
    const { problems, shown } = read(listener({ port: 0, protocol: 'UDP', targetPort: 'x' }));
    expect(problems).toHaveLength(3);
    expect(shown).toEqual({ cluster: 'kube-1', protocol: 'TCP', port: 0, targetPort: 0 });
  });
});

test('ranges are kept in canonical form without duplicates', () => {
  const { definition } = read(listener({ allowedCIDRs: ['FD00:0::/8', '10.0.0.0/8', 'fd00::/8'] }));
  expect(definition?.allowedCidrs).toEqual(['10.0.0.0/8', 'fd00::/8']);
});

describe('the digest of a selector', () => {
  test('depends on the meaning of the selector, not on its spelling', () => {
    const asked = { matchLabels: { a: '1', b: '2' }, matchExpressions: [] };
    expect(selectorDigest(asked)).toBe(selectorDigest({ matchLabels: { b: '2', a: '1' } }));
    expect(selectorDigest({})).toBe(selectorDigest(undefined));
    expect(selectorDigest(asked)).not.toBe(selectorDigest({ matchLabels: { a: '1' } }));
    expect(selectorDigest(asked)).not.toBe(
      selectorDigest({ matchExpressions: [{ key: 'a', operator: 'Exists' }] }),
    );
  });
});

test('a changed status gives another reading, and a write of equal content does not', () => {
  expect(read(listener())).toEqual(read(listener()));
  const withStatus = { ...listener(), status: { ready: 1 } };
  expect(read(listener())).not.toEqual(read(withStatus));
  const selector = (role: string) => listener({ selector: { matchLabels: { role } } });
  expect(read(selector('a'))).not.toEqual(read(selector('b')));
});

test('no object makes the reader throw, and each gives a definition or a reason', () => {
  const odd = fc.oneof(
    fc.anything(),
    fc.record({ metadata: fc.anything(), spec: fc.object(), status: fc.anything() }),
    fc.dictionary(fc.string(), fc.anything()).map((spec) => listener(spec)),
  );
  fc.assert(
    fc.property(odd, (object) => {
      const { definition, problems } = read(object);
      expect(definition === null).toBe(problems.length > 0);
    }),
  );
});
