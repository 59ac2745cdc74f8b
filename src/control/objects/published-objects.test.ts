import { describe, expect, test } from 'vitest';
import { ownershipOf } from './ownership.ts';
import {
  type EndpointSliceFacts,
  endpointSliceOf,
  leaseOf,
  microTime,
  type ServiceFacts,
  serviceOf,
} from './published-objects.ts';

const owner = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  name: 'kube-1-x7k2p',
  namespace: 'magnum-system',
  uid: '0a1b2c3d-0000-4000-8000-000000000001',
};
const reference = {
  apiVersion: owner.apiVersion,
  kind: 'OpenStackCluster',
  name: owner.name,
  uid: owner.uid,
  blockOwnerDeletion: false,
};
const service: ServiceFacts = {
  cluster: 'kube-1',
  namespace: 'magnum-system',
  owner,
  mode: 'lease',
  tags: {},
};
const slice: EndpointSliceFacts = {
  cluster: 'kube-1',
  namespace: 'magnum-system',
  owner,
  instance: 'net-1',
  address: '192.0.2.7',
  family: 'IPv4',
  port: 16_443,
  nodeName: 'net-1.example.org',
  mode: 'lease',
  timestamp: null,
  terminating: false,
  tags: {},
};
const TIMESTAMP = '2026-01-02T03:04:05.678000+00:00';

describe('the Service of a cluster', () => {
  test('is selectorless, tagged, and owned by its OpenStackCluster', () => {
    expect(serviceOf(service)).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kube-1',
        namespace: 'magnum-system',
        labels: {
          'magnum-cluster-api.vexxhost.com/proxied-service': 'true',
          'isthmus.dev/resource-owner': 'kube-1',
        },
        annotations: { 'isthmus.dev/resource-owner': 'kube-1' },
        ownerReferences: [reference],
      },
      spec: { type: 'ClusterIP', ports: [{ name: 'https', port: 6443, targetPort: 6443, protocol: 'TCP' }] },
    });
  });

  test('has only the label of old instances while they run, because they remove every other label', () => {
    const { metadata } = serviceOf({ ...service, mode: 'timestamp', tags: { team: 'a' } });
    expect(metadata?.labels).toEqual({ 'magnum-cluster-api.vexxhost.com/proxied-service': 'true' });
    expect(metadata?.annotations).toEqual({
      'isthmus.dev/resource-owner': 'kube-1',
      'isthmus.dev/applied-tags': 'team',
      team: 'a',
    });
  });
});

describe('the slice of a cluster and an instance', () => {
  test('of mode lease lacks the labels by which an old instance would expire it', () => {
    expect(endpointSliceOf(slice)).toEqual({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: 'kube-1-net-1',
        namespace: 'magnum-system',
        labels: {
          'kubernetes.io/service-name': 'kube-1',
          'endpointslice.kubernetes.io/managed-by': 'isthmus.dev',
          'magnum-cluster-api.vexxhost.com/proxied-cluster': 'kube-1',
          'isthmus.dev/instance': 'net-1',
          'isthmus.dev/resource-owner': 'kube-1',
        },
        annotations: { 'isthmus.dev/resource-owner': 'kube-1', 'isthmus.dev/instance': 'net-1' },
        ownerReferences: [reference],
      },
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['192.0.2.7'],
          conditions: { ready: true, serving: true, terminating: false },
          nodeName: 'net-1.example.org',
        },
      ],
      ports: [{ name: 'https', port: 16_443, protocol: 'TCP' }],
    });
  });

  test('of mode timestamp has the labels that an old instance looks for', () => {
    const { metadata } = endpointSliceOf({ ...slice, mode: 'timestamp', timestamp: TIMESTAMP });
    expect(metadata?.labels).toEqual({
      ...endpointSliceOf(slice).metadata?.labels,
      'magnum-cluster-api.vexxhost.com/node': 'net-1',
      'magnum-cluster-api.vexxhost.com/proxied-service': 'true',
    });
    expect(metadata?.annotations).toEqual({
      'isthmus.dev/resource-owner': 'kube-1',
      'isthmus.dev/instance': 'net-1',
      'magnum-cluster-api.vexxhost.com/timestamp': TIMESTAMP,
    });
  });

  test('of mode timestamp throws without a timestamp, because old instances would crash on it', () => {
    expect(() => endpointSliceOf({ ...slice, mode: 'timestamp' })).toThrow('needs a timestamp');
  });

  test('of mode lease has no timestamp even if one is given', () => {
    expect(endpointSliceOf({ ...slice, timestamp: TIMESTAMP })).toEqual(endpointSliceOf(slice));
  });

  test('that terminates is not ready but still serves, for clients without a ready endpoint', () => {
    const [endpoint] = endpointSliceOf({ ...slice, terminating: true }).endpoints ?? [];
    expect(endpoint?.conditions).toEqual({ ready: false, serving: true, terminating: true });
  });

  test('of an IPv6 address has the address type IPv6', () => {
    const { addressType, endpoints } = endpointSliceOf({ ...slice, address: 'fd00::7', family: 'IPv6' });
    expect([addressType, endpoints?.[0]?.addresses]).toEqual(['IPv6', ['fd00::7']]);
  });

  test.each([
    ['no name', null],
    ['upper case', 'NET-1'],
    ['an underscore', 'net_1'],
    ['empty', ''],
    ['an empty part', 'net..1'],
    ['254 letters', 'n'.repeat(254)],
  ])('names no Node if the name is not a valid Node name: %s', (_title, nodeName) => {
    expect(endpointSliceOf({ ...slice, nodeName }).endpoints?.[0]).not.toHaveProperty('nodeName');
  });

  test('whose plain name is in use has a hashed name', () => {
    expect(endpointSliceOf({ ...slice, disambiguate: true }).metadata?.name).toMatch(
      /^kube-1-net-1-[0-9a-f]{10}$/,
    );
  });
});

