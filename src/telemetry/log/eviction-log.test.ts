import { expect, test } from 'vitest';
import { EvictionLog } from './eviction-log.ts';
import type { Logger } from './logger.ts';

test('evictions of a port are logged once in ten seconds, with their number and the most frequent source', () => {
  const lines: object[] = [];
  let now = 0;
  const log = new EvictionLog(
    { warn: (fields: object) => lines.push(fields) } as unknown as Logger,
    () => now,
  );
  log.write('health', ['192.0.2.1']);
  log.write('health', ['192.0.2.2', '192.0.2.2']);
  log.write('admin', ['127.0.0.1']);
  now = 9_999;
  log.write('health', ['192.0.2.2']);
  now = 10_000;
  log.write('health', ['192.0.2.3', '192.0.2.2', '192.0.2.2']);
  expect(lines).toEqual([
    { port: 'health', source: '192.0.2.1', evicted: 1 },
    { port: 'admin', source: '127.0.0.1', evicted: 1 },
    { port: 'health', source: '192.0.2.2', evicted: 6 },
  ]);
});
