import { describe, expect, test } from 'vitest';
import { clusterObject } from './openstack-cluster.ts';

const object = (metadata: object = {}, endpoint?: unknown) => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'OpenStackCluster',
  metadata: { name: 'prod-x7k2', ...metadata },
  spec: { controlPlaneEndpoint: endpoint },
});

describe('the object behind a cluster', () => {
  test('has the fields that an owner reference needs', () => {
    expect(clusterObject(object({ uid: 'u-1' }, { host: '203.0.113.9', port: 6443 }))).toEqual({
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      name: 'prod-x7k2',
      uid: 'u-1',
      directServer: 'https://203.0.113.9:6443',
      deleting: false,
    });
  });

  test('shows that it is being deleted', () => {
    expect(clusterObject(object({ deletionTimestamp: '2026-03-02T09:14:27Z' }))?.deleting).toBe(true);
  });

  test.each([
    ['an IPv4 address', { host: '10.0.0.5', port: 6443 }, 'https://10.0.0.5:6443'],
    ['an IPv6 address', { host: 'fd12::10', port: 443 }, 'https://[fd12::10]:443'],
    ['an IPv6 address in brackets', { host: '[fd12::10]', port: 443 }, 'https://[fd12::10]:443'],
    ['a name', { host: 'api.example.com', port: 6443 }, 'https://api.example.com:6443'],
    ['nothing', undefined, null],
    ['a host without a port', { host: '10.0.0.5' }, null],
    ['a port without a host', { port: 6443 }, null],
    ['a host that would change the URL', { host: 'a/b?c@d', port: 6443 }, null],
    ['a host of another type', { host: 7, port: 6443 }, null],
  ])('takes its direct server only from a valid endpoint: %s', (_title, endpoint, server) => {
    expect(clusterObject(object({}, endpoint))?.directServer).toBe(server);
  });

  test('carries the tags of its users, or the reasons why they are invalid', () => {
    const tagged = (text: unknown) =>
      clusterObject(object({ annotations: { 'isthmus.dev/resource-tags': text } }))?.tags;
    expect(tagged('team=a')).toEqual({ kind: 'tags', tags: { team: 'a' } });
    expect(tagged('team')).toEqual({ kind: 'invalid', problems: ['"team" is not a tag. Use key=value'] });
    expect(tagged('')).toBeUndefined();
    expect(tagged(undefined)).toBeUndefined();
  });

  test.each([null, 'text', {}, { metadata: [] }, { apiVersion: 'v1' }])('is null for %j', (value) => {
    expect(clusterObject(value)).toBeNull();
  });
});
