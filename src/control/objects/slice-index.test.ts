import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PersistentMap } from '../../kube/persistent-map.ts';
import { sliceName } from './instance-name.ts';
import { type EndpointSliceObject, endpointSliceOf } from './published-objects.ts';
import { sliceIndex } from './slice-index.ts';
import { TurnCache } from './turn-cache.ts';

const FACTS = {
  namespace: 'magnum-system',
  owner: null,
  address: '192.0.2.1',
  family: 'IPv4',
  port: 6443,
} as const;

function slice(
  cluster: string,
  instance: string,
  kind: 'ours' | 'upstream' | 'foreign',
): EndpointSliceObject {
  const mode = kind === 'ours' ? 'lease' : 'timestamp';
  const timestamp = '2026-01-01T00:00:00.000+00:00';
  const object = endpointSliceOf({
    ...FACTS,
    cluster,
    instance,
    nodeName: instance,
    mode,
    timestamp: mode === 'timestamp' ? timestamp : null,
    terminating: false,
    tags: {},
  });
  if (kind === 'ours') return object;
  const labels = Object.entries(object.metadata?.labels ?? {}).filter(
    ([key]) => !key.includes('isthmus.dev') && (kind === 'upstream' || !key.includes('vexxhost')),
  );
  return { ...object, metadata: { ...object.metadata, labels: Object.fromEntries(labels), annotations: {} } };
}

const change = fc.record({
  cluster: fc.constantFrom('a', 'b', 'c'),
  instance: fc.constantFrom('x', 'y', 'z'),
  kind: fc.constantFrom('ours' as const, 'upstream' as const, 'foreign' as const, 'gone' as const),
});

test('after any changes the index equals a full rebuild, and unchanged lists keep their references', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 12 }), (turns) => {
      let slices = PersistentMap.empty<EndpointSliceObject>();
      const cache = new TurnCache();
      for (const changes of turns) {
        const before = sliceIndex(slices, cache);
        slices = slices.with(
          changes.map(({ cluster, instance, kind }) => [
            sliceName(cluster, instance, { disambiguate: false }),
            kind === 'gone' ? undefined : slice(cluster, instance, kind),
          ]),
        );
        const after = sliceIndex(slices, cache);
        const whole = sliceIndex(slices, new TurnCache());
        expect(new Map([...after.ours].sort())).toEqual(new Map([...whole.ours].sort()));
        expect(new Map([...after.upstream].sort())).toEqual(new Map([...whole.upstream].sort()));
        expect([...after.instances].sort()).toEqual([...whole.instances].sort());
        const touched = new Set<string>(changes.map(({ cluster }) => cluster));
        for (const cluster of ['a', 'b', 'c'].filter((each) => !touched.has(each)))
          expect(after.ours.get(cluster)).toBe(before.ours.get(cluster));
      }
    }),
  );
});