describe('objects of a cluster', () => {
  test('have no owner in another namespace, because the garbage collector would delete them at once', () => {
    const elsewhere = { ...owner, namespace: 'other' };
    for (const object of [
      serviceOf({ ...service, owner: elsewhere }),
      endpointSliceOf({ ...slice, owner: elsewhere }),
      serviceOf({ ...service, owner: null }),
    ])
      expect(object.metadata).not.toHaveProperty('ownerReferences');
  });

  test('carry the tags of users as labels and annotations, but our own keys take precedence', () => {
    const tags = {
      team: 'a',
      'isthmus.dev/resource-owner': 'other',
      'isthmus.dev/instance': 'other',
      'kubernetes.io/service-name': 'other',
    };
    for (const { metadata } of [serviceOf({ ...service, tags }), endpointSliceOf({ ...slice, tags })]) {
      expect(metadata?.labels).toMatchObject({ team: 'a', 'isthmus.dev/resource-owner': 'kube-1' });
      expect(metadata?.annotations).toMatchObject({ team: 'a', 'isthmus.dev/resource-owner': 'kube-1' });
    }
    expect(endpointSliceOf({ ...slice, tags }).metadata?.labels).toMatchObject({
      'isthmus.dev/instance': 'net-1',
      'kubernetes.io/service-name': 'kube-1',
    });
  });

  test('are recognised as ours, in either mode', () => {
    for (const mode of ['lease', 'timestamp'] as const) {
      expect(ownershipOf(serviceOf({ ...service, mode }))).toEqual({
        kind: 'ours',
        cluster: 'kube-1',
        instance: null,
      });
      expect(ownershipOf(endpointSliceOf({ ...slice, mode, timestamp: TIMESTAMP }))).toEqual({
        kind: 'ours',
        cluster: 'kube-1',
        instance: 'net-1',
      });
    }
  });
});

describe('the Lease of an instance', () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

  test('names its holder, and its times have six digits', () => {
    const lease = leaseOf({
      instance: 'net-1',
      namespace: 'magnum-system',
      holder: 'net-1/5f3a',
      host: '0e6c7b5e-54a3-4ddc-b9a4-5f0d1c2b3a49',
      acquiredAtMs: at - 10_000,
      renewedAtMs: at,
      transitions: 2,
      tags: { team: 'a', cost: '7' },
    });
    expect(lease).toEqual({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: 'isthmus-net-1',
        namespace: 'magnum-system',
        labels: { team: 'a', cost: '7', 'isthmus.dev/instance': 'net-1' },
        annotations: {
          team: 'a',
          cost: '7',
          'isthmus.dev/instance': 'net-1',
          'isthmus.dev/applied-tags': 'cost,team',
          'isthmus.dev/host': '0e6c7b5e-54a3-4ddc-b9a4-5f0d1c2b3a49',
        },
      },
      spec: {
        holderIdentity: 'net-1/5f3a',
        leaseDurationSeconds: 30,
        acquireTime: '2026-01-02T03:03:55.678000Z',
        renewTime: '2026-01-02T03:04:05.678000Z',
        leaseTransitions: 2,
      },
    });
  });

  test('a time has the six digits that the API server requires', () => {
    expect(microTime(at)).toBe('2026-01-02T03:04:05.678000Z');
  });
});
