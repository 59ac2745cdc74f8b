import { describe, expect, test } from 'vitest';
import { watchChange } from './watch-change.ts';

const POSITION = { path: '/api/v1/services', version: '100' };
const object = (resourceVersion: string) => ({ metadata: { name: 'a', resourceVersion } });

describe('an event of a watch', () => {
  for (const [type, kind] of [
    ['ADDED', 'exists'],
    ['MODIFIED', 'exists'],
    ['DELETED', 'deleted'],
  ] as const) {
    test(`${type} means that an object is ${kind}, even if its version is older than the known one`, () => {
      expect(watchChange({ type, object: object('99') }, POSITION)).toEqual({
        kind,
        object: object('99'),
        version: '99',
      });
    });
  }

  test('BOOKMARK gives the current version of the server', () => {
    const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '100' } } };
    expect(watchChange(bookmark, POSITION)).toEqual({ kind: 'bookmark', version: '100' });
  });

  for (const [sentence, type, sent, code] of [
    ['a bookmark older than the known version', 'BOOKMARK', object('99'), 'gone'],
    ['an object without a version', 'ADDED', { metadata: { name: 'a' } }, 'bad-answer'],
    ['an object without a name', 'ADDED', { metadata: { resourceVersion: '101' } }, 'bad-answer'],
    ['a deletion without a name', 'DELETED', { metadata: { resourceVersion: '101' } }, 'bad-answer'],
    ['an event of an unknown type', 'MOVED', object('101'), 'bad-answer'],
    ['no object at all', 'ADDED', null, 'bad-answer'],
  ] as const) {
    test(`is rejected when it is ${sentence}`, () => {
      expect(() => watchChange({ type, object: sent }, POSITION)).toThrow(expect.objectContaining({ code }));
    });
  }
});
