// What the node tests report of their clients, from recorded attempts.
import { expect, test } from 'vitest';
import { inWords, summary } from './clients.ts';

const ok = (at: number, ms = 10) => ({ ok: true, at, ms });
const refused = (at: number) => ({ ok: false, at, ms: 1, error: 'ECONNREFUSED' });
const cut = (connection: number, at: number) => ({ ok: false, at, ms: 0, error: 'it was cut', connection });

test('two failures far apart, between answers, are no long outage', () => {
  const tries = [
    ...Array.from({ length: 200 }, (_, index) => ok(index * 50)),
    refused(1_010),
    refused(9_010),
  ];
  const seen = summary(tries, []);
  expect(seen).toMatchObject({ connections: 202, failed: { ECONNREFUSED: 2 }, gapSeconds: 0.05, cuts: [] });
  expect(inWords(seen, 0)).toBe(
    '202 new connections, 2 ECONNREFUSED, longest time without an answer 0.1 s, slowest 0.0 s; 0 of 4 long ones cut',
  );
});

test('the longest time without an answer lies between two answers, also if no attempt fails', () => {
  // A packet was lost: the client that began at 50 ms has its answer after those that began later.
  const hung = [ok(0), ok(50, 7_000), ok(100, 3_000)];
  expect(summary(hung, [])).toMatchObject({ failed: {}, gapSeconds: 3.95, slowestSeconds: 7 });
});

test('clients that end without an answer had none until the end of their last try', () => {
  const refusedAtLast = [ok(0), ok(50), refused(100), refused(5_059), ok(20)];
  expect(summary(refusedAtLast, [])).toMatchObject({ gapSeconds: 5, failed: { ECONNREFUSED: 2 } });
  const neverServed = [refused(1_000), refused(5_999)];
  expect(summary(neverServed, [])).toMatchObject({ gapSeconds: 5, slowestSeconds: 0 });
  expect(summary([], [])).toMatchObject({ connections: 0, gapSeconds: 0 });
});

test('each long connection that ended is reported once, with the time of its end', () => {
  const ends = [cut(2, 15_300), cut(0, 12_000), { ...refused(13_000), connection: 0 }, cut(0, 14_000)];
  const seen = summary([ok(0)], ends);
  expect(seen.cuts).toEqual([12_000, 15_300]);
  expect(inWords(seen, 10_000)).toMatch(/; 2 of 4 long ones cut after 2\.0 s, 5\.3 s$/);
});
