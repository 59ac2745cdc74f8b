// More connections than --max-connections that never finish their hello, or never close after an alert. Clients from other addresses are
// still served, and no established connection is cut.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus } from '../support/isthmus.ts';
import { until } from '../support/tcp.ts';
import { endedConnections } from './support/ended-connections.ts';
import { Flood, loopbackAddresses } from './support/flood.ts';
import { Tenant } from './support/tenant.ts';
import { Resident, visits } from './support/victims.ts';

/** Above the default of --max-connections, 8192. */
const ATTACKERS = 8300;
/** How long the proxy waits until a client closes after an alert: `lingerMs` in src/app.ts. */
const LINGER_MS = 1000;
/** Shorter than the default. Every attacker reaches it during the test and connects again. */
const HELLO_TIMEOUT_MS = 2000;
const VICTIMS = 100;
/** All clients together take longer than the hello timeout. */
const VICTIM_EVERY_MS = (1.05 * HELLO_TIMEOUT_MS) / VICTIMS;

type Ended = Readonly<Record<string, number>>;
const evicted = (ended: Ended) => ended['evicted-hello'] ?? 0;
/** Counts evicted connections, and newcomers refused because none could be evicted. Both occur only when no slot is free. */
const underPressure = (ended: Ended) => evicted(ended) + (ended['refused-connections'] ?? 0);

let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.start('kube');
});
afterAll(() => tenant.stop());

describe.each([
  { engine: 'native', attacks: 'all' },
  { engine: 'streams', attacks: 'first' },
])('engine $engine', ({ engine, attacks }) => {
  const isthmus = new Isthmus();
  isthmus.logLevel = 'info'; // one line for each attacker would load the test itself
  let flood: Flood | undefined;

  beforeAll(async () => {
    isthmus.writeManifest('kube.yaml', tenant.manifest);
    await isthmus.start('--engine', engine, '--hello-timeout', `${HELLO_TIMEOUT_MS}ms`);
    await isthmus.untilState('kube', 'serving');
  });
  afterAll(() => isthmus.stop());
  afterEach(() => flood?.stop());

  type Attack = Partial<ConstructorParameters<typeof Flood>[0]>;
  const rows: readonly (readonly [string, () => Attack | Promise<Attack>])[] = [
    ['silent connections from one address', () => ({})],
    ['silent connections from 50 addresses', () => ({ sources: loopbackAddresses(50) })],
    [
      'trickled hellos for a name that is served',
      async () => ({ hellos: [await clientHello('kube.magnum-system')], speaks: 'byte-by-byte' }),
    ],
    ['silent connections from as many addresses', () => ({ sources: loopbackAddresses(ATTACKERS) })],
    [
      'connections that got an alert and never close',
      async () => ({
        ...{ hellos: [await clientHello('unknown.example')], speaks: 'on-command', holdsAfterEndMs: 2000 },
      }),
    ],
  ];

  test.each(attacks === 'all' ? rows : rows.slice(0, 1))('%s stop no client', async (_what, attackOf) => {
    const door = { port: isthmus.port, cluster: tenant };
    const resident = await Resident.enter(door);
    const before = await endedConnections(isthmus);
    const attack = await attackOf();
    flood = new Flood({ port: isthmus.port, count: ATTACKERS, sources: loopbackAddresses(1), ...attack });
    await until(
      'the slots are taken',
      async () => underPressure(await endedConnections(isthmus)) > underPressure(before),
    );
    let victimEveryMs = VICTIM_EVERY_MS;
    if (attack.speaks === 'on-command') {
      flood.speak();
      await flood.until('they have spoken', ({ spoken }) => spoken > 0);
      victimEveryMs = LINGER_MS / VICTIMS;
    }

    expect(await visits(door, VICTIMS, victimEveryMs)).toEqual({ served: VICTIMS, failures: {} });

    expect(flood.counts.connects).toBeGreaterThan(ATTACKERS);
    await resident.isAnswered();
    resident.leave();
    expect(evicted(await endedConnections(isthmus)), 'evicted-hello').toBeGreaterThan(evicted(before));
  });
});
