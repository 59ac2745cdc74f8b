import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineTooLong, WatchLines } from './watch-lines.ts';

const linesOf = (chunks: readonly Buffer[], max = 1000) => {
  const lines = new WatchLines(max);
  return { found: chunks.flatMap((chunk) => [...lines.push(chunk)]), pending: lines.pending };
};

test('the same bytes give the same lines for any division into chunks', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 20 })),
      fc.string({ maxLength: 5 }),
      fc.array(fc.nat(200)),
      (texts, rest, cuts) => {
        const clean = texts.map((text) => text.replaceAll('\n', ' '));
        const tail = rest.replaceAll('\n', ' ');
        const bytes = Buffer.from(clean.map((text) => `${text}\n`).join('') + tail);
        const points = [
          0,
          ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
          bytes.length,
        ];
        const chunks = points.slice(1).map((end, index) => bytes.subarray(points[index], end));
        const { found, pending } = linesOf(chunks);
        expect(found).toEqual(clean.filter((text) => text.trim() !== ''));
        expect(pending).toBe(Buffer.byteLength(tail));
      },
    ),
  );
});

test('a line without an end is rejected before it fills the memory', () => {
  expect(() => linesOf([Buffer.alloc(600, 'x'), Buffer.alloc(600, 'x')])).toThrow(LineTooLong);
  expect(linesOf([Buffer.alloc(600, 'x'), Buffer.from('\n'), Buffer.alloc(600, 'x')]).found).toHaveLength(1);
  expect(() => linesOf([Buffer.from(`${'x'.repeat(1001)}\n`)])).toThrow(LineTooLong);
});
