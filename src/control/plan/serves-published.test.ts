import { describe, expect, test } from 'vitest';
import { publication } from '../../../test/support/kubernetes/model-api.ts';
import { type Publication, publicationKey } from '../desired/publication.ts';
import { servesAll, servesNone } from './serves-published.ts';

type Kube = Parameters<typeof servesNone>[0];
type Desired = Parameters<typeof servesAll>[1];

interface Slice {
  readonly cluster?: string;
  readonly ready?: boolean;
  readonly instance?: string;
  readonly listener?: string | null;
}

/** The slices of `net-1`, the instance of this process, unless a slice says otherwise. */
const published = (...slices: readonly Slice[]): Kube =>
  ({
    self: {
      instance: 'net-1',
      endpoint: { address: '192.0.2.10', port: 6443 },
      participation: { takesPart: true },
    },
    slices: {
      ours: new Map(
        slices.map(({ cluster = 'prod', ready = true, instance = 'net-1', listener = null }) => {
          const key = listener ?? publicationKey(publication(cluster));
          return [key, [{ key, cluster, instance, ready, listener }]];
        }),
      ),
    },
  }) as unknown as Kube;
const knows = (...publications: Publication[]): Desired => ({ complete: true, publications });
const prod = (want: Publication['want']) => knows(publication('prod', { want }));
const PROD = published({});

describe('with a published cluster', () => {
  test.each<[title: string, desired: Desired, serves: boolean]>([
    ['that it serves too', prod('live'), true],
    ['that is withdrawn', prod('leaving'), true],
    ['whose backend it cannot reach', prod('down'), false],
    ['whose backend it has not checked yet', prod('undecided'), false],
    ['that it does not know, as with a wrong namespace of clusters', knows(), false],
  ])('%s, a process replaces the holder only if no client loses the cluster', (_title, desired, serves) => {
    expect(servesAll(PROD, desired)).toBe(serves);
    expect(servesNone(PROD, desired) === null).toBe(serves);
  });

  test('a process takes the Lease from a live holder only when its World is complete', () => {
    expect(servesAll(PROD, { ...prod('live'), complete: false })).toBe(false);
  });

  test('a process without an address for clients replaces no other process, and gives the reason', () => {
    const kube = { ...PROD, self: { ...PROD.self, endpoint: { reason: 'no default route' } } };
    expect(servesAll(kube, prod('live'))).toBe(false);
    expect(servesNone(kube, prod('live'))).toBe('no default route');
  });
});

test.each([
  ['a slice of another node', { instance: 'net-2' }],
  ['a slice without a ready endpoint', { ready: false }],
])('%s does not keep a process from replacing the holder', (_title, slice) => {
  expect(servesAll(published(slice), knows())).toBe(true);
  expect(servesNone(published(slice), knows())).toBeNull();
});

describe('a successor', () => {
  test('that serves one of two published clusters replaces its predecessor: the other cluster may just have failed', () => {
    const both = published({}, { cluster: 'test' });
    expect(servesAll(both, prod('live'))).toBe(false);
    expect(servesNone(both, prod('live'))).toBeNull();
  });

  test('that serves none of the published clusters names the flags that can be wrong', () => {
    const both = published({}, { cluster: 'test' });
    expect(servesNone(both, prod('down'))).toBe(
      'this instance publishes prod and 1 more, and this process reaches none of them: ' +
        'check --netns-dir, --netns-prefixes and --cluster-namespace, or start it with --take-over',
    );
  });

  test('does not wait for additional listeners, whose ports open only after the handover', () => {
    expect(servesNone(published({ listener: 'prod/web' }), knows())).toBeNull();
  });

  test('on a node that the selector excludes has nothing to serve', () => {
    const kube = {
      ...PROD,
      self: { ...PROD.self, participation: { takesPart: false, reason: 'excluded', problem: null } },
    };
    expect(servesNone(kube, prod('down'))).toBeNull();
  });
});
