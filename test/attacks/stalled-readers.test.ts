// Peers that stop reading while the other side sends without end. The bytes in the proxy's socket queues stay bounded.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus } from '../support/isthmus.ts';
import { until } from '../support/tcp.ts';
import { Flood, loopbackAddresses } from './support/flood.ts';
import { queueBytes } from './support/queue-bytes.ts';
import { TENANT_PORT, Tenant } from './support/tenant.ts';

const CLIENTS = 40;
const MB = 1_000_000;
const MOST_BYTES = 64 * MB;
const BYTES_READ_FIRST = 20 * MB;
const LOOK_EVERY_MS = 250;
/** The queues are at rest after this many equal measurements in a row. */
const LOOKS_AT_REST = 8;
const WITHOUT_END = String(2 ** 40);

let source: Tenant;
let deaf: Tenant;
beforeAll(async () => {
  source = await Tenant.start('source', 'source', WITHOUT_END);
  deaf = await Tenant.start('deaf', 'deaf');
});
afterAll(async () => {
  await source.stop();
  await deaf.stop();
});

describe.each(['native', 'streams'])('engine %s', (engine) => {
  let isthmus: Isthmus;
  let flood: Flood | undefined;

  // Each test gets a new program. A backend that never reads leaves bytes in the proxy after its client has closed.
  beforeEach(async () => {
    isthmus = new Isthmus();
    isthmus.logLevel = 'info';
    for (const { name, manifest } of [source, deaf]) isthmus.writeManifest(`${name}.yaml`, manifest);
    await isthmus.start('--engine', engine);
    for (const { name } of [source, deaf]) await isthmus.untilState(name, 'serving');
  });
  afterEach(async () => {
    await flood?.stop();
    await isthmus.stop();
  });

  /** The queues towards the clients and towards the backend. A socket belongs to the netns that created it. */
  const proxyQueueBytes = async (tenant: Tenant) =>
    (await queueBytes(null, `sport = :${isthmus.port}`)) +
    (await queueBytes(tenant.netns, `dport = :${TENANT_PORT}`));

  /** The value at rest. Flows that still move have more in flight, and that depends on how busy the machine is. */
  const queueBytesAtRest = async (tenant: Tenant) => {
    let last = 0;
    let atRest = 0;
    await until('nothing moves', async () => {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      const now = await proxyQueueBytes(tenant);
      atRest = Math.abs(now - last) < last / 100 ? atRest + 1 : 0;
      last = now;
      return atRest >= LOOKS_AT_REST;
    });
    return last;
  };

  type Attack = Partial<ConstructorParameters<typeof Flood>[0]>;
  test.each<readonly [string, () => Tenant, Attack]>([
    ['clients that never read from a fast backend', () => source, { readsBytes: 0 }],
    ['clients that read 20 MB and then stop', () => source, { readsBytes: BYTES_READ_FIRST }],
    ['clients that send without end to a backend that never reads', () => deaf, { sendsForever: true }],
  ])('%s leave less than 64 MB in the socket queues of the proxy', async (_who, tenantOf, attack) => {
    const tenant = tenantOf();
    flood = new Flood({
      ...{ port: isthmus.port, count: CLIENTS, sources: loopbackAddresses(1), reopensAfterMs: null },
      ...{ hellos: [await clientHello(`${tenant.name}.magnum-system`)], speaks: 'at-once', ...attack },
    });
    await flood.until('the clients have said their hello', ({ spoken }) => spoken === CLIENTS);
    await flood.until(
      'they have read what they want',
      ({ bytesRead }) => bytesRead >= CLIENTS * (attack.readsBytes ?? 0),
    );
    const held = await queueBytesAtRest(tenant);
    expect(flood.counts.open).toBe(CLIENTS);
    // Each client has bytes that wait, which proves that the attack took place.
    expect(held).toBeGreaterThan(CLIENTS * 4096);
    expect(held, `${Math.round(held / MB)} MB in the socket queues`).toBeLessThan(MOST_BYTES);
  });
});
