import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { serviceOf } from './cluster-shape.ts';
import { hashedName, listenerNames, type NamedListener } from './listener-names.ts';

const listener = (key: string, changes: Partial<NamedListener> = {}): NamedListener => ({
  key: `ns/${key}`,
  createdAtMs: 0,
  cluster: 'kube-1',
  poolName: key,
  ...changes,
});
const service = (of: NamedListener, name: string) =>
  serviceOf({
    cluster: of.cluster,
    namespace: 'ns',
    owner: null,
    mode: 'lease',
    tags: {},
    listener: { key: of.key, service: name, port: 22, selector: 'x' },
  });
const clusterService = (cluster: string) =>
  serviceOf({ cluster, namespace: 'ns', owner: null, mode: 'lease', tags: {} });
const names = (
  listeners: readonly NamedListener[],
  clusters: readonly string[] = ['kube-1'],
  services: Readonly<Record<string, ReturnType<typeof serviceOf>>> = {},
) =>
  Object.fromEntries(
    listenerNames(listeners, new Set(clusters), { services: new Map(Object.entries(services)) }),
  );
const HASHED = /^kube-1-ssh-[0-9a-f]{10}$/;

test('it is the cluster and the pool', () => {
  expect(names([listener('ssh'), listener('web')])).toEqual({
    'ns/ssh': 'kube-1-ssh',
    'ns/web': 'kube-1-web',
  });
});

describe('with a hash', () => {
  test('where a cluster has that name', () =>
    expect(names([listener('ssh')], ['kube-1', 'kube-1-ssh'])['ns/ssh']).toMatch(HASHED));

  test("where somebody else's Service has it, a stale one of a cluster too", () => {
    const foreign = { metadata: { name: 'kube-1-ssh' }, spec: { ports: [] } };
    expect(names([listener('ssh')], ['kube-1'], { 'kube-1-ssh': foreign })['ns/ssh']).toMatch(HASHED);
    const stale = { 'kube-1-ssh': clusterService('kube-1-ssh') };
    expect(names([listener('ssh')], ['kube-1'], stale)['ns/ssh']).toMatch(HASHED);
  });

  test('where it is too long, or no Service can have it', () => {
    const long = listener('x'.repeat(63));
    expect(names([long])[long.key]).toMatch(/^kube-1-x{45}-[0-9a-f]{10}$/);
    expect(names([listener('a.b')])['ns/a.b']).toMatch(/^kube-1-a-b-[0-9a-f]{10}$/);
  });

  test('of two with one name the older has it', () => {
    const [older, younger] = [
      listener('z', { poolName: 'ssh', createdAtMs: 1 }),
      listener('a', { poolName: 'ssh', createdAtMs: 2 }),
    ];
    const found = names([younger, older]);
    expect(found['ns/z']).toBe('kube-1-ssh');
    expect(found['ns/a']).toMatch(HASHED);
    expect(found['ns/a']).not.toBe(names([listener('b', { poolName: 'ssh' }), older])['ns/b']);
  });

  test('two clusters and pools that read alike are two', () => {
    const [one, other] = [
      listener('one', { cluster: 'a-b', poolName: 'c' }),
      listener('other', { cluster: 'a', poolName: 'b-c', createdAtMs: 1 }),
    ];
    expect(Object.values(names([one, other])).sort()).toEqual(['a-b-c', expect.stringMatching(/^a-b-c-/)]);
  });
});

describe('a Service that is there', () => {
  test('keeps its name when an older listener of that name comes back', () => {
    const [here, restored] = [
      listener('here', { poolName: 'ssh', createdAtMs: 9 }),
      listener('restored', { poolName: 'ssh', createdAtMs: 1 }),
    ];
    const found = names([restored, here], ['kube-1'], { 'kube-1-ssh': service(here, 'kube-1-ssh') });
    expect(found['ns/here']).toBe('kube-1-ssh');
    expect(found['ns/restored']).toMatch(HASHED);
  });

  test('with a hash keeps that when the plain name becomes free', () => {
    const ssh = listener('ssh');
    const hashed = hashedName(ssh);
    expect(names([ssh], ['kube-1'], { [hashed]: service(ssh, hashed) })['ns/ssh']).toBe(hashed);
  });

  test('gives way to a cluster of its name', () => {
    const ssh = listener('ssh');
    const services = { 'kube-1-ssh': service(ssh, 'kube-1-ssh') };
    expect(names([ssh], ['kube-1', 'kube-1-ssh'], services)['ns/ssh']).toMatch(HASHED);
  });
});

test('whatever the order, everybody has a name that a Service can carry, of his own, and never that of a cluster', () => {
  const name = fc.stringMatching(/^[a-z][-a-z0-9.]{0,70}[a-z0-9]$/);
  const label = fc.stringMatching(/^[a-z](-?[a-z0-9]){0,30}$/);
  const listeners = fc.uniqueArray(
    fc.record({
      key: name.map((text) => `ns/${text}`),
      createdAtMs: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
      cluster: fc.oneof(label, fc.constantFrom('a', 'a-b')),
      poolName: fc.oneof(name, fc.constantFrom('b-c', 'c')),
    }),
    { selector: ({ key }) => key, maxLength: 8 },
  );
  fc.assert(
    fc.property(listeners, fc.array(fc.oneof(label, fc.constantFrom('a-b-c'))), (all, clusters) => {
      const found = names(all, clusters);
      expect(names([...all].reverse(), clusters)).toEqual(found);
      const given = Object.values(found);
      expect(new Set(given).size).toBe(all.length);
      for (const each of given) {
        expect(each).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/);
        expect(each.length).toBeLessThanOrEqual(63);
        expect(clusters).not.toContain(each);
      }
    }),
  );
});
