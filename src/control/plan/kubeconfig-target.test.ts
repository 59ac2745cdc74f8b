import { describe, expect, test } from 'vitest';
import type { Publication, PublishedCertificate } from '../desired/publication.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';
import { chosenTarget } from './kubeconfig-target.ts';

const SERVER = 'https://alpha.isthmus:6443';
const NONE = { resourceVersion: '1', recordedServer: null, recordedTlsName: null };
const DRIVER = ['alpha', 'alpha.tenant', 'alpha.tenant.svc', 'alpha.tenant.svc.cluster.local', 'cp-0'];
const record = (...names: readonly string[]) => ({ names, omitted: 0, notAfter: '2027-01-01T00:00:00.000Z' });
const slice = (instance: string, ...names: readonly string[]) =>
  ({ instance, certificate: names.length === 0 ? null : record(...names) }) as unknown as OwnedSlice;

interface Given {
  readonly own?: PublishedCertificate;
  readonly slices?: readonly OwnedSlice[];
  readonly namespace?: string;
  /** null: written before, without a name. */
  readonly recordedTlsName?: string | null;
}
const chosen = ({ own, slices = [slice('net-1')], namespace = 'isthmus', recordedTlsName }: Given) =>
  chosenTarget({
    publication: {
      cluster: 'alpha',
      namespace: 'tenant',
      ...(own !== undefined && { certificate: own }),
    } as Publication,
    slices,
    instance: 'net-1',
    namespace,
    secret:
      recordedTlsName === undefined
        ? NONE
        : { ...NONE, recordedServer: `https://alpha.${namespace}:6443`, recordedTlsName },
  });

describe('the target of a kubeconfig', () => {
  test.each<[title: string, Given, kind: string, tlsServerName: string | null]>([
    [
      'names the own namespace for a certificate of the driver',
      { own: record(...DRIVER) },
      'verified',
      'alpha.tenant',
    ],
    [
      'has no extra name if the host is in the certificate',
      { own: record('alpha.isthmus') },
      'verified',
      null,
    ],
    [
      'has no extra name in the namespace of the Services',
      { own: record(...DRIVER), namespace: 'tenant' },
      'verified',
      null,
    ],
    [
      'uses a longer name if only that is there',
      { own: record('alpha.tenant.svc') },
      'verified',
      'alpha.tenant.svc',
    ],
    ['uses the short name last', { own: record('alpha') }, 'verified', 'alpha'],
    ['uses a name that a wildcard covers', { own: record('*.tenant.svc') }, 'verified', 'alpha.tenant.svc'],
    ['guesses while nothing can be read', { own: 'unknown' }, 'unknown', 'alpha.tenant'],
    [
      'guesses nothing in the namespace of the Services',
      { own: 'unknown', namespace: 'tenant' },
      'unknown',
      null,
    ],
    ['waits while the certificate is being read', { own: 'unread' }, 'unread', 'alpha.tenant'],
    [
      'keeps a chosen name while nothing is known',
      { own: 'unknown', recordedTlsName: 'alpha' },
      'unknown',
      'alpha',
    ],
    ['stays without a name while nothing is known', { own: 'unread', recordedTlsName: null }, 'unread', null],
    [
      'comes from the slice of another instance',
      { own: 'unread', slices: [slice('net-1'), slice('net-2', 'alpha.tenant.svc')] },
      'verified',
      'alpha.tenant.svc',
    ],
    [
      'comes from the own slice after a restart',
      { own: 'unread', slices: [slice('net-1', 'alpha.tenant.svc')] },
      'verified',
      'alpha.tenant.svc',
    ],
    [
      'is a name that all instances have seen',
      {
        own: record('alpha.tenant', 'alpha'),
        slices: [slice('net-1', 'alpha.tenant'), slice('net-2', 'alpha')],
      },
      'verified',
      'alpha',
    ],
  ])('%s', (_title, given, kind, tlsServerName) => {
    const server = given.namespace === undefined ? SERVER : `https://alpha.${given.namespace}:6443`;
    expect(chosen(given)).toMatchObject({ kind, target: { server, tlsServerName } });
  });

  test.each<[title: string, Given]>([
    ['a cluster of magnum-capi-helm', { own: record('kubernetes', 'kubernetes.default', 'cp-0') }],
    [
      'instances that have seen different certificates',
      { own: record('alpha'), slices: [slice('net-1', 'alpha'), slice('net-2', 'alpha.tenant')] },
    ],
    ['a certificate without names', { own: record() }],
    ['a certificate for another namespace', { own: record('alpha.other', 'alpha.other.svc') }],
  ])('that no client could verify is reported: %s', (_title, given) => {
    const result = chosen(given);
    expect(result.kind).toBe('unverifiable');
    if (result.kind !== 'unverifiable') return;
    expect(result.reason).toContain('alpha.isthmus, alpha, ');
    expect(result.reason).toContain('it has');
  });
});
