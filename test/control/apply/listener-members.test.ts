// The members of a TCP listener on the built program, and what an operator sees of them. Clients are spread over two machines in a real
// namespace, and one machine dies. A port range is full, and a port stays the same after the process is killed.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { ip } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { readAll, until } from '../../support/tcp.ts';

/** The number of bytes that a machine sends identifies it. */
const MACHINES = {
  blue: { address: '10.0.0.11', bytes: 1 },
  green: { address: '10.0.0.12', bytes: 2 },
} as const;
const TARGET_PORT = 6379;
const RANGE = { from: 24_000, to: 24_001 };
const SPEC = {
  clusterName: 'alpha',
  port: 6379,
  selector: { matchLabels: { app: 'redis' } },
  rolloutLabels: { generation: 'blue' },
};
const SERVICE = 'alpha-redis';
const SLICE = 'alpha-redis-net-1';
const FLAGS = ['--ignored-selector-labels=generation', `--listener-ports=${RANGE.from}-${RANGE.to}`];

let site: PublishSite;
let isthmus: Isthmus;
const servers: NetnsServer[] = [];

const portOf = (slice = SLICE): number | undefined =>
  (site.slice(slice)?.ports as { port: number }[] | undefined)?.[0]?.port;

/** The machine that answers on that port, or the reason why none does. */
async function ask(port = portOf()): Promise<string> {
  const socket = connect({ port: port!, host: '127.0.0.1', allowHalfOpen: true });
  const failed = once(socket, 'error').then(([error]) => (error as NodeJS.ErrnoException).code ?? 'error');
  const said = readAll(socket).then(({ bytes, reset }) => (reset ? 'reset' : String(bytes.length)));
  const answer = await Promise.race([said, failed]);
  socket.destroy();
  const known = Object.entries(MACHINES).find(([, { bytes }]) => String(bytes) === answer);
  return known?.[0] ?? answer;
}
const listenerView = async (name = 'redis') =>
  (await isthmus.status()).listeners.find((listener) => listener.name === name);
const condition = (type: string, listener = 'redis') => site.management.conditions(listener)[type];

beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
  const { netns } = site.clusters.alpha;
  for (const [name, { address, bytes }] of Object.entries(MACHINES)) {
    ip('-n', netns, 'address', 'add', `${address}/32`, 'dev', 'lo');
    servers.push(await NetnsServer.start(netns, 'source', address, String(TARGET_PORT), String(bytes)));
    site.management.addMachine(name, 'alpha', address, { app: 'redis', generation: name });
  }
  isthmus = await site.instance('net-1', ...FLAGS);
});
afterAll(async () => {
  for (const server of servers) await server.stop();
  await site.stop();
});

describe('a TCP listener', () => {
  test('has its own port, Service and slice, and leads to the machine that it selects', async () => {
    site.management.addListener('redis', SPEC);
    await site.published(SLICE);
    expect(portOf()).toBe(RANGE.from);
    expect(site.management.get('v1', 'Service', SERVICE)).toMatchObject({
      spec: { ports: [{ port: 6379 }] },
    });
    expect(await ask()).toBe('blue');
    // Green has been probed too.
    await expect
      .poll(() => listenerView())
      .toMatchObject({
        state: 'serving',
        listenPort: RANGE.from,
        counts: { members: 2, ready: 1, notReady: 0, ignored: 1 },
        members: [
          { machine: 'blue', state: 'Ready', lastProbe: { ok: true } },
          { machine: 'green', state: 'Ignored', up: true, lastProbe: { ok: true } },
        ],
      });
    expect((await isthmus.get('/explain/alpha')).body).toContain(
      'redis is serving (1 of 1 members ready, 1 ignored): TCP 6379 on port 24000 here',
    );
    const record = await isthmus.record(({ pool }) => pool === `${NAMESPACE}/redis`);
    expect(record).toMatchObject({ cluster: 'alpha', reason: 'finished', backend: '10.0.0.11:6379' });
    const { bytesFromClient, bytesFromBackend } = record;
    const { traffic, clusters } = await isthmus.status();
    expect(await listenerView()).toMatchObject({
      traffic: { ended: 1, unserved: 0, bytesFromClient, bytesFromBackend },
    });
    expect(clusters[0]).toMatchObject({ name: 'alpha', traffic: { ended: 0 } });
    expect(traffic).toMatchObject({ ended: 1, bytesFromBackend });
  });

  test('spreads connections in turn over both machines of the rollout', async () => {
    site.management.labelMachine('green', { generation: 'blue' });
    await until('both are ready', async () => (await listenerView())?.counts.ready === 2);
    const answers: string[] = [];
    const ended = () => isthmus.log.filter(({ pool }) => pool === `${NAMESPACE}/redis`).length;
    for (let i = 0; i < 8; i += 1) {
      const before = ended();
      answers.push(await ask());
      // Until its end the connection counts for its machine.
      await until('its end is reported', () => ended() > before);
    }
    expect(answers.sort()).toEqual([...Array(4).fill('blue'), ...Array(4).fill('green')]);
  });

  test('loses no client when a machine dies: it dials the next one, and the status soon shows the death', async () => {
    await servers[1]!.stop();
    for (let i = 0; i < 6; i += 1) expect(await ask()).toBe('blue');
    await until('it is not ready', async () => (await listenerView())?.counts.notReady === 1);
    expect((await isthmus.get('/metrics')).body).toContain(
      `isthmus_listener_members{namespace="${NAMESPACE}",listener="redis",state="NotReady"} 1`,
    );
    expect(site.isReady(SLICE)).toBe(true);
  });

  test('that finds no free port waits with a reason, and gets a port as soon as one is free', async () => {
    site.management.addListener('second', { ...SPEC, port: 7000, targetPort: TARGET_PORT });
    await site.published('alpha-second-net-1');
    expect(portOf('alpha-second-net-1')).toBe(RANGE.to);
    site.management.addListener('third', { ...SPEC, port: 7001, targetPort: TARGET_PORT });
    const sought = /no port of --listener-ports 24000-24001 is free/; // before that: not open yet
    await until('it says so', async () => sought.test((await listenerView('third'))?.reason ?? ''));
    expect(await listenerView('third')).toMatchObject({ listenPort: null });
    await until('so does the object', () => condition('Ready', 'third')?.reason === 'Pending');
    expect(site.slice('alpha-third-net-1')).toBeNull();
    site.management.deleteListener('redis');
    await site.published('alpha-third-net-1');
    expect(portOf('alpha-third-net-1')).toBe(RANGE.from);
    await until('the first is gone', () => !site.management.services().includes(SERVICE));
  });

  test('gets its port back after the process was killed, even if the port is not the first of the range', async () => {
    site.management.deleteListener('third');
    await until('it is gone', () => !site.management.services().includes('alpha-third'));
    isthmus.signal('SIGKILL');
    await isthmus.ended();
    isthmus = await site.instance('net-1', ...FLAGS);
    await until('it serves', async () => (await listenerView('second'))?.state === 'serving');
    expect((await listenerView('second'))?.listenPort).toBe(RANGE.to);
    expect(portOf('alpha-second-net-1')).toBe(RANGE.to);
    expect(await ask(RANGE.to)).toBe('blue');
  });
});
