// A missing right: status and log name the exact verb and resource, all other work continues, and the change is made as soon as the right
// is granted.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { forbidden, rules } from '../../support/kubernetes/access-rules.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

const USER = 'system:isthmus:net-1';
let site: PublishSite;
beforeAll(async () => {
  site = await PublishSite.start();
});
afterAll(() => site.stop());

describe('with the rights of the chart and no other', () => {
  test('everything is published, withdrawn, and cleaned up', async () => {
    site.add(site.clusters.alpha);
    const isthmus = await site.instance('net-1');
    await site.published('alpha-net-1');
    await until('the kubeconfig leads here', () =>
      site.management.kubeconfig('alpha').includes('magnum-system'),
    );
    site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
    await until('all of it is gone', () => site.management.services().length === 0);
    expect((await isthmus.status()).problems).toEqual([]);
    isthmus.signal('SIGTERM');
    expect(await isthmus.ended()).toBe(0);
    expect(site.management.names('coordination.k8s.io/v1', 'Lease')).toEqual([]);
    site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: true } });
  });
});

describe('without the right to', () => {
  let isthmus: Isthmus | null = null;
  const start = async (verb: string, resource: string) => {
    isthmus = site.management.instance('net-1');
    site.api.access.set(USER, rules({ verb, resource }));
    await isthmus.start(...FAST);
    return isthmus;
  };
  const grant = () => site.api.access.set(USER, rules());
  const end = async () => {
    grant();
    isthmus?.signal('SIGKILL');
    await isthmus?.ended();
  };
  const logged = (verb: string, resource: string) =>
    until('the log says so', () =>
      (isthmus as Isthmus).log.some(
        ({ level, reason, error }) =>
          level === 'warn' && forbidden(verb, resource).test(`${reason} ${error}`),
      ),
    );

  test.each([
    ['list', 'services'],
    ['watch', 'services'],
    ['list', 'endpointslices'],
    ['watch', 'endpointslices'],
    ['list', 'leases'],
    ['watch', 'leases'],
    ['list', 'secrets'],
    ['watch', 'secrets'],
    ['list', 'openstackclusters'],
    ['watch', 'openstackclusters'],
    ['get', 'leases'],
    ['create', 'endpointslices'],
    ['create', 'services'],
    ['create', 'leases'],
  ])('%s %s, the problem names it and clients are served', async (verb, resource) => {
    for (const name of site.management.services())
      site.api.store.delete({ apiVersion: 'v1', kind: 'Service', namespace: 'magnum-system', name });
    for (const name of site.management.slices())
      site.api.store.delete({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        namespace: 'magnum-system',
        name,
      });
    for (const name of site.management.names('coordination.k8s.io/v1', 'Lease'))
      site.api.store.delete({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        namespace: 'magnum-system',
        name,
      });
    try {
      const running = await start(verb, resource);
      await site.problem(running, forbidden(verb, resource));
      await logged(verb, resource);
      // An instance is ready when it has read everything once and may publish. Secrets are only for kubeconfigs.
      const isRead = verb !== 'list' || resource === 'secrets';
      const isAble = isRead && !['services', 'endpointslices', 'leases'].includes(resource);
      await expect.poll(async () => (await running.get('/readyz')).status).toBe(isAble ? 200 : 503);
      if (resource !== 'openstackclusters') {
        // Clients that connect are served, whatever cannot be written.
        await running.untilState('alpha', 'serving');
        expect(await site.ask(running, site.clusters.alpha)).toContain('alpha');
      }
      grant();
      await site.published('alpha-net-1');
      await site.untilWell(running);
    } finally {
      await end();
    }
  });
});
