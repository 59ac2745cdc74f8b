import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readOpenStackCluster } from './openstack-cluster.ts';

const NETWORK = '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66';
const LB_NETWORK = 'c4f0a1d2-7b36-4e58-9f10-2a6b8c0d4e5f';

interface Manifest {
  apiVersion: string;
  kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests put values of any type into any field
  [part: string]: any;
}

const metadata = () => ({
  name: 'prod-x7k2',
  namespace: 'magnum-system',
  creationTimestamp: '2026-03-02T09:14:27Z',
  labels: { 'cluster.x-k8s.io/cluster-name': 'prod' },
});

const manifest = (version: string, spec: object, status?: object): Manifest => ({
  apiVersion: `infrastructure.cluster.x-k8s.io/${version}`,
  kind: 'OpenStackCluster',
  metadata: metadata(),
  spec,
  ...(status === undefined ? {} : { status }),
});

const v1beta1 = (): Manifest =>
  manifest(
    'v1beta1',
    {
      disableAPIServerFloatingIP: true,
      apiServerPort: 6443,
      apiServerLoadBalancer: { enabled: true },
      controlPlaneEndpoint: { host: '10.0.0.193', port: 6443 },
    },
    { network: { id: NETWORK }, apiServerLoadBalancer: { internalIP: '10.0.0.193' } },
  );

const read = (object: unknown, proxyAlways = false, trustSpecNetwork = false) =>
  readOpenStackCluster(object, 'prod.yaml', { proxyAlways, trustSpecNetwork });
const changed = (change: (object: Manifest) => void) => {
  const object = v1beta1();
  change(object);
  return read(object);
};

const identity = {
  key: 'magnum-system/prod-x7k2',
  name: 'prod',
  namespace: 'magnum-system',
  origin: 'prod.yaml',
  createdAtMs: Date.parse('2026-03-02T09:14:27Z'),
  // cluster-object.test.ts tests this.
  object: expect.objectContaining({ name: 'prod-x7k2' }),
};
const proxied = (facts: object) => ({
  kind: 'proxied',
  facts: {
    ...identity,
    networkIds: [NETWORK],
    clusterNetworkId: NETWORK,
    address: '10.0.0.193',
    port: 6443,
    ...facts,
  },
});

describe("the cluster's own network", () => {
  test('is known for a cluster that is not proxied, pending or invalid, because its machines are still in it', () => {
    const open = changed(({ spec }) => {
      spec.disableAPIServerFloatingIP = false;
    });
    const pending = changed(({ spec, status }) => {
      delete status.apiServerLoadBalancer;
      delete spec.controlPlaneEndpoint;
    });
    const invalid = changed(({ status }) => {
      status.apiServerLoadBalancer.internalIP = 'nowhere';
    });
    expect([open.kind, pending.kind, invalid.kind]).toEqual(['not-proxied', 'pending', 'invalid']);
    for (const reading of [open, pending, invalid])
      expect(reading).toMatchObject({ clusterNetworkId: NETWORK });
  });

  test('is never that of the load balancer', () => {
    const reading = changed(({ status }) => {
      status.network.id = '../escape';
      status.apiServerLoadBalancer.loadBalancerNetwork = { id: LB_NETWORK };
    });
    expect(reading).not.toHaveProperty('clusterNetworkId');
  });
});

