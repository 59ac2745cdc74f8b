// The validation rules for our objects, one row each: the request, and the wording of the error.
import { expect, test } from 'vitest';
import {
  expectStatus,
  lease,
  leases,
  type Suite,
  secret,
  secrets,
  service,
  services,
  slice,
  slices,
} from './suite.ts';

type Row = readonly [title: string, path: (namespace: string) => string, body: object, message: string];

const withEndpoints = (...endpoints: object[]) => slice('refused', {}, { endpoints });
const withAddress = (address: string, addressType = 'IPv4') =>
  slice('refused', {}, { addressType, endpoints: [{ addresses: [address] }] });
const withPorts = (...ports: object[]) => ({ ...service('refused'), spec: { ports } });

const REFUSED: readonly Row[] = [
  [
    'a Service name with a dot',
    services,
    service('a.b'),
    'metadata.name: Invalid value: "a.b": a DNS-1035 label must',
  ],
  ['a Service name that begins with a digit', services, service('1a'), 'a DNS-1035 label must'],
  ['a Service name of 64 characters', services, service('a'.repeat(64)), 'must be no more than 63'],
  ['a Service name in upper case', services, service('Upper'), 'a DNS-1035 label must'],
  ['a Service without ports', services, withPorts(), 'spec.ports: Required value'],
  [
    'a port of 0',
    services,
    withPorts({ port: 0 }),
    'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
  ],
  ['a port of 65536', services, withPorts({ port: 65536 }), 'must be between 1 and 65535, inclusive'],
  [
    'an unknown protocol',
    services,
    withPorts({ port: 1, protocol: 'tcp' }),
    'spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    'two ports without names',
    services,
    withPorts({ port: 1 }, { port: 2 }),
    'spec.ports[0].name: Required value',
  ],
  [
    'two ports of one name',
    services,
    withPorts({ port: 1, name: 'a' }, { port: 2, name: 'a' }),
    'spec.ports[1].name: Duplicate value: "a"',
  ],
  [
    'a label value of 64 characters',
    services,
    service('refused', { labels: { a: 'b'.repeat(64) } }),
    'metadata.labels: Invalid value: "bbbb',
  ],
  [
    'a label value with a blank',
    services,
    service('refused', { labels: { a: 'b c' } }),
    'metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters',
  ],
  [
    'a label key with two slashes',
    services,
    service('refused', { labels: { 'a/b/c': 'd' } }),
    'metadata.labels: Invalid value: "a/b/c"',
  ],
  [
    'a label key with an upper-case prefix',
    services,
    service('refused', { labels: { 'A.b/c': 'd' } }),
    'prefix part',
  ],
  [
    'an annotation key with a blank',
    services,
    service('refused', { annotations: { 'a b': 'c' } }),
    'metadata.annotations: Invalid value: "a b"',
  ],
  [
    'annotations above 256 KiB',
    services,
    service('refused', { annotations: { a: 'b'.repeat(256 * 1024) } }),
    'metadata.annotations: Too long',
  ],
  [
    'an owner without a uid',
    services,
    service('refused', { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 'a' }] }),
    'metadata.ownerReferences',
  ],
  [
    'a finalizer that is no qualified name',
    services,
    service('refused', { finalizers: ['a b'] }),
    'metadata.finalizers',
  ],
  [
    'a slice name in upper case',
    slices,
    slice('Upper'),
    'metadata.name: Invalid value: "Upper": a lowercase RFC 1123 subdomain must consist of',
  ],
  ['a slice name with an underscore', slices, slice('a_b'), 'a lowercase RFC 1123 subdomain'],
  ['a slice name of 254 characters', slices, slice('a'.repeat(254)), 'must be no more than 253'],
  [
    'a slice without an address type',
    slices,
    slice('refused', {}, { addressType: '' }),
    'addressType: Required value',
  ],
  [
    'an unknown address type',
    slices,
    slice('refused', {}, { addressType: 'IP' }),
    'addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"',
  ],
  [
    'an endpoint on loopback',
    slices,
    withAddress('127.0.0.1'),
    'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    'an endpoint on the IPv6 loopback',
    slices,
    withAddress('::1', 'IPv6'),
    'may not be in the loopback range',
  ],
  [
    'a link-local endpoint',
    slices,
    withAddress('169.254.1.1'),
    'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ],
  [
    'a link-local IPv6 endpoint',
    slices,
    withAddress('fe80::1', 'IPv6'),
    'may not be in the link-local range',
  ],
  ['the unspecified address', slices, withAddress('0.0.0.0'), 'may not be unspecified (0.0.0.0)'],
  ['the unspecified IPv6 address', slices, withAddress('::', 'IPv6'), 'may not be unspecified'],
  [
    'a link-local multicast address',
    slices,
    withAddress('224.0.0.1'),
    'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  ],
  [
    'an invalid address',
    slices,
    withAddress('None'),
    'endpoints[0].addresses[0]: Invalid value: "None": must be a valid IP address',
  ],
  ['an IPv6 address among IPv4', slices, withAddress('2001:db8::1'), 'must be an IPv4 address'],
  ['an IPv4 address among IPv6', slices, withAddress('192.0.2.1', 'IPv6'), 'must be an IPv6 address'],
  [
    'an endpoint without addresses',
    slices,
    withEndpoints({ addresses: [] }),
    'endpoints[0].addresses: Required value: must contain at least 1 address',
  ],
  [
    'a node name in upper case',
    slices,
    withEndpoints({ addresses: ['192.0.2.1'], nodeName: 'Node' }),
    'endpoints[0].nodeName: Invalid value: "Node"',
  ],
  [
    'a port name in upper case',
    slices,
    slice('refused', {}, { ports: [{ name: 'HTTPS', port: 1 }] }),
    'ports[0].name: Invalid value: "HTTPS"',
  ],
  [
    'two ports of one name in a slice',
    slices,
    slice('refused', {}, { ports: [{ port: 1 }, { port: 2 }] }),
    'ports[1].name: Duplicate value',
  ],
  [
    'a Lease of 0 seconds',
    leases,
    lease('refused', { leaseDurationSeconds: 0 }),
    'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
  ],
  [
    'a Lease with fewer than 0 transitions',
    leases,
    lease('refused', { leaseTransitions: -1 }),
    'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    'a Secret key with a slash',
    secrets,
    { ...secret('refused'), data: { 'a/b': '' } },
    'data[a/b]: Invalid value: "a/b": a valid config key must consist of',
  ],
];

export function validationBehaviour(suite: Suite): void {
  test.each(REFUSED)('%s is invalid', async (_title, path, body, message) => {
    const answer = expectStatus(await suite.client.post(path(suite.namespace), body), 422, 'Invalid');
    expect(answer.body.message).toContain(message);
    expect(answer.body.details.causes.length).toBeGreaterThan(0);
  });

  test.each<[title: string, spec: object]>([
    ['milliseconds', { renewTime: '2026-08-01T10:00:00.123Z' }],
    ['nanoseconds', { renewTime: '2026-08-01T10:00:00.123456789Z' }],
    ['seconds', { acquireTime: '2026-08-01T10:00:00Z' }],
    ['an invalid time', { renewTime: 'now' }],
    ['a number', { renewTime: 1 }],
    ['a string for a number', { leaseDurationSeconds: '30' }],
  ])('a Lease with %s in a typed field is a bad request', async (_title, spec) => {
    expectStatus(await suite.client.post(leases(suite.namespace), lease('refused', spec)), 400, 'BadRequest');
  });

  test('a MicroTime may have an offset', async () => {
    const spec = { renewTime: '2026-08-01T12:00:00.123456+02:00' };
    expectStatus(await suite.client.post(leases(suite.namespace), lease('offset', spec)), 201);
  });

  test('Secret data that is not base64 is a bad request', async () => {
    const body = { ...secret('refused'), data: { value: 'no base64!' } };
    expectStatus(await suite.client.post(secrets(suite.namespace), body), 400, 'BadRequest');
  });

  test('several problems are reported at once', async () => {
    const body = service('1', { labels: { a: '-' } });
    const answer = expectStatus(await suite.client.post(services(suite.namespace), body), 422, 'Invalid');
    expect(answer.body.message).toMatch(/^Service "1" is invalid: \[/);
    const fields = answer.body.details.causes.map(({ field }: { field: string }) => field);
    expect(fields).toEqual(expect.arrayContaining(['metadata.name', 'metadata.labels']));
  });

  test('a validation error names the kind with its group', async () => {
    const answer = await suite.client.post(slices(suite.namespace), withAddress('127.0.0.1'));
    expect(answer.body.message).toMatch(/^EndpointSlice\.discovery\.k8s\.io "refused" is invalid: /);
    expect(answer.body.details).toMatchObject({
      name: 'refused',
      group: 'discovery.k8s.io',
      kind: 'EndpointSlice',
    });
  });

  test('the address type of a slice and the type of a Secret are immutable', async () => {
    expectStatus(await suite.client.post(slices(suite.namespace), slice('immutable')), 201);
    const other = { addressType: 'IPv6', endpoints: [] };
    const answer = await suite.client.patch(slices(suite.namespace, 'immutable'), other);
    expect(expectStatus(answer, 422, 'Invalid').body.message).toContain(
      'addressType: Invalid value: "IPv6": field is immutable',
    );
    expectStatus(await suite.client.post(secrets(suite.namespace), secret('immutable')), 201);
    const typed = await suite.client.patch(secrets(suite.namespace, 'immutable'), { type: 'Opaque' });
    expect(expectStatus(typed, 422, 'Invalid').body.message).toContain('type: Invalid value');
  });

  test('the cluster IP of a Service is immutable', async () => {
    expectStatus(await suite.client.post(services(suite.namespace), service('address')), 201);
    const patch = { spec: { clusterIP: '10.96.77.77', clusterIPs: ['10.96.77.77'] } };
    const answer = await suite.client.patch(services(suite.namespace, 'address'), patch);
    expect(expectStatus(answer, 422, 'Invalid').body.message).toContain('may not change once set');
  });

  test('endpoints without conditions and slices without endpoints are valid', async () => {
    const bare = { endpoints: [{ addresses: ['192.0.2.1'] }] };
    expectStatus(await suite.client.post(slices(suite.namespace), slice('bare', {}, bare)), 201);
    expectStatus(
      await suite.client.post(slices(suite.namespace), slice('empty', {}, { endpoints: [] })),
      201,
    );
    const terminating = { ready: false, serving: true, terminating: true };
    const draining = { endpoints: [{ addresses: ['192.0.2.1'], conditions: terminating }] };
    const { body } = expectStatus(
      await suite.client.post(slices(suite.namespace), slice('draining', {}, draining)),
      201,
    );
    expect(body.endpoints[0].conditions).toEqual(terminating);
  });

  test('a Service name and a label value of 63 characters are valid', async () => {
    const body = service('s'.repeat(63), { labels: { a: 'B'.repeat(63), 'example.com/b': '' } });
    expectStatus(await suite.client.post(services(suite.namespace), body), 201);
  });
}
