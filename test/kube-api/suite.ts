// Shared by the parts of the behaviour suite: the API under test, and the objects that they send to it.
import { expect } from 'vitest';
import type { AccessRule } from '../fake-kube-api/http/access.ts';
import type { Answer, RawClient } from './raw-client.ts';

export interface ApiUnderTest {
  /** A client with all rights. */
  readonly client: RawClient;
  /** A client with exactly these rights. */
  restricted(rules: readonly AccessRule[]): Promise<RawClient>;
  /** Stops the server and starts it on the same address with the same state. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Shared by the parts of the suite; the fields are set before the first test runs. */
export interface Suite {
  readonly api: ApiUnderTest;
  readonly client: RawClient;
  /** A namespace for this suite only. */
  readonly namespace: string;
}

/** Fails with the answer of the server. */
export function expectStatus(answer: Answer, status: number, reason?: string): Answer {
  expect(`${answer.status} ${answer.status === status ? '' : answer.text}`).toBe(`${status} `);
  if (reason !== undefined) expect(answer.body).toMatchObject({ kind: 'Status', reason, code: status });
  return answer;
}

export const services = (namespace: string, name = ''): string =>
  `/api/v1/namespaces/${namespace}/services${name === '' ? '' : `/${name}`}`;
export const secrets = (namespace: string, name = ''): string =>
  `/api/v1/namespaces/${namespace}/secrets${name === '' ? '' : `/${name}`}`;
export const slices = (namespace: string, name = ''): string =>
  `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices${name === '' ? '' : `/${name}`}`;
export const leases = (namespace: string, name = ''): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases${name === '' ? '' : `/${name}`}`;

export const service = (name: string, extra: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, ...extra },
  spec: { ports: [{ name: 'https', port: 6443, targetPort: 6443, protocol: 'TCP' }] },
});

export const slice = (name: string, extra: object = {}, content: object = {}): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, ...extra },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['192.0.2.10'], conditions: { ready: true }, nodeName: 'node-1' }],
  ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  ...content,
});

export const lease = (name: string, spec: object = {}): object => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name },
  spec: {
    holderIdentity: 'node-1/abc',
    leaseDurationSeconds: 30,
    renewTime: '2026-08-01T10:00:00.123456Z',
    ...spec,
  },
});

export const secret = (name: string, extra: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, ...extra },
  type: 'cluster.x-k8s.io/secret',
  data: { value: Buffer.from('kubeconfig').toString('base64') },
});
