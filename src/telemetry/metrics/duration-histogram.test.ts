import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DurationHistogram } from './duration-histogram.ts';
import { Histogram, Registry } from './prometheus.ts';

const OPTIONS = { name: 'taken_seconds', help: 'How long', buckets: [0.01, 0.1, 1] };

test('every bucket counts the observations up to its bound, and the sum and the count cover all of them', async () => {
  const observation = fc.tuple(
    fc.constantFrom('finished', 'client-reset', 'a "quoted" one\n'),
    fc.oneof(fc.constantFrom(0, 0.01, 0.1, 1, 1.0001), fc.double({ min: 0, max: 5, noNaN: true })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { maxLength: 30 }), async (observations) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const durations = new DurationHistogram({ ...OPTIONS, label: 'outcome' }, ours);
      const histogram = new Histogram({ ...OPTIONS, labelNames: ['outcome'], registers: [theirs] });
      for (const [outcome, seconds] of observations) {
        durations.observe(outcome, seconds);
        histogram.observe({ outcome }, seconds);
      }
      expect(await ours.metrics()).toBe(await theirs.metrics());
    }),
  );
});

test('a second histogram of the same name is rejected, as the registry does with its own metrics', () => {
  const registry = new Registry();
  new DurationHistogram({ ...OPTIONS, label: 'outcome' }, registry);
  expect(() => new DurationHistogram({ ...OPTIONS, label: 'outcome' }, registry)).toThrow('taken_seconds');
});
