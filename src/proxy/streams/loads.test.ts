import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Backend } from '../../routing/route-table.ts';
import { type Choice, Loads } from './loads.ts';

const backend = (key: string): Backend => ({ key, address: '10.0.0.5', port: 22, netns: null });
const first = (choice: Choice): Backend | undefined => choice[Symbol.iterator]().next().value;

test('while no connection ends, the counts of two members differ by at most one, for any order of the list', () => {
  const members = fc.uniqueArray(fc.constantFrom(...'abcdefgh'), { minLength: 1 });
  fc.assert(
    fc.property(members, fc.nat(100), (keys, connections) => {
      const loads = new Loads(() => 0);
      const counts = new Map(keys.map((key) => [key, 0]));
      for (let i = 0; i < connections; i += 1) {
        // A new list in another order each time, as after routes are published.
        const list = [...keys.slice(i % keys.length), ...keys.slice(0, i % keys.length)].map(backend);
        const { key } = first(loads.choice(list)) as Backend;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
    }),
  );
});

test('each choice tries a member at most once, and no connection is counted after all choices have ended', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ failures: fc.nat(4), early: fc.boolean() })), (stories) => {
      let nowMs = 0;
      const loads = new Loads(() => nowMs);
      const list = ['a', 'b', 'c'].map(backend);
      const open: Choice[] = [];
      for (const { failures, early } of stories) {
        nowMs += 1000;
        const choice = loads.choice(list);
        const tried: string[] = [];
        for (const { key } of choice) {
          tried.push(key);
          if (tried.length > failures) break;
          choice.failed();
        }
        expect(new Set(tried).size).toBe(tried.length);
        if (early) choice.end();
        else open.push(choice);
      }
      for (const choice of open) {
        choice.end();
        choice.end(); // idempotent
      }
      nowMs += 10_000;
      // All counts are zero: three new connections go to three members.
      const chosen = list.map(() => first(loads.choice(list))?.key);
      expect(new Set(chosen).size).toBe(3);
    }),
  );
});

test('a member that failed comes last for five seconds', () => {
  let nowMs = 0;
  const loads = new Loads(() => nowMs);
  const list = ['a', 'b'].map(backend);
  const choice = loads.choice(list);
  expect(first(choice)?.key).toBe('a');
  choice.failed();
  choice.end();
  for (let i = 0; i < 3; i += 1) expect(first(loads.choice(list))?.key).toBe('b');
  nowMs = 5001;
  expect(first(loads.choice(list))?.key).toBe('a');
});

test('a choice tries at most 64 members', () => {
  const loads = new Loads(() => 0);
  const choice = loads.choice(Array.from({ length: 5000 }, (_, i) => backend(`m${i}`)));
  let tries = 0;
  for (const _ of choice) tries += 1;
  expect(tries).toBe(64);
});

test('entries of unused members are deleted at the limit', () => {
  const loads = new Loads(() => 0);
  for (let i = 0; i < 40_000; i += 1) {
    const choice = loads.choice([backend(`m${i}`)]);
    first(choice);
    choice.end();
  }
  expect(loads.known).toBeLessThanOrEqual(16_384);
});
