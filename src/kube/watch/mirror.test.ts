import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../kube-object.ts';
import { Mirror } from './mirror.ts';

const object = (uid: string, resourceVersion: string, spec: unknown = 1): KubeObject => ({
  metadata: { name: 'a', uid, resourceVersion },
  spec,
});

function mirror() {
  const projected: unknown[] = [];
  const made = new Mirror<{ spec: unknown }>({
    project: ({ spec }) => {
      projected.push(spec);
      if (spec === 'odd') throw new Error('odd');
      return { spec };
    },
  });
  return { made, projected };
}

describe('a mirror', () => {
  test('treats an object with another uid as another object, although name and version are the same', () => {
    const { made } = mirror();
    made.put(object('1', '5', 'old'));
    expect(made.put(object('2', '5', 'new'))).toBe(true);
    expect(made.items().get('a')).toEqual({ spec: 'new' });
  });

  test('drops a deleted object when the new object of the same name cannot be projected', () => {
    const { made } = mirror();
    made.put(object('1', '5'));
    expect(made.put(object('2', '6', 'odd'))).toBe(true);
    expect(made.items().size).toBe(0);
    expect([...made.rejected()]).toEqual([['a', 'odd']]);
  });

  test('keeps the last valid projection through lists, and projects again with each list', () => {
    const { made, projected } = mirror();
    made.put(object('1', '5'));
    const good = made.items().get('a');
    for (let each = 0; each < 2; each++) {
      const list = made.beginList(true);
      list.add(object('1', '6', 'odd'));
      expect(list.commit()).toBe(each === 0);
      expect(made.items().get('a')).toBe(good);
    }
    expect(projected).toEqual([1, 'odd', 'odd']);
  });

  test('does not change for a list that was not completed', () => {
    const { made } = mirror();
    made.put(object('1', '5'));
    const list = made.beginList(true);
    list.add({ metadata: { name: 'b' } });
    expect([...made.items().keys()]).toEqual(['a']);
    expect(list.commit()).toBe(true);
    expect([...made.items().keys()]).toEqual(['b']);
  });

  test('projects an object again if it has no version, or if versions are not trusted', () => {
    const { made } = mirror();
    made.put(object('1', '5'));
    const before = made.items().get('a');
    expect(made.put(object('1', '5', 'other'))).toBe(false);
    const list = made.beginList(false);
    list.add(object('1', '5', 'other'));
    expect(list.commit()).toBe(true);
    expect(made.items().get('a')).not.toBe(before);
    expect(made.put({ metadata: { name: 'a', uid: '1' }, spec: 'third' })).toBe(true);
    expect(made.put({ metadata: { name: 'a', uid: '1' }, spec: 'fourth' })).toBe(true);
  });
});
