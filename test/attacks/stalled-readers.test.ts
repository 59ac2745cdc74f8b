// Peers that stop reading while the other side sends without end. The bytes in the proxy's socket queues stay bounded.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus } from '../support/isthmus.ts';
import { ip } from '../support/network/netns.ts';
import { until, WAIT_MS } from '../support/tcp.ts';
import { Flood, loopbackAddresses } from './support/flood.ts';
import { queueBytes } from './support/queue-bytes.ts';
import { TENANT_PORT, Tenant } from './support/tenant.ts';

const CLIENTS = 40;
const MB = 1_000_000;
const MOST_BYTES = 64 * MB;
const BYTES_READ_FIRST = 20 * MB;
/** Enough for the kernel to widen the buffer of a flow to tens of megabytes. */
const BYTES_READ_ALONE = 100 * MB;
const LOOK_EVERY_MS = 250;
/** The queues are at rest after this many equal measurements in a row. */
const LOOKS_AT_REST = 8;
/** 800 MB in small segments take a minute on a busy machine. */
const PATIENCE_MS = 2 * WAIT_MS;
const WITHOUT_END = String(2 ** 40);

let source: Tenant;
let distant: Tenant;
let deaf: Tenant;
beforeAll(async () => {
  source = await Tenant.start('source', 'source', WITHOUT_END);
  distant = await Tenant.start('distant', 'source', WITHOUT_END);
  // One segment per packet, like a wire without offloads.
  ip('-n', distant.netns, 'link', 'set', 'lo', 'mtu', '1500', 'gso_max_segs', '1');
  deaf = await Tenant.start('deaf', 'deaf');
});
afterAll(async () => {
  await source.stop();
  await distant.stop();
  await deaf.stop();
});

describe.each(['native', 'streams'])('engine %s', (engine) => {
  let isthmus: Isthmus;
  const floods: Flood[] = [];

  // Each test gets a new program. A backend that never reads leaves bytes in the proxy after its client has closed.
  beforeEach(async () => {
    isthmus = new Isthmus();
    isthmus.logLevel = 'info';
    for (const { name, manifest } of [source, distant, deaf]) isthmus.writeManifest(`${name}.yaml`, manifest);
    await isthmus.start('--engine', engine);
    for (const { name } of [source, distant, deaf]) await isthmus.untilState(name, 'serving');
  });
  afterEach(async () => {
    for (const flood of floods.splice(0)) await flood.stop();
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
  const attackBy = async (count: number, tenant: Tenant, attack: Attack) => {
    const flood = new Flood({
      ...{ port: isthmus.port, count, sources: loopbackAddresses(1), reopensAfterMs: null },
      ...{ hellos: [await clientHello(`${tenant.name}.magnum-system`)], speaks: 'at-once', ...attack },
    });
    floods.push(flood);
    await flood.until('the clients have said their hello', ({ spoken }) => spoken === count);
    await flood.until(
      'they have read what they want',
      ({ bytesRead }) => bytesRead >= count * (attack.readsBytes ?? 0),
      PATIENCE_MS,
    );
  };

  /** Each client has bytes that wait, which proves that the attack took place. */
  const expectBounded = async (tenant: Tenant) => {
    const held = await queueBytesAtRest(tenant);
    expect(floods.reduce((sum, { counts }) => sum + counts.open, 0)).toBe(CLIENTS);
    expect(held).toBeGreaterThan(CLIENTS * 4096);
    expect(held, `${Math.round(held / MB)} MB in the socket queues`).toBeLessThan(MOST_BYTES);
  };

  test.each<readonly [string, () => Tenant, Attack]>([
    ['clients that never read from a fast backend', () => source, { readsBytes: 0 }],
    ['clients that read 20 MB and then stop', () => source, { readsBytes: BYTES_READ_FIRST }],
    [
      'clients that read 20 MB in small segments and then stop',
      () => distant,
      { readsBytes: BYTES_READ_FIRST },
    ],
    ['clients that send without end to a backend that never reads', () => deaf, { sendsForever: true }],
  ])('%s leave less than 64 MB in the socket queues of the proxy', async (_who, tenantOf, attack) => {
    await attackBy(CLIENTS, tenantOf(), attack);
    await expectBounded(tenantOf());
  });

  test.each<readonly [string, () => Tenant]>([
    ['large segments', () => source],
    ['segments of MTU size', () => distant],
  ])(
    'a client that fills its buffers alone, and others that follow, leave less than 64 MB in %s',
    async (_segments, tenantOf) => {
      await attackBy(1, tenantOf(), { readsBytes: BYTES_READ_ALONE });
      await queueBytesAtRest(tenantOf());
      await attackBy(CLIENTS - 1, tenantOf(), { readsBytes: BYTES_READ_FIRST });
      await expectBounded(tenantOf());
    },
  );
});
