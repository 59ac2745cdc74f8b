import { getHeapStatistics } from 'node:v8';
import { expect, test, vi } from 'vitest';
import { dropStartGarbage } from './start-garbage.ts';

test('what nobody holds any more is given back at once, and the collector stays nobody’s global', () => {
  let garbage: unknown[] = Array.from({ length: 200_000 }, (_, index) => ({ index }));
  const before = getHeapStatistics().used_heap_size;
  expect(garbage).toHaveLength(200_000);
  garbage = [];
  const releaseFreeMemory = vi.fn();
  dropStartGarbage({ releaseFreeMemory });
  expect(getHeapStatistics().used_heap_size).toBeLessThan(before - 4_000_000);
  expect(garbage).toEqual([]);
  expect('gc' in globalThis).toBe(false);
  expect(releaseFreeMemory).toHaveBeenCalledOnce();
});
