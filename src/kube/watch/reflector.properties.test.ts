// Property: after any sequence of faults in server, network and reflector, the mirror ends equal to the server's content.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fakeError, turn } from '../../../test/kube/fake-collection.ts';
import { VirtualReflector } from '../../../test/kube/virtual-reflector.ts';
import type { KubeErrorCode } from '../kube-error.ts';
import { type KubeObject, objectKey } from '../kube-object.ts';

interface Seen {
  readonly uid: string | undefined;
  readonly version: string | undefined;
}

type Step =
  | { readonly do: 'put' | 'delete' | 'recreate'; readonly name: string }
  | { readonly do: 'cut' | 'list-fails' | 'watch-fails'; readonly code: KubeErrorCode }
  | { readonly do: 'end' | 'garbage' | 'forget' | 'bookmark' | 'relist' | 'hour' | 'late-delete' }
  | { readonly do: 'turns'; readonly count: number };

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const code = fc.constantFrom<KubeErrorCode>(
  'unreachable',
  'timeout',
  'gone',
  'server-error',
  'too-many-requests',
  'unauthorized',
  'forbidden',
  'not-found',
  'bad-answer',
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('put' as const, 'delete', 'recreate'), name }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('cut' as const, 'list-fails', 'watch-fails'), code }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('end' as const, 'garbage', 'forget', 'bookmark', 'relist', 'hour', 'late-delete'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 12 }) }),
  },
);

async function perform(one: VirtualReflector<Seen>, what: Step): Promise<void> {
  const { api } = one;
  switch (what.do) {
    case 'put':
      return api.put(what.name);
    case 'delete':
      return api.delete(what.name);
    case 'recreate':
      api.delete(what.name);
      return api.put(what.name);
    case 'cut':
      return api.send(fakeError(what.code, 'watch'));
    case 'list-fails':
      return void api.listFaults.push(fakeError(what.code, 'list'));
    case 'watch-fails':
      return void api.watchFaults.push(fakeError(what.code, 'watch'));
    case 'end':
      return api.send('end');
    case 'garbage':
      return api.send({ type: 'NOISE', object: {} });
    case 'forget':
      return api.forget();
    case 'bookmark':
      return api.bookmark();
    case 'relist':
      return one.reflector.relist();
    case 'hour':
      one.nowMs += 4_000_000;
      return;
    case 'late-delete': {
      // Deletes an object that never existed, with a name that is in use.
      const [object] = api.objects.values();
      if (object !== undefined) {
        const metadata = { ...object.metadata, uid: 'of-another', resourceVersion: String(api.version) };
        api.send({ type: 'DELETED', object: { ...object, metadata } });
      }
      return;
    }
    case 'turns':
      for (let each = 0; each < what.count; each++) await turn();
  }
}

const seen = ({ metadata }: KubeObject): Seen => ({ uid: metadata.uid, version: metadata.resourceVersion });

test('after any interleaving of changes, cuts, faults and lists, the mirror equals the server', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, pageSize) => {
        const one = new VirtualReflector<Seen>(seen, { pageSize });
        const held = new Map<string, Seen>();
        const check = () => {
          const { items } = one.snapshot;
          for (const [key, value] of items) {
            const id = `${key} ${value.uid} ${value.version}`;
            // One version of an object is projected once, while the mirror holds it without interruption.
            if (held.has(id)) expect(items.get(key)).toBe(held.get(id));
          }
          held.clear();
          for (const [key, value] of items) held.set(`${key} ${value.uid} ${value.version}`, value);
        };
        one.reflector.start();
        try {
          for (const each of steps) {
            await perform(one, each);
            check();
          }
          const wanted = () =>
            new Map([...one.api.objects.values()].map((each) => [objectKey(each), seen(each)]));
          const isThere = () => {
            const [has, should] = [one.snapshot.items, wanted()];
            return (
              one.snapshot.problem === null &&
              one.snapshot.staleSinceMs === null &&
              has.size === should.size &&
              [...should].every(
                ([key, { uid, version }]) => has.get(key)?.uid === uid && has.get(key)?.version === version,
              )
            );
          };
          await one.until(isThere, 'the mirror equals the server');
          check();
        } finally {
          await one.reflector.stop();
        }
        expect(one.api.watchers.size).toBe(0);
      },
    ),
    { numRuns: 300 },
  );
});
