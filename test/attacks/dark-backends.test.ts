// Backends go dark while many clients wait for them. Clients of a healthy cluster are served. Each waiting client gets `internal_error` as
// soon as the health verdict on its backend is down.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus } from '../support/isthmus.ts';
import { until, WAIT_MS } from '../support/tcp.ts';
import { DarkTenants } from './support/dark-tenants.ts';
import { Flood, loopbackAddresses } from './support/flood.ts';
import { Tenant } from './support/tenant.ts';
import { visits } from './support/victims.ts';

const INTERNAL_ERROR = 'alert-80';
const HEALTHY_CLIENTS = 16;
const dark = new DarkTenants(100);
let healthy: Tenant;
let isthmus: Isthmus;
let flood: Flood | undefined;

beforeAll(async () => {
  await dark.start();
  healthy = await Tenant.start('healthy');
});
afterEach(async () => {
  await flood?.stop();
  dark.darken(0);
  await isthmus.stop();
});
afterAll(async () => {
  await healthy.stop();
  await dark.stop();
});

async function start(count: number, ...flags: string[]): Promise<void> {
  isthmus = new Isthmus();
  isthmus.logLevel = 'info';
  isthmus.writeManifest('healthy.yaml', healthy.manifest);
  const { tenants } = dark;
  for (const { name, manifest } of tenants.slice(0, count)) isthmus.writeManifest(`${name}.yaml`, manifest);
  await isthmus.start(...flags);
  await until('all clusters are served', async () =>
    (await isthmus.status()).clusters.every(({ state }) => state === 'serving'),
  );
}

/** Opens the connections, darkens the backends, then sends the hellos. Every dial meets a dark backend that still counts as healthy. */
async function waitForDarkBackends(count: number, clientsEach: number): Promise<Flood> {
  const hellos = await Promise.all(
    dark.tenants.slice(0, count).map(({ name }) => clientHello(`${name}.magnum-system`)),
  );
  const clients = count * clientsEach;
  const waiting = new Flood({
    port: isthmus.port,
    count: clients,
    sources: loopbackAddresses(count),
    hellos,
    speaks: 'on-command',
    reopensAfterMs: null,
  });
  flood = waiting;
  await waiting.until('the clients are connected', ({ open }) => open === clients);
  dark.darken(count);
  waiting.speak();
  await waiting.until('the hellos are sent', ({ spoken }) => spoken === clients);
  return waiting;
}

/** No connection was closed without an alert or got another answer. */
async function areTold(waiting: Flood, clients: number, withinMs: number): Promise<void> {
  await waiting.until(
    'every waiting client has its alert',
    ({ answers }) => answers[INTERNAL_ERROR] === clients,
    withinMs,
  );
  expect(waiting.counts.answers).toEqual({ [INTERNAL_ERROR]: clients });
}

describe.each([
  { engine: 'native', backends: 4, clientsEach: 256 },
  { engine: 'native', backends: 20, clientsEach: 256 },
  // --max-connections is 8192; 100 times 256 clients would exceed it.
  { engine: 'native', backends: 100, clientsEach: 80 },
  { engine: 'streams', backends: 4, clientsEach: 256 },
])('engine $engine, $backends backends go dark with $clientsEach waiting clients each', (row) => {
  test('all clients of a healthy cluster are served', async () => {
    await start(row.backends, '--engine', row.engine);
    const waiting = await waitForDarkBackends(row.backends, row.clientsEach);
    const door = { port: isthmus.port, cluster: healthy };
    const atOnce = await visits(door, HEALTHY_CLIENTS, 0);
    const inTurn = await visits(door, HEALTHY_CLIENTS, 250);
    expect({ atOnce, inTurn }).toEqual({
      atOnce: { served: HEALTHY_CLIENTS, failures: {} },
      inTurn: { served: HEALTHY_CLIENTS, failures: {} },
    });
    await areTold(waiting, row.backends * row.clientsEach, WAIT_MS);
  });
});

test.each(['native', 'streams'])(
  'with the engine %s a waiting client gets internal_error once its backend is found down',
  async (engine) => {
    // The connect timeout is too long to end the dial within the wait below.
    await start(4, '--engine', engine, '--connect-timeout', '60s');
    const waiting = await waitForDarkBackends(4, 256);
    await isthmus.untilState('dark-0', 'unhealthy');
    await areTold(waiting, 4 * 256, 20_000);
  },
);