describe('each API version', () => {
  test('v1alpha6 keeps the load balancer below status.network', () => {
    const spec = { disableAPIServerFloatingIP: true, controlPlaneEndpoint: { host: '', port: 0 } };
    const status = { network: { id: NETWORK, apiServerLoadBalancer: { internalIP: '10.0.0.193', ip: '' } } };
    expect(read(manifest('v1alpha6', spec, status))).toEqual(proxied({}));
    expect(read(manifest('v1alpha7', spec, status)).kind).toBe('pending');
  });

  test.each(['v1alpha7', 'v1beta1'])(
    '%s keeps the load balancer in status.apiServerLoadBalancer',
    (version) => {
      const spec = { disableAPIServerFloatingIP: true };
      const status = { network: { id: NETWORK }, apiServerLoadBalancer: { internalIP: '10.0.0.193' } };
      expect(read(manifest(version, spec, status))).toEqual(proxied({}));
      expect(read(manifest('v1alpha6', spec, status)).kind).toBe('pending');
    },
  );

  test('v1beta2 inverts the flag and moves the other fields', () => {
    const status = { network: { id: NETWORK }, apiServerManagedLoadBalancer: { internalIP: '10.0.0.193' } };
    const spec = { apiServer: { enableFloatingIP: false, port: 8443 } };
    expect(read(manifest('v1beta2', spec, status))).toEqual(proxied({ port: 8443 }));
    const fixed = { apiServer: { enableFloatingIP: false, fixedIP: '10.0.0.7' } };
    expect(read(manifest('v1beta2', fixed, { network: { id: NETWORK } }))).toEqual(
      proxied({ address: '10.0.0.7' }),
    );
    for (const apiServer of [undefined, {}, { enableFloatingIP: true }]) {
      expect(read(manifest('v1beta2', { apiServer, disableAPIServerFloatingIP: true }, status)).kind).toBe(
        'not-proxied',
      );
    }
  });

  test.each(['v1alpha5', 'v1', 'v2', '', '__proto__'])(
    '%j is an unknown version, and the reason lists the known ones',
    (version) => {
      expect(read(manifest(version, {}))).toEqual({
        kind: 'invalid',
        ...identity,
        reason: `apiVersion "infrastructure.cluster.x-k8s.io/${version}" is not supported; supported are v1alpha6, v1alpha7, v1beta1, v1beta2`,
      });
    },
  );
});

describe('which clusters are proxied', () => {
  test.each([undefined, null, false])(
    'a cluster whose disableAPIServerFloatingIP is %j is proxied only with --proxy-always',
    (flag) => {
      const object = v1beta1();
      object.spec.disableAPIServerFloatingIP = flag;
      expect(read(object)).toEqual({
        kind: 'not-proxied',
        ...identity,
        clusterNetworkId: NETWORK,
        reason: expect.stringMatching(
          /floating IP \(spec\.disableAPIServerFloatingIP is (not set|false)\).*--proxy-always/,
        ),
      });
      expect(read(object, true)).toEqual(proxied({}));
    },
  );

  test('a cluster that is not proxied is never reported as invalid', () => {
    const object = manifest('v1beta1', { apiServerPort: 'x' });
    object.metadata.labels = {};
    expect(read(object).kind).toBe('not-proxied');
    expect(read(object, true).kind).toBe('invalid');
  });

  test('a cluster that is being deleted stays proxied, because Cluster API needs its API server for that', () => {
    const reading = changed((object) => {
      object.metadata.deletionTimestamp = '2026-08-01T00:00:00Z';
    });
    expect(reading).toEqual(proxied({}));
  });
});

describe('address and port', () => {
  test('the load balancer comes before the fixed address, which comes before a private endpoint', () => {
    const object = v1beta1();
    object.spec.apiServerFixedIP = '10.0.0.7';
    object.spec.controlPlaneEndpoint.host = '10.0.0.8';
    expect(read(object)).toEqual(proxied({}));
    object.status.apiServerLoadBalancer = { internalIP: '' };
    expect(read(object)).toEqual(proxied({ address: '10.0.0.7' }));
    delete object.spec.apiServerFixedIP;
    expect(read(object)).toEqual(proxied({ address: '10.0.0.8' }));
  });

  test('IPv6 with or without brackets is one address', () => {
    for (const host of ['fd12::10', '[fd12::10]', 'FD12:0::10']) {
      const reading = changed((object) => {
        object.status.apiServerLoadBalancer = undefined;
        object.spec.controlPlaneEndpoint.host = host;
      });
      expect(reading).toEqual(proxied({ address: 'fd12::10' }));
    }
  });

  // CAPO's getAPIServerPort: an endpoint that is set takes precedence over apiServerPort.
  test.each([
    [{ host: '10.0.0.193', port: 443 }, 6443, 443],
    [{ host: '', port: 0 }, 8443, 8443],
    [{ host: '10.0.0.193', port: 0 }, 8443, 8443],
    [undefined, 8443, 8443],
    [undefined, 0, 6443],
    [undefined, undefined, 6443],
    [{ host: 'api.example.com', port: 443 }, undefined, 443],
  ])('endpoint %j and apiServerPort %j make port %i', (controlPlaneEndpoint, apiServerPort, port) => {
    const reading = changed((object) => {
      Object.assign(object.spec, { controlPlaneEndpoint, apiServerPort });
    });
    expect(reading).toEqual(proxied({ port }));
  });
});

