// Several instances of the built program side by side. They share only the API, and each can stop without help from the others.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

let site: PublishSite;
let first: Isthmus;
let second: Isthmus;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha, site.clusters.beta);
  [first, second] = await Promise.all([site.instance('net-1'), site.instance('net-2')]);
});
afterAll(() => site.stop());

const leases = () => site.management.names('coordination.k8s.io/v1', 'Lease');

describe('instances that reach the same clusters', () => {
  test('each publish them', async () => {
    await site.published('alpha-net-1', 'alpha-net-2', 'beta-net-1', 'beta-net-2');
    expect(leases()).toEqual(['isthmus-net-1', 'isthmus-net-2']);
    await expect
      .poll(async () => (await second.untilState('alpha', 'serving')).publication?.readyInstances)
      .toBe(2);
    await expect
      .poll(async () => (await first.status()).kubernetes)
      .toMatchObject({ instances: 2, lease: 'held' });
  });

  test('do not overwrite each other', async () => {
    // Kubeconfigs are written last.
    await until('both kubeconfigs lead here', () =>
      ['alpha', 'beta'].every((name) => site.management.kubeconfig(name).includes(`https://${name}.magnum`)),
    );
    await site.atRest(1500, 'net-1', 'net-2');
  });
});

describe('a restart on the same node', () => {
  test('after kill -9 takes over Lease and slices, and no slice is ever gone', async () => {
    const gaps = site.watch(() => (site.slice('alpha-net-1') === null ? 'gone' : null));
    const notReady = site.watch(() => (site.isReady('alpha-net-1') ? null : 'not ready'));
    const { port } = first;
    const uid = site.slice('alpha-net-1')?.metadata.uid;
    first.signal('SIGKILL');
    await first.ended();
    // Otherwise the kernel could give the same port to the next process.
    const squatter = createServer().listen(port, '127.0.0.1');
    await once(squatter, 'listening');
    first = await site.instance('net-1');
    squatter.close();
    expect(first.port).not.toBe(port);
    await until('the slices lead to the new process', () =>
      ['alpha-net-1', 'beta-net-1'].every((name) =>
        JSON.stringify(site.slice(name)?.ports).includes(String(first.port)),
      ),
    );
    // The slice is the same object, so it was not missing between two observations either.
    expect(site.slice('alpha-net-1')?.metadata.uid).toBe(uid);
    expect(gaps).toEqual([]);
    expect(notReady).toEqual([]);
    expect(await site.ask(first, site.clusters.alpha)).toContain('alpha');
  });
});

describe('two processes with one node name', () => {
  test('end with one process if the operator says so: the older drains by itself and writes nothing more', async () => {
    const older = first;
    const younger = await site.instance('net-1', '--take-over');
    expect(await older.ended()).toBe(10);
    expect(older.log.map(({ msg }) => msg)).toContainEqual(
      expect.stringContaining('superseded: another process holds the Lease'),
    );
    await until('the slice leads to the younger', () =>
      JSON.stringify(site.slice('alpha-net-1')?.ports).includes(String(younger.port)),
    );
    // After the older process logged the new holder, it logged no write.
    const knew = older.log.findIndex(({ msg }) => msg.startsWith('another process'));
    const wrote = older.log.slice(knew).filter(({ msg }) => /^(published|changed|withdrawn)/.test(msg));
    expect(wrote).toEqual([]);
    expect(site.isReady('alpha-net-1')).toBe(true);
    first = younger;
    await expect.poll(async () => (await younger.get('/readyz')).status).toBe(200);
  });
});

describe('a graceful stop', () => {
  test('never leaves a cluster without a ready endpoint, and removes all objects of the instance', async () => {
    const gaps = site.watch(() =>
      ['alpha', 'beta'].every((cluster) => site.isReachable(cluster)) ? null : 'no endpoint is ready',
    );
    second.signal('SIGTERM');
    expect(await second.ended()).toBe(0);
    expect(site.management.slices()).toEqual(['alpha-net-1', 'beta-net-1']);
    expect(leases()).toEqual(['isthmus-net-1']);
    expect(gaps).toEqual([]);
    second = await site.instance('net-2');
    await site.published('alpha-net-2', 'beta-net-2');
  });
});

describe('an instance that dies', () => {
  test('loses its objects once its Lease has expired: the others delete its slices first, then its Lease', async () => {
    second.signal('SIGKILL');
    await second.ended();
    // The duration in a Lease applies to its holder, so this Lease expires after 5 s instead of 30 s.
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: NAMESPACE };
    site.api.store.patch({ ...lease, name: 'isthmus-net-2' }, { spec: { leaseDurationSeconds: 5 } });
    await until('its slices are gone', () => site.management.slices().length === 2, 120_000);
    expect(site.management.slices()).toEqual(['alpha-net-1', 'beta-net-1']);
    await until('its Lease is gone', () => leases().join() === 'isthmus-net-1');
    expect(site.isReady('alpha-net-1')).toBe(true);
  });
});
