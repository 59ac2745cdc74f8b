// The report names a peer that does not start or crashes, with the reason. The run continues.
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
  ['all of them serve', ['serving', 'serving', 'serving'], null],
  ['one serves', ['serving', 'unhealthy', 'unhealthy'], '1 of 3 clusters serve, 2 unhealthy'],
  ['one is not in the status yet', ['serving', 'unhealthy'], '1 of 3 clusters serve, 1 unhealthy'],
  ['none is in the status yet', [], '0 of 3 clusters serve'],
])('the missing part of three clusters is reported when %s', (_, states, missing) => {
  expect(unservedOf({ clusters: states.map((state) => ({ state })) }, 3)).toBe(missing);
});

test('a thousand clusters have more time to start', () => {
  expect([1, 100, 1000].map(startSeconds)).toEqual([30, 30, 90]);
});

test('a peer that breaks the correctness test is disqualified with the reason', async () => {
  const site = { directory: mkdtempSync(`${tmpdir()}/bench-peers-`), hellos: () => 'a file' };
  const load = { correctness: () => Promise.reject(new Error('correctness: exit code 2')) };
  expect(await testCorrectness(peer, load, site)).toEqual({
    peer: 'envoy',
    cases: [],
    disqualified: 'it could not be tested: correctness: exit code 2',
  });
});

test('a scenario that cannot be prepared fails for all participants, and the run continues', async () => {
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
