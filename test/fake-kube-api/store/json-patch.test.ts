import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonPatch, mergePatch } from './json-patch.ts';

const json = fc.jsonValue({ maxDepth: 3 });

// The table of RFC 7386, appendix A.
test.each<[target: unknown, patch: unknown, result: unknown]>([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('the merge of %j with %j is %j', (target, patch, result) => {
  expect(mergePatch(target, patch)).toEqual(result);
});

test('a merge patch is idempotent and never changes its target', () => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = JSON.stringify(target);
      const once = mergePatch(target, patch);
      expect(mergePatch(once, patch)).toEqual(once);
      expect(JSON.stringify(target)).toBe(before);
    }),
  );
});

test('a JSON patch that fails in the middle does not change its target', () => {
  const target = { list: [1, 2], map: { a: 1 } };
  const patch = [
    { op: 'add', path: '/list/0', value: 0 },
    { op: 'remove', path: '/map/b' },
  ];
  expect(() => jsonPatch(target, patch)).toThrow('rejected our request');
  expect(target).toEqual({ list: [1, 2], map: { a: 1 } });
});

test.each<[patch: object[], result: unknown]>([
  [[{ op: 'add', path: '/list/1', value: 9 }], { list: [1, 9, 2], 'a/b': { '~': 1 } }],
  [[{ op: 'add', path: '/list/-', value: 9 }], { list: [1, 2, 9], 'a/b': { '~': 1 } }],
  [[{ op: 'remove', path: '/list/0' }], { list: [2], 'a/b': { '~': 1 } }],
  [[{ op: 'replace', path: '/a~1b/~0', value: 2 }], { list: [1, 2], 'a/b': { '~': 2 } }],
  [[{ op: 'move', from: '/list/0', path: '/moved' }], { list: [2], 'a/b': { '~': 1 }, moved: 1 }],
  [[{ op: 'copy', from: '/list', path: '/a~1b' }], { list: [1, 2], 'a/b': [1, 2] }],
  [[{ op: 'replace', path: '', value: 1 }], 1],
])('the JSON patch %j', (patch, result) => {
  expect(jsonPatch({ list: [1, 2], 'a/b': { '~': 1 } }, patch)).toEqual(result);
});

test.each([
  { op: 'add', path: '/list/3', value: 0 },
  { op: 'add', path: '/list/01', value: 0 },
  { op: 'add', path: '/none/x', value: 0 },
  { op: 'remove', path: '/list/2' },
  { op: 'replace', path: '/none', value: 0 },
  { op: 'test', path: '/list', value: [1] },
  { op: 'move', from: '/none', path: '/x' },
  { op: 'remove', path: '' },
])('%j is rejected', (operation) => {
  expect(() => jsonPatch({ list: [1, 2] }, [operation])).toThrow('rejected our request');
});
