// A rolling upgrade from magnum-cluster-api-proxy, instance by instance. A reachable cluster always has a ready endpoint, and at the end
// Isthmus owns every object. The old instances are simulated by their own rules, but faster.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { UpstreamInstance } from '../../support/kubernetes/upstream-instance.ts';
import { until } from '../../support/tcp.ts';

const CLUSTERS = ['alpha', 'beta'] as const;
let site: PublishSite;
const old: UpstreamInstance[] = [];
const started: Isthmus[] = [];
let gaps: readonly string[];

beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha, site.clusters.beta);
  for (const node of ['net-1', 'net-2', 'net-3'])
    old.push(new UpstreamInstance(site.api.store, node, CLUSTERS));
  for (const instance of old) instance.start();
  gaps = site.watch(() => {
    const missing = CLUSTERS.filter((cluster) => !site.isReachable(cluster));
    return missing.length === 0 ? null : missing.join();
  });
});
afterAll(async () => {
  for (const instance of old) instance.stop();
  await site.stop();
});

const service = (name: string) => site.management.get('v1', 'Service', name);
const annotation = 'magnum-cluster-api.vexxhost.com/timestamp';
const modes = async () =>
  Promise.all(started.map(async (each) => (await each.status()).kubernetes?.liveness ?? null));

describe('a rolling upgrade', () => {
  test('begins while the old instances run, with slices that they do not delete', async () => {
    old[0]?.stop();
    started.push(await site.instance('net-1'));
    await until('the first is replaced', () =>
      CLUSTERS.every((name) => site.slice(`${name}-net-1`) !== null && site.isReady(`${name}-net-1`)),
    );
    await expect.poll(modes).toEqual(['timestamp']);
    for (const cluster of CLUSTERS) {
      // The old instance's slice has the plain name until it expires. The label identifies the slice of Isthmus.
      const own = () =>
        site.management
          .slices()
          .filter((name) => name.startsWith(`${cluster}-net-1`))
          .map((name) => site.slice(name))
          .find((each) => each?.metadata.labels?.['isthmus.dev/instance']);
      await until('ours is there', () => own() !== undefined);
      const ours = own();
      expect(ours?.metadata.annotations?.[annotation]).toMatch(/\+00:00$/);
      expect(ours?.metadata.labels).toMatchObject({
        'magnum-cluster-api.vexxhost.com/proxied-service': 'true',
        'magnum-cluster-api.vexxhost.com/node': 'net-1',
      });
    }
  });

  test('tags their Services by annotation only, so that labels are not overwritten in turns', async () => {
    const labels = () => JSON.stringify(service('alpha')?.metadata.labels);
    await until('both are tagged', () =>
      CLUSTERS.every((name) => service(name)?.metadata.annotations?.['isthmus.dev/resource-owner'] === name),
    );
    const turns = old[1]?.turns ?? 0;
    const writes = site.writesOf('net-1')['patch services'];
    await until('they have written again and again', () => (old[1]?.turns ?? 0) > turns + 5);
    expect(labels()).toBe('{"magnum-cluster-api.vexxhost.com/proxied-service":"true"}');
    expect(site.writesOf('net-1')['patch services']).toBe(writes);
  });

  test('continues one instance at a time', async () => {
    for (const [i, node] of ['net-2', 'net-3'].entries()) {
      old[i + 1]?.stop();
      started.push(await site.instance(node));
      await until(`${node} is replaced`, () =>
        CLUSTERS.every((cluster) =>
          site.management
            .slices()
            .some(
              (name) =>
                name.startsWith(`${cluster}-${node}`) &&
                site.slice(name)?.metadata.labels?.['isthmus.dev/instance'] === node,
            ),
        ),
      );
    }
    expect(old.every((each) => each.crash === null)).toBe(true);
  });

  test('ends with all objects owned by Isthmus: Services adopted, no timestamp, and no object of the old instances', async () => {
    await until(
      'the old slices are collected, and ours are plain',
      () =>
        site.management.slices().every((name) => {
          const { labels, annotations } = site.slice(name)?.metadata ?? {};
          return labels?.['isthmus.dev/instance'] !== undefined && annotations?.[annotation] === undefined;
        }),
      120_000, // the old instances count as gone after 30 s or more
    );
    expect(site.management.slices()).toHaveLength(6);
    await until('the Services are adopted', () =>
      CLUSTERS.every((name) => service(name)?.metadata.labels?.['isthmus.dev/resource-owner'] === name),
    );
    await expect.poll(modes).toEqual(['lease', 'lease', 'lease']);
  });

  test('has never left a reachable cluster without a ready endpoint', () => {
    expect(gaps).toEqual([]);
  });
});
