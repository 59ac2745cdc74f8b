import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HelloBuffer, HelloMemory } from './hello-buffer.ts';

test('the bytes are in order for any division into chunks', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 20 }), (chunks) => {
      const buffer = new HelloBuffer(new HelloMemory(1e9));
      for (const chunk of chunks) expect(buffer.append(Buffer.from(chunk))).toBe(true);
      const all = Buffer.concat(chunks);
      expect(buffer.length).toBe(all.length);
      expect(buffer.bytes.equals(all)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('a chunk is copied, so later changes to it do not matter', () => {
  const buffer = new HelloBuffer(new HelloMemory(4096));
  const chunk = Buffer.from('hello');
  buffer.append(chunk);
  chunk.fill(0);
  expect(buffer.bytes.toString()).toBe('hello');
});

test('with single-byte chunks the memory doubles instead of growing with each byte', () => {
  const memory = new HelloMemory(1e6);
  const buffer = new HelloBuffer(memory);
  const sizes = new Set<number>();
  for (let i = 0; i < 10_000; i += 1) {
    buffer.append(Buffer.of(i & 0xff));
    sizes.add(memory.used);
  }
  expect([...sizes]).toEqual([0, 2048, 6144, 14_336]); // the first 2048 bytes are not counted
  expect(buffer.bytes.every((byte, i) => byte === (i & 0xff))).toBe(true);
});

test('a chunk larger than twice the buffer allocates exactly the needed memory', () => {
  const memory = new HelloMemory(1e6);
  const buffer = new HelloBuffer(memory);
  buffer.append(Buffer.alloc(10));
  buffer.append(Buffer.alloc(9000, 1));
  expect(memory.used).toBe(9010 - 2048);
  expect(buffer.length).toBe(9010);
});

test('an empty buffer uses no memory', () => {
  const memory = new HelloMemory(0);
  const buffer = new HelloBuffer(memory);
  expect(buffer.length).toBe(0);
  expect(buffer.bytes).toHaveLength(0);
  expect(buffer.append(Buffer.alloc(0))).toBe(true);
  expect(memory.used).toBe(0);
});

test('all long hellos share one exact limit, and short hellos are not counted', () => {
  const memory = new HelloMemory(2 * 2048);
  const [one, two, three] = [1, 2, 3].map(() => new HelloBuffer(memory)) as [
    HelloBuffer,
    HelloBuffer,
    HelloBuffer,
  ];
  expect(one.append(Buffer.alloc(2049))).toBe(true);
  expect(two.append(Buffer.alloc(2048))).toBe(true);
  expect(two.append(Buffer.of(2))).toBe(true);
  expect(memory.used).toBe(1 + 2048);
  expect(three.append(Buffer.alloc(2048))).toBe(true);
  expect(three.append(Buffer.of(3))).toBe(false);
  expect(memory.used).toBe(1 + 2048);
  two.release();
  expect(three.append(Buffer.of(3))).toBe(true);
});

test('a rejected append changes neither the bytes nor the used memory', () => {
  const memory = new HelloMemory(2047);
  const buffer = new HelloBuffer(memory);
  buffer.append(Buffer.alloc(2048, 7));
  expect(buffer.append(Buffer.of(1))).toBe(false);
  expect(buffer.bytes.equals(Buffer.alloc(2048, 7))).toBe(true);
  expect(memory.used).toBe(0);
});

test('release returns the memory once, and bytes that were handed out stay valid', () => {
  const memory = new HelloMemory(1e6);
  const buffer = new HelloBuffer(memory);
  buffer.append(Buffer.from('replay me'.padEnd(5000)));
  expect(memory.used).toBeGreaterThan(0);
  const replay = buffer.bytes.subarray(0, 9);
  buffer.release();
  buffer.release();
  expect(memory.used).toBe(0);
  expect(buffer.length).toBe(0);
  expect(replay.toString()).toBe('replay me');
  buffer.append(Buffer.from('another'));
  expect(replay.toString()).toBe('replay me');
  expect(buffer.bytes.toString()).toBe('another');
});
