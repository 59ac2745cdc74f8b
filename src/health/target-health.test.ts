import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextVerdict, UNPROVEN, type VerdictRules } from './target-health.ts';

/** `results` in order: + passed, - failed. `ups`: whether the target is up after each result. */
interface Row {
  readonly sentence: string;
  readonly rise?: number;
  readonly fall?: number;
  readonly results: string;
  readonly ups: string;
}

const ROWS: readonly Row[] = [
  { sentence: 'is down before anything is known', results: '', ups: '' },
  { sentence: 'is still down after one success', results: '+', ups: '-' },
  { sentence: 'comes up with the second success in a row', results: '++', ups: '-+' },
  { sentence: 'does not come up when a failure lies between', results: '+-+', ups: '---' },
  { sentence: 'comes up once two follow each other after all', results: '+-++', ups: '---+' },
  { sentence: 'never comes up while every second probe fails', results: '+-+-+-+-', ups: '--------' },
  { sentence: 'stays down however often it fails', results: '-----', ups: '-----' },
  { sentence: 'stays up after one failure', results: '++-', ups: '-++' },
  { sentence: 'goes down with the second failure in a row', results: '++--', ups: '-++-' },
  { sentence: 'forgets a failure when a success follows', results: '++-+-', ups: '-++++' },
  { sentence: 'needs two successes again after going down', results: '++--+', ups: '-++--' },
  { sentence: 'recovers after going down', results: '++--++', ups: '-++--+' },
  { sentence: 'comes up at once with rise 1', rise: 1, results: '+', ups: '+' },
  { sentence: 'goes down at once with fall 1', fall: 1, results: '++-', ups: '-+-' },
  { sentence: 'waits for the third failure with fall 3', fall: 3, results: '++---', ups: '-+++-' },
  { sentence: 'waits for the fourth success with rise 4', rise: 4, results: '++++', ups: '---+' },
];

const rules = (row: Partial<VerdictRules>) => ({ rise: row.rise ?? 2, fall: row.fall ?? 2 });
const play = (results: Iterable<boolean>, with_: VerdictRules) => {
  const states = [UNPROVEN];
  for (const ok of results) states.push(nextVerdict(states.at(-1)!, ok, with_));
  return states.slice(1);
};

describe('a target', () => {
  for (const row of ROWS) {
    test(`${row.sentence} (${row.results || 'nothing'})`, () => {
      const states = play(
        Array.from(row.results, (each) => each === '+'),
        rules(row),
      );
      expect(states.map(({ up }) => (up ? '+' : '-')).join('')).toBe(row.ups);
    });
  }

  test('flips exactly when the last rise or fall results all contradict it', () => {
    const count = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(fc.array(fc.boolean()), count, count, (results, rise, fall) => {
        let up = false;
        let row = 0; // same results in a row since the last flip
        let last: boolean | null = null;
        const expected = results.map((ok) => {
          row = ok === last ? row + 1 : 1;
          last = ok;
          if (ok !== up && row >= (up ? fall : rise)) up = ok;
          return up;
        });
        expect(play(results, { rise, fall }).map((state) => state.up)).toEqual(expected);
      }),
    );
  });

  test('counts confirming results from the flip on', () => {
    expect(play([true, true, true, false, true], rules({})).map(({ agreeing }) => agreeing)).toEqual([
      0, 1, 2, 0, 1,
    ]);
  });
});
