import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StoredObject } from '../stored-object.ts';
import { soleOwner } from './field-owners.ts';
import { type Entry, ObjectStore } from './object-store.ts';

const OWNERS = soleOwner({ name: 'test', operation: 'Update', subresource: '' });
const object = (namespace: string, name: string): StoredObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { namespace, name },
});

const operation = fc.record({
  kind: fc.constantFrom('put', 'put', 'remove'),
  namespace: fc.constantFrom('a', 'b', 'a-b'),
  name: fc.constantFrom('x', 'y', 'x-y', 'z'),
});
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

function perform(store: ObjectStore, { kind, namespace, name }: Operation): void {
  if (kind === 'put') store.put('things', object(namespace, name), OWNERS);
  else store.remove('things', namespace, name);
}

const keyOf = ({ namespace, name }: Entry) => `${namespace}/${name}`;
const versions = (entries: readonly Entry[]) => entries.map((entry) => [keyOf(entry), entry.revision]);

test('a list at any revision plus the later changes gives the current list', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 40 }), fc.nat(40), (operations, at) => {
      const store = new ObjectStore({ historyLimit: 1000 });
      for (const each of operations.slice(0, at)) perform(store, each);
      const known = new Map(store.list('things', null).map((entry) => [keyOf(entry), entry]));
      const { revision } = store;
      for (const each of operations.slice(at)) perform(store, each);
      for (const { type, entry } of store.changesSince('things', revision) ?? []) {
        expect(known.has(keyOf(entry))).toBe(type !== 'ADDED');
        if (type === 'DELETED') known.delete(keyOf(entry));
        else known.set(keyOf(entry), entry);
      }
      const replayed = [...known].sort(([left], [right]) => (left < right ? -1 : 1));
      expect(versions(replayed.map(([, entry]) => entry))).toEqual(versions(store.list('things', null)));
    }),
  );
});

test('the list of a namespace is its part of the entire list, in the same order', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 30 }), (operations) => {
      const store = new ObjectStore({ historyLimit: 1000 });
      for (const each of operations) perform(store, each);
      const all = store.list('things', null);
      for (const namespace of ['a', 'b', 'a-b', 'c'])
        expect(store.list('things', namespace)).toEqual(all.filter((entry) => entry.namespace === namespace));
    }),
  );
});

test('every change has its own revision, and revisions increase', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 40 }), (operations) => {
      const store = new ObjectStore({ historyLimit: 1000 });
      const start = store.revision;
      const seen: number[] = [];
      store.subscribe('things', ({ revision }) => seen.push(revision));
      for (const each of operations) perform(store, each);
      expect(seen).toEqual([...new Set(seen)].sort((left, right) => left - right));
      expect(store.changesSince('things', start)?.map(({ revision }) => revision)).toEqual(seen);
    }),
  );
});

test('the history is bounded, and a revision before its start gives null', () => {
  const store = new ObjectStore({ historyLimit: 10 });
  const start = store.revision;
  for (let index = 0; index < 100; index += 1) store.put('things', object('a', `x-${index}`), OWNERS);
  expect(store.changesSince('things', start)).toBeNull();
  const recent = store.changesSince('things', store.revision - 3);
  expect(recent).toHaveLength(3);
  expect(store.changesSince('things', store.revision)).toEqual([]);
});

test('a restore brings back objects and revision, and drops the history', () => {
  const store = new ObjectStore({ historyLimit: 100 });
  store.put('things', object('a', 'x'), OWNERS);
  const snapshot = store.snapshot();
  const before = versions(store.list('things', null));
  store.put('things', object('a', 'y'), OWNERS);
  store.put('others', object('a', 'z'), OWNERS);
  store.remove('things', 'a', 'x');
  store.restore(snapshot);
  expect(versions(store.list('things', null))).toEqual(before);
  expect(store.list('others', null)).toEqual([]);
  expect(store.revision).toBe(snapshot.revision);
  expect(store.changesSince('things', snapshot.revision - 1)).toBeNull();
});