describe('networks', () => {
  const inSpec = (object: Manifest, id: unknown = LB_NETWORK.toUpperCase()): Manifest => {
    object.spec.apiServerLoadBalancer.network = { id };
    return object;
  };
  const inStatus = (object: Manifest): Manifest => {
    object.status.apiServerLoadBalancer.loadBalancerNetwork = { id: LB_NETWORK.toUpperCase() };
    return object;
  };

  test("the load balancer's own network in status comes first", () => {
    expect(read(inStatus(v1beta1()))).toEqual(proxied({ networkIds: [LB_NETWORK, NETWORK] }));
  });

  test('a network that only spec names is not used, and is reported as unused', () => {
    expect(read(inSpec(v1beta1()))).toEqual(proxied({ unusedSpecNetworkId: LB_NETWORK }));
    const { status: _, ...withoutStatus } = inSpec(v1beta1());
    expect(read(withoutStatus)).toMatchObject({ kind: 'pending', unusedSpecNetworkId: LB_NETWORK });
    const broken = inSpec(v1beta1());
    broken.status.network.id = 'mgmt';
    expect(read(broken)).toMatchObject({ kind: 'invalid', unusedSpecNetworkId: LB_NETWORK });
  });

  test('a network in spec that status confirms is not reported as unused', () => {
    expect(read(inStatus(inSpec(v1beta1())))).toEqual(proxied({ networkIds: [LB_NETWORK, NETWORK] }));
    expect(read(inSpec(v1beta1(), NETWORK))).toEqual(proxied({}));
  });

  test.each([['mgmt'], [7], [null], [{ filter: { name: 'x' } }]])(
    'an unused network id %j in spec does not make the cluster invalid',
    (id) => {
      expect(read(inSpec(v1beta1(), id))).toEqual(proxied({}));
    },
  );

  test('a network that is selected by a filter has no id, trusted or not', () => {
    const object = v1beta1();
    object.spec.apiServerLoadBalancer.network = { filter: { name: 'shared', tags: ['a'] } };
    expect(read(object)).toEqual(proxied({}));
    expect(read(object, false, true)).toEqual(proxied({}));
  });

  test('with --trust-spec-network the network in spec counts, after the one in status', () => {
    const trusted = (object: object) => read(object, false, true);
    expect(trusted(inSpec(v1beta1()))).toEqual(proxied({ networkIds: [LB_NETWORK, NETWORK] }));
    const { status: _, ...withoutStatus } = inSpec(v1beta1());
    expect(trusted(withoutStatus)).toMatchObject({ kind: 'proxied', facts: { networkIds: [LB_NETWORK] } });
    expect(trusted(inSpec(v1beta1(), 'mgmt'))).toMatchObject({
      kind: 'invalid',
      reason: expect.stringContaining(
        'spec.apiServerLoadBalancer.network.id is "mgmt": expected the UUID of a Neutron',
      ),
    });
  });

  test("an address from spec is dialled in the cluster's own network only, never in the load balancer's", () => {
    const object = inStatus(v1beta1());
    delete object.status.apiServerLoadBalancer.internalIP;
    expect(read(object)).toEqual(proxied({}));
    object.spec.apiServerFixedIP = '10.0.0.193';
    expect(read(object)).toEqual(proxied({}));
    expect(read(object, false, true)).toEqual(proxied({ networkIds: [LB_NETWORK, NETWORK] }));
    object.status.network = null;
    expect(read(object)).toMatchObject({
      kind: 'pending',
      reason: expect.stringContaining('status.network.id is missing'),
    });
  });

  test('the network of a disabled load balancer does not count, and no network counts twice', () => {
    const off = changed((object) => {
      object.spec.apiServerLoadBalancer = { enabled: false, network: { id: LB_NETWORK } };
    });
    const same = changed((object) => {
      object.spec.apiServerLoadBalancer.network = { id: NETWORK };
    });
    expect(off).toEqual(proxied({}));
    expect(same).toEqual(proxied({}));
  });

  test.each(['-', 'a/b', '../x', 'mgmt', 'net-1', `qdhcp-${NETWORK}`, `${NETWORK}1`, `${NETWORK}\n`, 'ünï'])(
    '%j is no network id',
    (id) => {
      const reading = changed((object) => {
        object.status.network.id = id;
      });
      expect(reading).toMatchObject({
        kind: 'invalid',
        reason: expect.stringContaining('status.network.id is "'),
      });
    },
  );
});

