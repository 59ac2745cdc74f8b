// Two instances reach one cluster: kube-proxy sends clients to both, and a crash or a stop of one has only the unavoidable effects.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Loop } from './client.ts';
import { Site } from './site.ts';

let site: Site;
let kubeconfig: string;
let loop: Loop;

beforeAll(async () => {
  site = await Site.start({
    nodes: [
      { name: 'net-1', privileges: 'pod' },
      { name: 'net-2', privileges: 'systemd' },
      { name: 'net-3', privileges: 'pod' },
    ],
  });
  const alpha = await site.addWorkload({ name: 'alpha', real: true }, ['net-1', 'net-2']);
  await site.management.addCluster(alpha);
  for (const each of site.instances.values()) each.start();
  kubeconfig = await site.proxiedKubeconfig('alpha');
  await bothAreUsed();
});
afterAll(async () => {
  await loop?.stop();
  await site?.stop();
});

async function bothAreUsed(): Promise<void> {
  await site.until('clients are sent to both', () =>
    ['10.250.0.21', '10.250.0.22'].every((address) => site.client().leadsTo(address)),
  );
}
const sliceNames = async () => (await site.management.slices('alpha')).map(({ name }) => name).sort();

test('clients are sent to both instances, and never to the instance that cannot reach the cluster', async () => {
  expect(await sliceNames()).toEqual(['alpha-net-1', 'alpha-net-2']);
  loop = site.client().loop(kubeconfig, 50);
  await loop.more(100);
  expect(loop.failures).toEqual([]);
  await site.until('both have served', () =>
    ['net-1', 'net-2'].every((node) => site.instance(node).served('alpha') > 10),
  );
  expect(site.instance('net-3').served('alpha')).toBe(0);
});

test('after a crash of one instance its slice is deleted, and until then connections to the other succeed', async () => {
  const before = loop.tries.length;
  await site.instance('net-1').stop('SIGKILL');
  const collected = await site.until(
    'the slice of the dead one is collected',
    async () => (await sliceNames()).join() === 'alpha-net-2',
  );
  await site.until('its rule is gone', () => !site.client().leadsTo('10.250.0.21'));
  const meantime = loop.tries.slice(before);
  const failed = meantime.filter(({ ok }) => !ok);
  console.log(
    `killed with -9: slice collected after ${collected.toFixed(1)} s; ${failed.length} of ${meantime.length} new ` +
      `connections failed until then (${[...new Set(failed.map(({ error }) => error))].join(', ')})`,
  );
  // kube-proxy picks one of two at random.
  expect(failed.length / meantime.length).toBeLessThan(0.7);
  await site.until('its Lease is gone, too', async () => {
    const leases = await site.management.names('leases');
    return !leases.includes('isthmus-net-1');
  });
  const calm = loop.tries.length;
  await loop.more(60);
  // The first few connections had already started.
  expect(loop.tries.slice(calm + 10).filter(({ ok }) => !ok)).toEqual([]);
});

test('during an orderly stop of one instance no new connection fails, and open connections finish', async () => {
  site.instance('net-1').start();
  await site.until('it is back', async () => (await sliceNames()).length === 2);
  await bothAreUsed();
  const held = site.client().hold(kubeconfig, 12);
  await held.more(24);
  const before = loop.tries.length;
  const { process } = site.instance('net-1');
  const open = await site.instance('net-1').ask('status');
  process.signal('SIGTERM');
  await site.until('its slice is gone', async () => (await sliceNames()).join() === 'alpha-net-2');
  await held.more(36);
  await held.finish();
  await process.ended();
  await loop.more(40);
  const meantime = loop.tries.slice(before);
  console.log(
    `stopped with SIGTERM under ${meantime.length} new connections: ${meantime.filter(({ ok }) => !ok).length} failed; ` +
      `${held.tries.length} questions on 12 open ones: ${held.failures.length} failed`,
  );
  expect(open).toContain('alpha');
  expect(held.failures).toEqual([]);
  expect(meantime.filter(({ ok }) => !ok)).toEqual([]);
  expect(process.exitCode).toBe(0);
  expect(await site.management.names('leases')).not.toContain('isthmus-net-1');
});
