import { expect, test } from 'vitest';
import { publication } from '../../../test/support/kubernetes/model-api.ts';
import { type Publication, publicationKey } from '../desired/publication.ts';
import { servesAll } from './serves-all.ts';

const PROD = publication('prod');
type Kube = Parameters<typeof servesAll>[0];

/** The Lease's holder publishes `prod` on this node. */
const published = ({ ready = true, instance = 'net-1' } = {}): Kube =>
  ({
    self: { instance: 'net-1', endpoint: { address: '192.0.2.10', port: 6443 } },
    slices: { ours: new Map([[publicationKey(PROD), [{ instance, ready }]]]) },
  }) as unknown as Kube;
const knows = (...publications: Publication[]) => ({ complete: true, publications });
const prod = (want: Publication['want']) => knows(publication('prod', { want }));

test.each<[title: string, desired: Parameters<typeof servesAll>[1], serves: boolean]>([
  ['that it serves too', prod('live'), true],
  ['that is withdrawn', prod('leaving'), true],
  ['whose backend it cannot reach', prod('down'), false],
  ['whose backend it has not checked yet', prod('undecided'), false],
  ['that it does not know, as with a wrong namespace of clusters', knows(), false],
  ['while its own picture is incomplete', { ...prod('live'), complete: false }, false],
])(
  'with a published cluster %s, a process replaces the holder only if no client loses the cluster',
  (_title, desired, serves) => {
    expect(servesAll(published(), desired)).toBe(serves);
  },
);

test.each([
  ['a slice of another node', { instance: 'net-2' }],
  ['a slice without a ready endpoint', { ready: false }],
])('%s does not keep a process from replacing the holder', (_title, slice) => {
  expect(servesAll(published(slice), knows())).toBe(true);
});
