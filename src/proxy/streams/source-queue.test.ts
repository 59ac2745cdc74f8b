import { describe, expect, test } from 'vitest';
import { SourceQueue } from './source-queue.ts';

const queueOf = (...items: readonly (readonly [string, string])[]): SourceQueue<string> => {
  const queue = new SourceQueue<string>();
  for (const [item, address] of items) queue.add(item, address);
  return queue;
};

describe('the item to evict', () => {
  test('is the oldest item of the address with the most items', () => {
    const queue = queueOf(['a', '192.0.2.1'], ['b', '192.0.2.2'], ['c', '192.0.2.2']);
    expect(queue.oldestOfLargest()).toBe('b');
    queue.remove('b', '192.0.2.2');
    expect(queue.oldestOfLargest()).toBe('a');
  });

  test('is the oldest of all items if each address has one', () => {
    expect(queueOf(['a', '192.0.2.1'], ['b', '192.0.2.2']).oldestOfLargest()).toBe('a');
  });

  test.each([
    ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', true],
    ['2001:db8::1', '2001:db8:0:0:5::2', true],
    ['::1', '::2', true],
    ['2001::a:b:c:d:e', '2001:0:0:a::1', true],
    ['2001::a:b:c:d:e', '2001::1', false],
    ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ])('is chosen after %s and %s are counted by their first 64 bits', (one, other, together) => {
    const queue = queueOf(['x', '192.0.2.1'], ['a', one], ['b', other]);
    expect(queue.oldestOfLargest()).toBe(together ? 'a' : 'x');
  });

  test('does not exist in an empty queue, also after all items were removed', () => {
    const queue = queueOf(['a', '192.0.2.1']);
    queue.remove('a', '192.0.2.1');
    queue.remove('a', '192.0.2.1');
    expect(queue.oldestOfLargest()).toBeUndefined();
  });
});
