// Clusters that take every connection they can get. Every other cluster still gets its slots.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus } from '../support/isthmus.ts';
import { until } from '../support/tcp.ts';
import { Flood, loopbackAddresses } from './support/flood.ts';
import { Tenant } from './support/tenant.ts';
import { visits } from './support/victims.ts';

const VICTIMS = 100;
const VICTIM_EVERY_MS = 20;
const MACHINE_ADDRESS = '10.0.0.11';
const LISTENER_PORT = 17_000;
const LISTENER = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Machine
metadata: { name: worker, namespace: magnum-system, labels: { role: worker } }
spec: { clusterName: greedy-a }
status: { addresses: [{ type: InternalIP, address: ${MACHINE_ADDRESS} }] }
---
apiVersion: isthmus.dev/v1alpha1
kind: AdditionalListener
metadata: { name: ssh, namespace: magnum-system, uid: some-uid }
spec: { clusterName: greedy-a, port: ${LISTENER_PORT}, targetPort: 22, selector: { matchLabels: { role: worker } } }
`;

let greedyA: Tenant;
let greedyB: Tenant;
let modest: Tenant;
beforeAll(async () => {
  greedyA = await Tenant.start('greedy-a', 'silent');
  await greedyA.addServer('silent', MACHINE_ADDRESS, 22);
  greedyB = await Tenant.start('greedy-b', 'silent');
  modest = await Tenant.start('modest');
});
afterAll(async () => {
  for (const tenant of [greedyA, greedyB, modest]) await tenant.stop();
});

/**
 * There are more attackers than slots (8192 by default). The engine streams gets fewer of both: its single JavaScript thread would spend
 * all its time on thousands of refused connections that reconnect.
 */
describe.each([
  { engine: 'native', attacks: [0, 1, 2], attackers: 9000, flags: [] },
  { engine: 'streams', attacks: [1], attackers: 2200, flags: ['--max-connections', '2000'] },
])('engine $engine', ({ engine, attacks, attackers, flags }) => {
  let isthmus: Isthmus;
  let floods: Flood[] = [];

  beforeAll(async () => {
    isthmus = new Isthmus();
    isthmus.logLevel = 'info';
    for (const { name, manifest } of [greedyA, greedyB, modest])
      isthmus.writeManifest(`${name}.yaml`, manifest);
    isthmus.writeManifest('listener.yaml', LISTENER);
    await isthmus.start('--engine', engine, ...flags);
    await until('all clusters are served', async () => {
      const { clusters, listeners } = (await isthmus.status()) as StatusWithListeners;
      return [...clusters, ...listeners].every(({ state }) => state === 'serving');
    });
  });
  afterAll(() => isthmus.stop());
  afterEach(async () => {
    for (const flood of floods) await flood.stop();
    floods = [];
    await until('the attackers are gone', async () => (await connections()) === 0);
  });

  interface StatusWithListeners {
    readonly clusters: readonly { readonly state: string }[];
    readonly listeners: readonly { readonly state: string }[];
  }

  /** Holds the connections that it gets, never closes them, and reconnects after each refusal. */
  const take = (port: number, count: number, hello: Buffer | null): void => {
    const hellos = hello === null ? [] : [hello];
    const speaks = hello === null ? 'never' : 'at-once';
    const sources = loopbackAddresses(4);
    floods.push(new Flood({ port, count, sources, hellos, speaks, holdsAfterEndMs: 1000 }));
  };
  const helloFor = (tenant: Tenant) => clientHello(`${tenant.name}.magnum-system`);
  const connections = async () => {
    const { body } = await isthmus.get('/metrics');
    return Number(/^isthmus_connections (\d+)$/m.exec(body)?.[1]);
  };

  const rows: readonly (readonly [string, () => Promise<void>])[] = [
    [
      'while one cluster takes every connection it can get',
      async () => take(isthmus.port, attackers, await helloFor(greedyA)),
    ],
    [
      'while two clusters take every connection they can get',
      async () => {
        for (const tenant of [greedyA, greedyB]) take(isthmus.port, attackers / 2, await helloFor(tenant));
      },
    ],
    [
      'while a cluster and its additional listener take every connection they can get',
      async () => {
        take(isthmus.port, attackers / 2, await helloFor(greedyA));
        take(LISTENER_PORT, attackers / 2, null);
      },
    ],
  ];

  test.each(attacks.map((index) => rows[index]!))('%s, another cluster is served', async (_who, attack) => {
    await attack();
    for (const flood of floods) {
      await flood.until('all attackers have tried', ({ connects }) => connects >= attackers / floods.length);
    }
    expect(await visits({ port: isthmus.port, cluster: modest }, VICTIMS, VICTIM_EVERY_MS)).toEqual({
      served: VICTIMS,
      failures: {},
    });
    // The attackers hold these connections, which proves that the attack took place.
    expect(await connections()).toBeGreaterThan(1000);
  });
});
