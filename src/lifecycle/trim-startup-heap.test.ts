import { getHeapStatistics } from 'node:v8';
import { expect, test, vi } from 'vitest';
import { trimStartupHeap } from './trim-startup-heap.ts';

test('unreachable memory is freed at once, and the collector does not become a global', () => {
  let garbage: unknown[] = Array.from({ length: 200_000 }, (_, index) => ({ index }));
  const before = getHeapStatistics().used_heap_size;
  expect(garbage).toHaveLength(200_000);
  garbage = [];
  const releaseFreeMemory = vi.fn();
  trimStartupHeap({ releaseFreeMemory });
  expect(getHeapStatistics().used_heap_size).toBeLessThan(before - 4_000_000);
  expect(garbage).toEqual([]);
  expect('gc' in globalThis).toBe(false);
  expect(releaseFreeMemory).toHaveBeenCalledOnce();
});