describe('a missing field makes a cluster pending, and the reason names the writer of the field', () => {
  test('an object without status, as after a restore, lists every missing field', () => {
    const object = v1beta1();
    delete object.status;
    object.spec.controlPlaneEndpoint = undefined;
    expect(read(object)).toEqual({
      kind: 'pending',
      ...identity,
      reason:
        'status.network.id is missing: cluster-api-provider-openstack writes it when it reconciles the cluster ' +
        '(after a restore or move: once the cluster is no longer paused); there is no address to dial: ' +
        'status.apiServerLoadBalancer.internalIP is missing (cluster-api-provider-openstack writes it once the load ' +
        'balancer exists), spec.apiServerFixedIP is not set, and neither is spec.controlPlaneEndpoint.host',
    });
  });

  test.each(['api.example.com', '203.0.113.9', '2001:db8::1'])(
    'an endpoint %s is no address inside the network',
    (host) => {
      const reading = changed((object) => {
        object.status.apiServerLoadBalancer = null;
        object.spec.controlPlaneEndpoint.host = host;
      });
      expect(reading).toMatchObject({
        kind: 'pending',
        reason: expect.stringContaining(
          `spec.controlPlaneEndpoint.host "${host}" is not a private IP address`,
        ),
      });
    },
  );
});

describe('an invalid field', () => {
  const label = 'metadata.labels.cluster.x-k8s.io/cluster-name';
  test.each<[string, (object: Manifest) => void, string]>([
    [
      'a port in quotes',
      (o) => (o.spec.apiServerPort = '6443'),
      'spec.apiServerPort is "6443": expected a whole number from 1 to 65535, without quotes',
    ],
    [
      'a port out of range',
      (o) => (o.spec.controlPlaneEndpoint.port = 65_536),
      'spec.controlPlaneEndpoint.port is the number 65536: expected a whole number',
    ],
    ['a broken port', (o) => (o.spec.apiServerPort = 6443.5), 'spec.apiServerPort is the number 6443.5'],
    ['a negative port', (o) => (o.spec.apiServerPort = -1), 'spec.apiServerPort is the number -1'],
    [
      'a flag in quotes',
      (o) => (o.spec.disableAPIServerFloatingIP = 'true'),
      'spec.disableAPIServerFloatingIP is "true": expected true or false, without quotes',
    ],
    [
      'an address that is a number',
      (o) => (o.status.apiServerLoadBalancer.internalIP = 10),
      'status.apiServerLoadBalancer.internalIP is the number 10: expected text',
    ],
    [
      'an address that is not an IP address',
      (o) => (o.status.apiServerLoadBalancer.internalIP = 'lb.local'),
      'status.apiServerLoadBalancer.internalIP is "lb.local": expected an IP address',
    ],
    [
      'loopback as load balancer',
      (o) => (o.status.apiServerLoadBalancer.internalIP = '127.0.0.1'),
      'status.apiServerLoadBalancer.internalIP is "127.0.0.1": a loopback address is in the netns itself',
    ],
    [
      '0.0.0.0 as fixed address',
      (o) => (o.spec.apiServerFixedIP = '0.0.0.0'),
      'spec.apiServerFixedIP is "0.0.0.0": the unspecified address',
    ],
    [
      'loopback as the only endpoint',
      (o) => {
        o.status.apiServerLoadBalancer = null;
        o.spec.controlPlaneEndpoint.host = '::1';
      },
      'spec.controlPlaneEndpoint.host is "::1": a loopback address',
    ],
    ['a list where an object belongs', (o) => (o.status = []), 'status is a list: expected an object'],
    [
      'text where an object belongs',
      (o) => (o.spec.controlPlaneEndpoint = 'x'),
      'spec.controlPlaneEndpoint is "x": expected an object',
    ],
    ['no label', (o) => (o.metadata.labels = undefined), `${label} is missing: Cluster API sets this label`],
    [
      'a name with a dot',
      (o) => (o.metadata.labels[label.slice(16)] = 'a.b'),
      `${label} is "a.b": a Service cannot have this name`,
    ],
    [
      'an upper-case name',
      (o) => (o.metadata.labels[label.slice(16)] = 'Prod'),
      `${label} is "Prod": a Service cannot`,
    ],
    [
      'a name with a digit first',
      (o) => (o.metadata.labels[label.slice(16)] = '1a'),
      `${label} is "1a": a Service cannot`,
    ],
    [
      'a name of 64 characters',
      (o) => (o.metadata.labels[label.slice(16)] = 'a'.repeat(64)),
      `${label} is "${'a'.repeat(60)}"…: a Service cannot`,
    ],
    [
      'a namespace with a slash',
      (o) => (o.metadata.namespace = 'a/b'),
      'metadata.namespace is "a/b": expected a Kubernetes namespace',
    ],
    [
      'no object name',
      (o) => (o.metadata.name = null),
      'metadata.name is missing: expected the name of a Kubernetes object',
    ],
    [
      'a line break in a value',
      (o) => (o.status.network.id = 'x\nERROR forged'),
      'status.network.id is "x\\nERROR forged": expected the UUID of a Neutron network',
    ],
  ])('%s', (_title, change, reason) => {
    const reading = changed(change);
    expect(reading).toMatchObject({
      kind: 'invalid',
      origin: 'prod.yaml',
      reason: expect.stringContaining(reason),
    });
    // One mistake causes one problem: "; " would join several.
    expect((reading as { reason: string }).reason.split('; ')).toHaveLength(1);
  });

  test('several problems are listed at once', () => {
    const reading = changed((object) => {
      object.spec.apiServerPort = '6443';
      object.status.network.id = 7;
      object.metadata.labels = {};
    });
    expect(reading).toMatchObject({ kind: 'invalid', name: '', key: identity.key });
    const { reason } = reading as { reason: string };
    for (const path of ['spec.apiServerPort', 'status.network.id', label])
      expect(reason).toContain(`${path} is `);
  });

  test('a broken parent is reported once, not once for each field below it', () => {
    const reading = changed((object) => {
      object.spec = 'gone';
    });
    expect(reading).toMatchObject({ kind: 'invalid', reason: 'spec is "gone": expected an object' });
  });

  test.each([
    null,
    undefined,
    7,
    'text',
    [],
    {},
    { kind: 'Secret', apiVersion: 'v1' },
    { kind: 'OpenStackCluster', apiVersion: 'v1' },
  ])('%j is not an OpenStackCluster', (object) => {
    expect(read(object)).toMatchObject({
      kind: 'invalid',
      reason: expect.stringContaining('this is not an OpenStackCluster'),
    });
  });
});

