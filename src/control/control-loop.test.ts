import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ProbeTarget } from '../health/probe.ts';
import type { TargetHealth } from '../health/target-health.ts';
import type { NetnsSnapshot } from '../netns/netns-directory.ts';
import { ControlLoop } from './control-loop.ts';
import type { Desired } from './desired/desired-state.ts';
import { TurnCache } from './objects/turn-cache.ts';
import type { ClusterReading, SourceSnapshot } from './sources/cluster-source.ts';

const ID = '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66';
const cluster = (name: string): ClusterReading => ({
  kind: 'proxied',
  facts: {
    key: `ns/${name}`,
    name,
    namespace: 'ns',
    origin: name,
    networkIds: [ID],
    address: '10.0.0.1',
    port: 6443,
  },
});
const netnsEntry = { name: `qdhcp-${ID}`, path: `/run/netns/qdhcp-${ID}`, identity: '7' };

let running: ControlLoop | null = null;
afterEach(async () => {
  vi.useRealTimers();
  await running?.stop();
});

function harness(intervalMs = 60_000) {
  const log: string[] = [];
  const published: Desired[] = [];
  const errors: unknown[] = [];
  const health = new Map<string, TargetHealth>();
  const state = {
    log,
    published,
    errors,
    health,
    source: { complete: true, clusters: [cluster('a')], problems: [] } as SourceSnapshot,
    netns: { complete: true, entries: [netnsEntry], problems: [] } as NetnsSnapshot,
    targets: [] as readonly ProbeTarget[],
    onChange: () => {},
    rescans: 0,
    looks: 0,
    failSource: false,
    failPublish: false,
    stopped: false,
  };
  const loop = new ControlLoop({
    source: {
      start: async (onChange) => {
        state.onChange = onChange;
      },
      snapshot: () => {
        state.looks++;
        if (state.failSource) throw new Error('source broke');
        return state.source;
      },
      readyChecks: () => [],
      stop: async () => {
        state.stopped = true;
      },
    },
    netns: { snapshot: () => state.netns, rescan: () => void state.rescans++ },
    health: {
      snapshot: () => health,
      setTargets: (targets) => {
        state.targets = targets;
        log.push(`targets ${targets.length}`);
      },
    },
    settings: { namespace: 'magnum-system', defaultCluster: null },
    cache: new TurnCache(),
    publish: (desired) => {
      if (state.failPublish) throw new Error('publish broke');
      published.push(desired);
      log.push(`publish ${desired.clusters.map(({ name, state: s }) => `${name}:${s}`).join(' ')}`);
    },
    onTurnError: (error) => errors.push(error),
    intervalMs,
  });
  running = loop;
  const flip = (up: boolean) => {
    for (const { key } of state.targets) health.set(key, { up, sinceMs: 0, lastProbe: null });
    loop.trigger('backend-up');
    loop.hurry(); // control-loop-patience.test.ts tests the wait
  };
  return { loop, state, flip };
}

