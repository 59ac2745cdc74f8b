import { describe, expect, test } from 'vitest';
import { type ServiceView, type SliceView, serviceEndpoint } from './service-endpoint.ts';

const service: ServiceView = {
  metadata: { name: 'alpha' },
  spec: { clusterIP: '10.96.0.7', ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
};
type Conditions = { ready?: boolean; serving?: boolean; terminating?: boolean };
const slice = (
  name: string,
  conditions?: Conditions,
  { port = 16443, portName = 'https', of = 'alpha' } = {},
): SliceView => ({
  metadata: { name, labels: { 'kubernetes.io/service-name': of } },
  endpoints: [{ addresses: ['192.0.2.1'], ...(conditions === undefined ? {} : { conditions }) }],
  ports: [{ name: portName, port, protocol: 'TCP' }],
});
const leaving = { ready: false, serving: true, terminating: true };
const to = (name: string) => ({ kind: 'endpoint', slice: name, address: '192.0.2.1', port: 16443 });

describe('a connection to a Service', () => {
  test.each<[title: string, slices: readonly SliceView[], expected: object]>([
    ['goes to the ready endpoint, at its own port', [slice('a', { ready: true })], to('a')],
    ['treats an endpoint without conditions as ready', [slice('a')], to('a')],
    ['prefers a ready endpoint', [slice('a', leaving), slice('b', { ready: true })], to('b')],
    ['goes to a terminating endpoint when no endpoint is ready', [slice('a', leaving)], to('a')],
    [
      'never goes to an endpoint that is neither ready nor serving',
      [slice('a', { ready: false })],
      { kind: 'none', reason: 'Service alpha has no ready endpoint' },
    ],
    [
      'never goes to a slice of another Service, or to a port of another name',
      [slice('a', { ready: true }, { of: 'beta' }), slice('b', { ready: true }, { portName: 'ssh' })],
      { kind: 'none', reason: 'Service alpha has no ready endpoint' },
    ],
    ['has no endpoint without slices', [], { kind: 'none', reason: 'Service alpha has no ready endpoint' }],
  ])('%s', (_title, slices, expected) => {
    expect(serviceEndpoint(service, slices, 6443)).toEqual(expected);
  });

  test('to a port that the Service does not have finds no endpoint', () => {
    expect(serviceEndpoint(service, [slice('a')], 443)).toEqual({
      kind: 'none',
      reason: 'Service alpha has no port 443',
    });
  });
});
