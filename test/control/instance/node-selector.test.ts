// The node selector on the built program, with the commands of docs/how-to/node-selector.md. Labels of the Node change at run time.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { Management } from '../../support/kubernetes/management.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS, TwoClusters } from '../../support/two-clusters.ts';

const DOCS = readFileSync(new URL('../../../docs/how-to/node-selector.md', import.meta.url), 'utf8');
const [, SELECTOR = ''] = /isthmus run --node-selector '(\[.*\])'/.exec(DOCS) ?? [];
const [, LABEL = '', VALUE = ''] = /kubectl label node net-1 (\S+)=(\S+)/.exec(DOCS) ?? [];
const FAST = ['--advertise-address', '192.0.2.1', '--health-interval', '200ms', '--propagation-wait', '1s'];
const NODE = { apiVersion: 'v1', kind: 'Node', name: 'net-1' } as const;

const directory = mkdtempSync(join(tmpdir(), 'isthmus-node-selector-'));
const clusters = new TwoClusters();
let management: Management;
let isthmus: Isthmus;

beforeAll(async () => {
  await clusters.start();
  management = await Management.start();
  management.addCluster({ ...clusters.alpha, address: ADDRESS });
  management.addCluster({ ...clusters.beta, address: ADDRESS });
});
afterAll(async () => {
  await management.stop();
  await clusters.stop();
  rmSync(directory, { recursive: true, force: true });
});

const label = (labels: Record<string, string | null>) =>
  management.api.store.patch(NODE, { metadata: { labels } });
const takesPart = async () => (await isthmus.status()).kubernetes?.takesPart;
const stateOf = (name: string): string => {
  const slice = management.get('discovery.k8s.io/v1', 'EndpointSlice', name);
  if (slice === null) return 'gone';
  return JSON.stringify(slice.endpoints).includes('"terminating":true') ? 'terminating' : 'ready';
};
const states = (): string => management.slices().map(stateOf).join();
const answers = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const { certificate } = clusters.alpha;
    const options = {
      host: '127.0.0.1',
      port: isthmus.port,
      servername: 'alpha.magnum-system',
      agent: false,
    };
    get({ ...options, ca: certificate.cert }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on('error', reject);
  });

async function ended(): Promise<void> {
  isthmus.signal('SIGTERM');
  expect(await isthmus.ended()).toBe(0);
}

async function restarted(rights: object | null, ...flags: readonly string[]): Promise<void> {
  await ended();
  await started(rights, ...flags);
}

async function started(rights: object | null, ...flags: readonly string[]): Promise<void> {
  isthmus = management.instance('net-1', { nodeSelector: rights });
  await isthmus.start(...FAST, ...flags);
}

describe('an instance with a node selector', () => {
  test('does not take part while its Node is not selected, reports why, and still serves clients that connect', async () => {
    management.api.store.create({ ...NODE, metadata: { name: 'net-1', labels: { 'node-role': 'compute' } } });
    isthmus = management.instance('net-1', { nodeSelector: {} });
    await isthmus.start(...FAST, '--node-selector', SELECTOR);
    await isthmus.untilState('alpha', 'serving');
    await until('the Lease is there', () => management.names('coordination.k8s.io/v1', 'Lease').length === 1);
    // The next heartbeat of the control thread reports this.
    await expect
      .poll(async () => (await isthmus.status()).kubernetes)
      .toMatchObject({
        takesPart: false,
        takesPartBecause: 'Node net-1 is not selected: node-role In network, edge is not met',
      });
    await expect
      .poll(async () => (await isthmus.get('/metrics')).body)
      .toContain('\nisthmus_kubernetes_takes_part 0\n');
    expect((await isthmus.status()).problems).toEqual([]);
    expect([management.slices(), management.services()]).toEqual([[], []]);
    expect(await answers()).toBe(200);
  });

  test('takes part as soon as its Node is selected', async () => {
    label({ 'node-role': 'network' });
    await until('both are published', () => states() === 'ready,ready');
    await expect.poll(takesPart).toBe(true);
    await until('it is logged', () =>
      isthmus.log.some(({ msg }) => msg === 'this instance takes part: it publishes and gets clients'),
    );
  });

  test('withdraws step by step when its Node is no longer selected, fails no client, and can take part again', async () => {
    const seen = new Map<string, Set<string>>(management.slices().map((name) => [name, new Set()]));
    const end = management.api.store.subscribe(() => {
      for (const [name, of] of seen) of.add(stateOf(name));
    });
    const said: number[] = [];
    let going = true;
    const client = (async () => {
      while (going) said.push(await answers());
    })();
    label({ [LABEL]: VALUE });
    await until('the slices are gone', () => states() === '');
    end();
    const soFar = said.length;
    await until('one more is served', () => said.length > soFar + 1);
    going = false;
    await client;
    expect([...seen.values()].map((of) => [...of])).toEqual([
      ['ready', 'terminating', 'gone'],
      ['ready', 'terminating', 'gone'],
    ]);
    expect(new Set(said)).toEqual(new Set([200]));
    expect(management.services()).toEqual(['alpha', 'beta']);
    await expect.poll(takesPart).toBe(false);
    label({ [LABEL]: null });
    await until('both are published again', () => states() === 'ready,ready');
  });

  test('ignores other changes of its Node', async () => {
    const writes = () => management.requestsOf('net-1')['patch endpointslices'] ?? 0;
    const before = writes();
    label({ unrelated: 'x' });
    management.api.store.patch(NODE, { metadata: { annotations: { heartbeat: '1' } } });
    management.deleteCluster('beta');
    await until('beta is gone', () => management.slices().join() === 'alpha-net-1');
    expect(writes()).toBe(before);
  });

  test('reads the selector from a file, and takes part with a warning when the Node does not exist', async () => {
    const file = join(directory, 'node-selector.json');
    writeFileSync(file, SELECTOR);
    management.api.store.delete(NODE);
    await restarted({}, '--node-selector', `@${file}`);
    await until('alpha is published', () => states() === 'ready');
    await expect
      .poll(async () => (await isthmus.status()).problems)
      .toEqual([{ origin: '--node-selector', reason: expect.stringContaining('there is no Node net-1') }]);
    await until('it is logged', () => isthmus.log.some(({ origin }) => origin === '--node-selector'));
  });

  test('does not take part with --unknown-node stay-out when it may not read its Node', async () => {
    await restarted(null, '--node-selector', SELECTOR, '--unknown-node', 'stay-out');
    await expect.poll(takesPart).toBe(false);
    await expect
      .poll(async () => (await isthmus.status()).problems)
      .toEqual([
        { origin: '--node-selector', reason: expect.stringMatching(/cannot be read .*does not take part/) },
      ]);
    expect(states()).toBe('');
    await expect.poll(async () => (await isthmus.status()).kubernetes?.staleSince).toBeNull();
  });

  test('does not read its Node without a selector', async () => {
    const asked = () => management.requestsOf('net-1')['list nodes'] ?? 0;
    await ended(); // the previous process may still ask before its end
    const before = asked();
    await started(null, '--node-selector', '[]');
    await until('alpha is published', () => states() === 'ready');
    await expect.poll(takesPart).toBe(true);
    expect(asked()).toBe(before);
  });
});