/** Waits until all triggers had their turn. It counts rounds of the event loop: milliseconds are unreliable on a busy machine. */
const turned = async () => {
  for (let round = 0; round < 3; round += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

describe('a control loop', () => {
  test('lets a backend be probed before it routes to it', async () => {
    const { loop, state, flip } = harness();
    await loop.start();
    flip(true);
    await turned();
    expect(state.log).toEqual(['targets 1', 'publish a:unhealthy', 'publish a:serving']);
    expect(loop.last()).toBe(state.published.at(-1));
    expect(loop.last()?.routes.byServerName.get('a')?.backends).toHaveLength(1);
  });

  test('publishes a health flip within the same round of the event loop', async () => {
    const { loop, state, flip } = harness();
    await loop.start();
    flip(true);
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(state.published).toHaveLength(2);
  });

  test('runs one turn for any number of triggers', async () => {
    const { loop, state } = harness();
    await loop.start();
    const looks = state.looks;
    for (let i = 0; i < 100; i++) {
      loop.trigger('netns');
      state.onChange();
    }
    await turned();
    expect(state.looks).toBe(looks + 1);
  });

  test('publishes nothing while nothing changes, even if the inputs are new objects each time', async () => {
    const { loop, state } = harness(5);
    await loop.start();
    for (let i = 0; i < 5; i++) {
      state.source = structuredClone(state.source);
      state.netns = structuredClone(state.netns);
      loop.trigger('source');
      await turned();
    }
    expect(state.log).toEqual(['targets 1', 'publish a:unhealthy']);
    expect(state.looks).toBeGreaterThan(5);
  });

  test('publishes the same references for the parts that did not change', async () => {
    const { loop, state } = harness();
    await loop.start();
    state.source = { ...state.source, problems: [{ origin: 'bad.yaml', reason: 'not YAML' }] };
    state.onChange();
    await turned();
    const [before, after] = state.published;
    expect(after?.problems).toHaveLength(1);
    expect(after?.routes).toBe(before?.routes);
    expect(after?.clusters).toBe(before?.clusters);
    expect(state.log.filter((line) => line.startsWith('targets'))).toHaveLength(1);
  });

  test('publishes a changed reason and keeps the routes unchanged', async () => {
    const { loop, state } = harness();
    await loop.start();
    const fail = async (error: string) => {
      const lastProbe = { atMs: performance.now(), ok: false, durationMs: 1, error };
      for (const { key } of state.targets) state.health.set(key, { up: false, sinceMs: 0, lastProbe });
      loop.trigger('tick');
      await turned();
    };
    await fail('ECONNREFUSED');
    await fail('ECONNREFUSED');
    await fail('ETIMEDOUT');
    expect(state.published.map(({ clusters }) => /\((.*)\)/.exec(clusters[0]?.reason ?? '')?.[1])).toEqual([
      'not checked yet',
      'ECONNREFUSED',
      'ETIMEDOUT',
    ]);
    expect(new Set(state.published.map(({ routes }) => routes)).size).toBe(1);
  });

  test('runs a turn at each tick and rescans the netns directory', async () => {
    const { loop, state } = harness(5);
    await loop.start();
    state.source = { ...state.source, clusters: [cluster('a'), cluster('b')] };
    await expect.poll(() => state.published.at(-1)?.clusters.length, { interval: 5 }).toBe(2);
    await expect.poll(() => state.rescans, { interval: 5 }).toBeGreaterThan(1);
  });

  test('survives a turn that throws, keeps the published state and continues with the next turn', async () => {
    const { loop, state, flip } = harness();
    await loop.start();
    const last = loop.last();
    state.failSource = true;
    flip(true);
    await turned();
    expect(state.errors).toEqual([new Error('source broke')]);
    expect(loop.last()).toBe(last);
    state.failSource = false;
    loop.trigger('tick');
    await turned();
    expect(state.published.at(-1)?.clusters[0]?.state).toBe('serving');
  });

  test('retries a publication that failed', async () => {
    const { loop, state } = harness();
    state.failPublish = true;
    await loop.start();
    expect(state.errors).toEqual([new Error('publish broke')]);
    expect(loop.last()).toBeNull();
    state.failPublish = false;
    loop.trigger('tick');
    await turned();
    expect(state.published).toHaveLength(1);
  });

  test('keeps routes while the netns directory cannot be read', async () => {
    const { loop, state, flip } = harness();
    await loop.start();
    flip(true);
    await turned();
    state.netns = { complete: false, entries: [], problems: [] };
    loop.trigger('netns');
    await turned();
    expect(loop.last()).toMatchObject({ complete: false, clusters: [{ state: 'serving' }] });
    state.netns = { complete: true, entries: [], problems: [] };
    loop.trigger('netns');
    await turned();
    expect(loop.last()).toMatchObject({ complete: true, clusters: [{ state: 'no-netns' }], backends: [] });
  });

  test('does nothing before it is started or after it was stopped', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    const { loop, state, flip } = harness(5);
    loop.trigger('backend-up');
    await turned();
    expect(state.looks).toBe(0);
    await loop.start();
    flip(true);
    await loop.stop();
    const looks = state.looks;
    loop.trigger('backend-up');
    vi.advanceTimersByTime(60_000);
    await turned();
    expect(state.looks).toBe(looks);
    expect(vi.getTimerCount()).toBe(0);
    expect(state.stopped).toBe(true);
  });
});
