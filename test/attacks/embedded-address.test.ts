// IPv6 forms that a translator or a tunnel turns back into a rejected IPv4 address. They are rejected as the address of an API server, in
// each field, and as the address of a machine.
import { describe, expect, test } from 'vitest';
import { readMachine } from '../../src/control/sources/machine.ts';
import { readOpenStackCluster } from '../../src/control/sources/openstack-cluster.ts';

const FORMS = [
  ['NAT64', '64:ff9b::169.254.169.254', '169.254.169.254'],
  ['NAT64 in hex', '64:FF9B::7F00:1', '127.0.0.1'],
  ['NAT64 for local use', '64:ff9b:1::7f00:1', '127.0.0.1'],
  ['6to4', '2002:a9fe:a9fe::1', '169.254.169.254'],
  ['6to4 of broadcast', '2002:ffff:ffff::', '255.255.255.255'],
  ['Teredo', '2001:0:a00:5::80ff:fffe', '127.0.0.1'],
  ['ISATAP', 'fd00::200:5efe:0.0.0.0', '0.0.0.0'],
] as const;

const clusterWith = (spec: object, internalIP?: string) =>
  readOpenStackCluster(
    {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'OpenStackCluster',
      metadata: { name: 'a-x', namespace: 'ns', labels: { 'cluster.x-k8s.io/cluster-name': 'a' } },
      spec: { disableAPIServerFloatingIP: true, ...spec },
      status: {
        network: { id: '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66' },
        apiServerLoadBalancer: { internalIP },
      },
    },
    'a.yaml',
    { proxyAlways: false },
  );

describe.each(FORMS)('%s: %s', (_title, address, embedded) => {
  test.each([
    ['the load balancer in status', clusterWith({}, address)],
    ['a fixed address in spec', clusterWith({ apiServerFixedIP: address })],
    ['the endpoint in spec', clusterWith({ controlPlaneEndpoint: { host: address, port: 6443 } })],
    ['the endpoint in brackets', clusterWith({ controlPlaneEndpoint: { host: `[${address}]`, port: 6443 } })],
  ])('is refused as %s, with a reason that names the embedded address', (_where, reading) => {
    expect(reading).toMatchObject({
      kind: 'invalid',
      reason: expect.stringContaining(`form of ${embedded}: `),
    });
  });

  test('is refused as the address of a machine, with the same reason', () => {
    const machine = readMachine({
      metadata: { name: 'm', namespace: 'ns' },
      spec: { clusterName: 'a' },
      status: { addresses: [{ type: 'InternalIP', address }] },
    });
    expect(machine.addresses).toEqual([]);
    expect(machine.addressProblem).toContain(`form of ${embedded}: `);
  });
});
