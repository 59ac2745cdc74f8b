// The control thread as the main thread sees it: the real thread, and scripts that crash, end or get stuck.
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunConfig, readConfig } from '../../src/cli/config/config.ts';
import type { Desired } from '../../src/control/desired/desired-state.ts';
import type { DesiredChanges } from '../../src/control-thread/control-changes.ts';
import { type ControlHandlers, ControlLink } from '../../src/control-thread/control-link.ts';
import { manifest } from '../support/isthmus.ts';
import { makeNetns } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';
import { until, WAIT_MS, within } from '../support/tcp.ts';

const ADDRESS = '10.0.0.5';
const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-link-'));
const manifests = join(directory, 'clusters');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const config = (...flags: string[]): RunConfig => {
  const read = readConfig(['--source', `file:${manifests}`, ...flags], {});
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.config;
};

let link: ControlLink;
const published: { desired: Desired; changes: DesiredChanges }[] = [];
const flips: string[] = [];
const log: string[] = [];
const turnsMs: number[] = [];

/** Tests with a stuck script pass a `stopDeadlineMs` of half a second. */
function open(settings: RunConfig, script?: string, stopDeadlineMs = WAIT_MS): ControlLink {
  link = new ControlLink({
    stopDeadlineMs,
    config: settings,
    log: (level, _facts, message) => log.push(`${level}: ${message}`),
    ...(script !== undefined && { script: new URL(`data:text/javascript,${encodeURIComponent(script)}`) }),
  });
  return link;
}

const handlers: ControlHandlers = {
  onPublished: (desired, changes) => published.push({ desired, changes }),
  onHealthChanged: (up, down) => flips.push(`${up} up, ${down} down`),
  onTurns: (durations) => turnsMs.push(...durations),
};

beforeEach(() => {
  mkdirSync(manifests, { recursive: true });
  for (const list of [published, flips, log, turnsMs]) list.length = 0;
});
afterEach(async () => {
  await link.stop();
  rmSync(manifests, { recursive: true, force: true });
});

const stateOf = (name: string) => link.desired.clusters.find((cluster) => cluster.name === name)?.state;
const threads = () => readdirSync('/proc/self/task').length;

describe('the control thread', () => {
  const networks = { alpha: randomUUID(), beta: randomUUID() };
  const netns = Object.values(networks).map((id) =>
    makeNetns({ name: `qdhcp-${id}`, addresses: [`${ADDRESS}/32`] }),
  );
  afterAll(() => {
    for (const each of netns) each.remove();
  });
  const write = (name: 'alpha' | 'beta') =>
    writeFileSync(
      join(manifests, `${name}.yaml`),
      manifest({ name, networkId: networks[name], address: ADDRESS }),
    );

  test('publishes the first state and each change, and keeps unchanged objects identical', async () => {
    const server = await NetnsServer.start(`qdhcp-${networks.alpha}`, 'hold', ADDRESS, '6443');
    try {
      write('alpha');
      await open(config()).start(handlers);
      expect(published).not.toEqual([]); // the first turn is done
      await link.settled;
      expect(stateOf('alpha')).toBe('serving');
      expect(flips).toEqual(['1 up, 0 down']);
      expect(threadNetns()).toHaveLength(1); // it probed inside a netns and has returned

      const route = link.desired.routes.byServerName.get('alpha');
      const [cluster] = link.desired.clusters;
      expect(route?.backends).toMatchObject([{ address: ADDRESS, port: 6443 }]);
      write('beta');
      await until('beta is known', () => stateOf('beta') === 'unhealthy');
      expect(link.desired.routes.byServerName.get('alpha')).toBe(route);
      expect(link.desired.clusters[0]).toBe(cluster);
      expect(published.at(-1)?.changes.clusters).toContain(0);

      // `health()` waits only briefly, and the control thread can be slow.
      const askedMs = Date.now();
      await until('it answers', async () => ((await link.health()).atMs ?? 0) >= askedMs);
      const { health } = await link.health();
      expect(health.get(route?.backends[0]?.key ?? '')).toMatchObject({ up: true, lastProbe: { ok: true } });
      await until('a heartbeat carries turn times', () => turnsMs.length > 0);
      expect(link.stalledSinceMs).toBeNull();
    } finally {
      await server.stop();
    }
  });

  test('probes a backend at once when clients cannot reach it', async () => {
    const server = await NetnsServer.start(`qdhcp-${networks.alpha}`, 'hold', ADDRESS, '6443');
    write('alpha');
    await open(config('--health-interval', '1h')).start(handlers);
    await link.settled;
    await server.stop();
    const [backend] = link.desired.backends;
    for (let i = 0; i < 1000; i++) link.dialFailed(backend?.key ?? '');
    await until('it is down', () => stateOf('alpha') === 'unhealthy');
  });

  test('ends by itself when it is stopped, and leaves neither thread nor descriptor', async () => {
    write('alpha');
    await open(config()).start(handlers);
    await link.stop(); // the first thread of a process also creates what Node keeps for later threads
    const before = { threads: threads(), descriptors: openDescriptors() };
    for (let i = 0; i < 3; i++) {
      await open(config()).start(handlers);
      if (i > 0) await link.settled;
      await link.stop();
    }
    // A thread that has exited stays in /proc for a short time.
    await expect.poll(() => ({ threads: threads(), descriptors: openDescriptors() })).toEqual(before);
    expect(log.join()).not.toContain('does not end by itself');
    expect(await link.health()).toMatchObject({ atMs: null });
  });

  test('can be stopped before it has started', async () => {
    open(config());
    await link.stop();
    await within(WAIT_MS, 'nothing', link.start(handlers));
    await link.settled;
  });

  test('logs the problem with the netns directory', async () => {
    await open(config('--netns-dir', join(directory, 'nowhere'))).start(handlers);
    expect(log).toEqual([expect.stringMatching(/^warn: the netns directory .* does not exist/)]);
  });
});

