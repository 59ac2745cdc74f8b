// A missing right to change or delete: it is named exactly, all other work continues, and the change is made once the right is granted.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { forbidden, rules } from '../../support/kubernetes/access-rules.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

const USER = 'system:isthmus:net-1';
let site: PublishSite;
let isthmus: Isthmus;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
});
afterEach(async () => {
  isthmus.signal('SIGKILL');
  await isthmus.ended();
});
afterAll(() => site.stop());

const grant = () => site.api.access.set(USER, rules());
const start = async (verb: string, resource: string) => {
  isthmus = site.management.instance('net-1');
  site.api.access.set(USER, rules({ verb, resource }));
  await isthmus.start(...FAST);
  return isthmus;
};
const logged = (verb: string, resource: string) =>
  until('the log says so', () =>
    isthmus.log.some(
      ({ level, reason, error }) => level === 'warn' && forbidden(verb, resource).test(`${reason} ${error}`),
    ),
  );

describe('without the right to', () => {
  const SLICE = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: 'magnum-system' };
  const provoked: readonly [verb: string, resource: string, provoke: () => void, done: () => boolean][] = [
    [
      'patch',
      'services',
      () =>
        site.api.store.patch(
          { apiVersion: 'v1', kind: 'Service', namespace: 'magnum-system', name: 'alpha' },
          { spec: { ports: [{ name: 'https', port: 1, protocol: 'TCP' }] } },
        ),
      () => JSON.stringify(site.management.get('v1', 'Service', 'alpha')?.spec).includes('6443'),
    ],
    [
      'patch',
      'endpointslices',
      () => site.api.store.patch({ ...SLICE, name: 'alpha-net-1' }, { ports: [{ name: 'https', port: 1 }] }),
      () => !JSON.stringify(site.slice('alpha-net-1')?.ports).includes('"port":1,'),
    ],
    [
      'get',
      'secrets',
      () => site.management.rotateKubeconfig('alpha', 'https://10.9.9.9:6443'),
      () => site.management.kubeconfig('alpha').includes('https://alpha.magnum-system:6443'),
    ],
    [
      'patch',
      'secrets',
      () => site.management.rotateKubeconfig('alpha', 'https://10.9.9.8:6443'),
      () => site.management.kubeconfig('alpha').includes('https://alpha.magnum-system:6443'),
    ],
    [
      'delete',
      'endpointslices',
      () => site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } }),
      () => site.management.slices().length === 0,
    ],
    [
      'delete',
      'services',
      () => site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: true } }),
      () => true,
    ],
  ];

  test('change or delete an object, the problem names each right, and the change is made once it is granted', async () => {
    isthmus = await site.instance('net-1');
    await site.published('alpha-net-1');
    await until('the kubeconfig leads here', () =>
      site.management.kubeconfig('alpha').includes('magnum-system'),
    );
    for (const [verb, resource, provoke, done] of provoked) {
      site.api.access.set(USER, rules({ verb, resource }));
      provoke();
      if (verb === 'delete' && resource === 'services') {
        // The Service is deleted only when the cluster is no longer proxied.
        await site.published('alpha-net-1');
        site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
      }
      await site.problem(isthmus, forbidden(verb, resource));
      await logged(verb, resource);
      expect((await isthmus.get('/readyz')).status).toBe(200);
      grant();
      await until(`${verb} ${resource} is made up for`, done);
      await expect.poll(async () => isthmus.status()).toMatchObject({ problems: [] });
    }
    await until('the Service is gone', () => site.management.services().length === 0);
    site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: true } });
    await site.published('alpha-net-1');
  });

  test('create Events, only the Events are missing', async () => {
    const running = await start('create', 'events');
    await site.published('alpha-net-1');
    await site.clusters.servers.get('alpha')?.stop();
    await site.problem(running, forbidden('create', 'events'));
    await logged('create', 'events');
    await site.clusters.serve(site.clusters.alpha);
    await site.published('alpha-net-1');
  });

  test('renew the Lease, nothing is published and clients are served', async () => {
    for (const name of site.management.slices()) site.api.store.delete({ ...SLICE, name });
    const running = await start('patch', 'leases');
    await site.problem(running, forbidden('patch', 'leases'));
    await running.untilState('alpha', 'serving');
    expect(await site.ask(running, site.clusters.alpha)).toContain('alpha');
    expect(site.management.slices()).toEqual([]);
    grant();
    await site.published('alpha-net-1');
    await site.untilWell(running);
  });
});
