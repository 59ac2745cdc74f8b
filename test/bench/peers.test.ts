// A peer that does not start, crashes under test or keeps others waiting is told of with its reason, and the run goes on.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { runScenario } from '../../bench/harness/runner.ts';
import { unservedOf } from '../../bench/peers/isthmus.ts';
import type { RunningPeer } from '../../bench/peers/peer.ts';
import { startSeconds } from '../../bench/peers/running.ts';
import { testCorrectness } from '../../bench/scenarios/correctness.ts';
import { latency } from '../../bench/scenarios/latency.ts';

const peer: RunningPeer = { name: 'envoy', target: '127.0.0.1:1', pids: () => [], stop: async () => {} };

test.each<[string, readonly string[], string | null]>([
  ['all serve', ['serving', 'serving', 'serving'], null],
  ['some do', ['serving', 'unhealthy', 'unhealthy'], '1 of 3 clusters serve, 2 unhealthy'],
  ['some are not known yet', ['serving', 'unhealthy'], '1 of 3 clusters serve, 1 unhealthy'],
  ['none is', [], '0 of 3 clusters serve'],
])('what is missing of three clusters is counted when %s', (_, states, missing) => {
  expect(unservedOf({ clusters: states.map((state) => ({ state })) }, 3)).toBe(missing);
});

test('a thousand clusters have more time to come up', () => {
  expect([1, 100, 1000].map(startSeconds)).toEqual([30, 30, 90]);
});

test('a peer that crashes the correctness test is disqualified with the reason', async () => {
  const site = { directory: mkdtempSync(`${tmpdir()}/bench-peers-`), hellos: () => 'a file' };
  const load = { correctness: () => Promise.reject(new Error('correctness: exit code 2')) };
  expect(await testCorrectness(peer, load, site)).toEqual({
    peer: 'envoy',
    cases: [],
    disqualified: 'it could not be tested: correctness: exit code 2',
  });
});

test('a scenario that cannot be prepared has failed for all who take part, and ends nothing', async () => {
  const site = { hellos: () => 'a file' } as never;
  const load = { connections: () => Promise.reject(new Error('12 of 20 connections failed')) } as never;
  const participants = [{ name: 'envoy', peer: { start: async () => peer } as never, site }];
  const result = await runScenario(latency, site, participants, new Map([['envoy', peer]]), {
    load,
    timing: { seconds: 1, warmup: 0 },
    rounds: 2,
    patience: 0,
    progress: { at: () => {}, done: () => {}, say: () => {} } as never,
  });
  expect(result.failures).toEqual({ envoy: 'not prepared: 12 of 20 connections failed' });
  expect(result.rounds.map(({ measurements }) => measurements)).toEqual([{}, {}]);
});