describe('properties', () => {
  test('no JSON value makes the reader throw, and every outcome has a reason', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.boolean(), (value, always) => {
        const reading = read(value, always);
        expect(reading).toMatchObject({ kind: 'invalid', reason: expect.stringMatching(/./) });
      }),
    );
  });

  const paths = leafPaths(v1beta1());
  test('a manifest with arbitrary values never throws and never yields an address that must not be dialled', () => {
    const anything = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(
        '127.0.0.1',
        '0.0.0.0',
        '::1',
        '224.0.0.1',
        '169.254.169.254',
        '',
        0,
        -1,
        65_536,
        '1',
        NETWORK,
      ),
      fc.ipV4(),
      fc.ipV6(),
    );
    const mutation = fc.tuple(fc.constantFrom(...paths), anything);
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (mutations) => {
        const object = v1beta1();
        for (const [path, value] of mutations) put(object, path, value);
        const reading = read(object, true);
        if (reading.kind !== 'proxied') {
          expect(reading.reason).not.toBe('');
          return;
        }
        const { address, port, networkIds, name } = reading.facts;
        // Match four digits: ff0:: means 0ff0::, which is an ordinary address.
        expect(address).not.toMatch(
          /^(?:127\.|0\.|22[4-9]\.|23\d\.|169\.254\.|::1?$|fe[89ab][\da-f]:|ff[\da-f]{2}:|::ffff:)/,
        );
        expect(port).toSatisfy((value: number) => Number.isInteger(value) && value > 0 && value < 65_536);
        expect(networkIds.length).toBeGreaterThan(0);
        for (const id of networkIds) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        expect(name).toMatch(/^[a-z][-a-z0-9]*$/);
      }),
      { numRuns: 1000 },
    );
  });
});

function leafPaths(value: unknown, before: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [before];
  return [
    ...(before.length > 0 ? [before] : []),
    ...Object.entries(value).flatMap(([key, part]) => leafPaths(part, [...before, key])),
  ];
}

function put(object: Manifest, path: readonly string[], value: unknown): void {
  let at: Record<string, unknown> = object;
  for (const name of path.slice(0, -1)) {
    const next = at[name];
    if (typeof next !== 'object' || next === null) return;
    at = next as Record<string, unknown>;
  }
  at[path.at(-1)!] = value;
}