const LISTEN = `import { parentPort } from 'node:worker_threads'; parentPort.on('message', (message) => {`;
const STUCK = `${LISTEN} if (message.kind === 'start') for (;;); });`;

describe('a control thread that', () => {
  test('throws fails the link, and the earlier messages are kept', async () => {
    open(
      config(),
      `${LISTEN}
        parentPort.postMessage({ kind: 'log', level: 'warn', facts: {}, message: 'the last line' });
        throw Object.assign(new Error('a bug'), { code: 'EBUG' });
      });`,
    );
    await link.start(handlers);
    await expect(link.failed).rejects.toMatchObject({
      code: 'ECONTROLTHREAD',
      message: 'control thread exited unexpectedly: a bug',
      cause: { code: 'EBUG' },
    });
    expect(log).toEqual(['warn: the last line']);
  });

  test('rejects a promise without a handler fails the link', async () => {
    open(config(), `${LISTEN} void Promise.reject(new Error('forgotten')); });`);
    void link.start(handlers);
    await expect(link.failed).rejects.toThrow('control thread exited unexpectedly: forgotten');
  });

  test('ends unexpectedly fails the link', async () => {
    open(config(), `${LISTEN} process.exit(); });`);
    void link.start(handlers);
    await expect(link.failed).rejects.toThrow('control thread exited unexpectedly: no error was reported');
  });

  test('cannot be loaded fails the link', async () => {
    open(config(), `import './nothing.js';`);
    await expect(link.failed).rejects.toThrow('control thread exited unexpectedly: ');
  });

  test('is stuck is detected, delays no caller, and is terminated at the end', async () => {
    open(
      config(),
      `${LISTEN}
        if (message.kind !== 'start') return;
        const changes = { complete: true, backends: [{ key: 'k', netns: null }] };
        parentPort.postMessage({ kind: 'published', changes });
        parentPort.postMessage({ kind: 'started' });
        for (;;);
      });`,
      500,
    );
    await link.start(handlers);
    const asked = Array.from({ length: 50 }, () => link.health());
    for (let i = 0; i < 10_000; i++) link.dialFailed(`k${i % 3}`); // kept by key, so nothing accumulates
    expect(await Promise.all(asked)).toEqual(asked.map(() => ({ health: new Map(), atMs: null })));
    await until('it counts as stalled', () => link.stalledSinceMs !== null);
    expect(link.lagMs).toBeGreaterThan(4000);
    expect(log).toEqual([expect.stringContaining('error: control thread does not answer')]);
    await link.stop();
    expect(log.at(-1)).toBe('warn: control thread does not exit in time: terminating it');
  });

  test('is stuck during a stop is terminated after the deadline, which is not a failure', async () => {
    open(config(), STUCK, 500);
    void link.start(handlers);
    await link.stop();
    const failed = await Promise.race([link.failed.catch(() => 'failed'), Promise.resolve('not')]);
    expect(failed).toBe('not');
  });
});
