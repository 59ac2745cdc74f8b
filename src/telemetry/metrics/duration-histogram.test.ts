import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DurationHistogram } from './duration-histogram.ts';
import { MetricRegistry } from './metric-registry.ts';

const BUCKETS = [0.01, 0.1, 1];
const OPTIONS = { name: 'taken_seconds', help: 'How long', buckets: BUCKETS };

test('every bucket counts the observations up to its bound, and the sum and the count cover all of them', async () => {
  const observation = fc.tuple(
    fc.constantFrom('finished', 'client-reset'),
    fc.oneof(fc.constantFrom(0, 0.01, 0.1, 1, 1.0001), fc.double({ min: 0, max: 5, noNaN: true })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { maxLength: 30 }), async (observations) => {
      const durations = new DurationHistogram({ ...OPTIONS, label: 'outcome' });
      for (const [outcome, seconds] of observations) durations.observe(seconds, outcome);
      const outcomes = [...new Set(observations.map(([outcome]) => outcome))];
      const expected = outcomes.flatMap((outcome) => {
        const seconds = observations.filter(([each]) => each === outcome).map(([, each]) => each);
        const upTo = (bound: number) => seconds.filter((each) => each <= bound).length;
        const le = (bound: number | string) => `taken_seconds_bucket{le="${bound}",outcome="${outcome}"}`;
        return [
          ...BUCKETS.map((bound) => `${le(bound)} ${upTo(bound)}`),
          `${le('+Inf')} ${seconds.length}`,
          `taken_seconds_sum{outcome="${outcome}"} ${seconds.reduce((sum, each) => sum + each, 0)}`,
          `taken_seconds_count{outcome="${outcome}"} ${seconds.length}`,
        ];
      });
      const text = await new MetricRegistry([durations.metric]).text();
      expect(text.trimEnd().split('\n').slice(2)).toEqual(expected);
    }),
  );
});

test('a histogram without a label has its series before the first observation', async () => {
  const durations = new DurationHistogram({ ...OPTIONS, label: null });
  const text = async () => new MetricRegistry([durations.metric]).text();
  expect(await text()).toBe(
    [
      '# HELP taken_seconds How long',
      '# TYPE taken_seconds histogram',
      'taken_seconds_bucket{le="0.01"} 0',
      'taken_seconds_bucket{le="0.1"} 0',
      'taken_seconds_bucket{le="1"} 0',
      'taken_seconds_bucket{le="+Inf"} 0',
      'taken_seconds_sum 0',
      'taken_seconds_count 0',
      '',
    ].join('\n'),
  );
  durations.observe(0.05);
  expect(await text()).toContain('taken_seconds_bucket{le="0.1"} 1\n');
});
