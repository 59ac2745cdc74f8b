// Faulty clusters and one valid cluster: renamed, moved to another network, duplicated, malformed, or all deleted at once. The
// valid cluster is never affected.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS } from '../../support/two-clusters.ts';

const KIND = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1', kind: 'OpenStackCluster' } as const;
let site: PublishSite;
let isthmus: Isthmus;
let versionOfAlpha: string | undefined;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
  isthmus = await site.instance('net-1');
  await site.published('alpha-net-1');
  versionOfAlpha = site.slice('alpha-net-1')?.metadata.resourceVersion;
});
afterAll(() => site.stop());

const alphaIsUntouched = async () => {
  expect(site.slice('alpha-net-1')?.metadata.resourceVersion).toBe(versionOfAlpha);
  expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
};
const odd = (name: string, changes: { labels?: object; spec?: object; status?: object }) =>
  site.api.store.create({
    ...KIND,
    metadata: { name, namespace: NAMESPACE, labels: changes.labels ?? {} },
    spec: {
      identityRef: { name: 'clouds', cloudName: 'x' },
      disableAPIServerFloatingIP: true,
      ...changes.spec,
    },
    ...(changes.status === undefined ? {} : { status: changes.status }),
  });
const remove = (name: string) => site.api.store.delete({ ...KIND, namespace: NAMESPACE, name });
const stateOf = async (origin: string) =>
  (await isthmus.status()).clusters.find((each) => JSON.stringify(each).includes(origin));
const LABEL = 'cluster.x-k8s.io/cluster-name';

describe('one faulty OpenStackCluster', () => {
  test.each<[string, string, Parameters<typeof odd>[1], string]>([
    ['without its label', 'no-label', {}, 'invalid'],
    ['with a name that no Service can have', 'dotted', { labels: { [LABEL]: 'a.b' } }, 'invalid'],
    ['without a status', 'no-status', { labels: { [LABEL]: 'no-status' } }, 'pending'],
    [
      'with 10 000 characters where an id belongs',
      'long-id',
      { labels: { [LABEL]: 'long-id' }, status: { network: { id: 'x'.repeat(10_000), name: 'x' } } },
      'invalid',
    ],
    [
      'with 10 000 characters where an address belongs',
      'long-address',
      {
        labels: { [LABEL]: 'long-address' },
        spec: { apiServerFixedIP: '1'.repeat(10_000) },
        status: { network: { id: 'b1f1c1f8-1111-4222-8333-444455556666', name: 'x' } },
      },
      'invalid',
    ],
    [
      'with a network that does not exist here',
      'no-netns',
      {
        labels: { [LABEL]: 'no-netns' },
        spec: { apiServerFixedIP: '10.0.0.9' },
        status: { network: { id: 'b1f1c1f8-1111-4222-8333-444455556666', name: 'x' } },
      },
      'no-netns',
    ],
  ])('%s has a state with a reason, and affects no other cluster', async (_title, name, changes, state) => {
    odd(name, changes);
    await expect.poll(async () => (await stateOf(name))?.state).toBe(state);
    const status = await stateOf(name);
    expect(status?.reason.length).toBeGreaterThan(10);
    expect(status?.reason.length).toBeLessThan(1000);
    await alphaIsUntouched();
    remove(name);
  });

  test('that claims the name of another cluster does not get it', async () => {
    odd('alpha-usurper', {
      labels: { [LABEL]: 'alpha' },
      spec: { apiServerFixedIP: '10.9.9.9' },
      status: { network: { id: site.clusters.beta.networkId, name: 'x' } },
    });
    await expect.poll(async () => (await stateOf('alpha-usurper'))?.state).toBe('invalid');
    expect((await stateOf('alpha-usurper'))?.reason).toContain('belongs to magnum-system/alpha-abcde');
    await alphaIsUntouched();
    remove('alpha-usurper');
  });
});

describe('a cluster', () => {
  test('that is renamed is published under its new name, and no object of the old name remains', async () => {
    site.add(site.clusters.beta);
    await site.published('beta-net-1');
    site.management.patchCluster('beta', { metadata: { labels: { [LABEL]: 'gamma' } } });
    await site.published('gamma-net-1');
    await until('the old name is gone', () => site.management.services().join() === 'alpha,gamma');
    expect(site.management.slices()).toEqual(['alpha-net-1', 'gamma-net-1']);
    site.management.patchCluster('beta', { metadata: { labels: { [LABEL]: 'beta' } } });
    await site.published('beta-net-1');
    await until('the other name is gone', () => site.management.services().join() === 'alpha,beta');
    await alphaIsUntouched();
  });

  test('that is recreated with another network follows that network', async () => {
    await site.published('beta-net-1');
    site.management.deleteCluster('beta');
    site.api.store.delete({
      apiVersion: 'v1',
      kind: 'Secret',
      namespace: NAMESPACE,
      name: 'beta-kubeconfig',
    });
    site.management.addCluster({
      name: 'beta',
      networkId: 'b1f1c1f8-1111-4222-8333-444455556666',
      address: ADDRESS,
    });
    await isthmus.untilState('beta', 'no-netns');
    await until('the slice is gone', () => site.slice('beta-net-1') === null);
    site.management.patchStatus('beta', { network: { id: site.clusters.beta.networkId } });
    await site.published('beta-net-1');
    const owners = () => site.management.get('v1', 'Service', 'beta')?.metadata.ownerReferences;
    const { uid } = site.api.store.get({ ...KIND, namespace: NAMESPACE, name: 'beta-abcde' })?.metadata ?? {};
    await expect.poll(owners).toMatchObject([{ uid }]);
    await alphaIsUntouched();
  });

  test('gets its objects back when others delete or edit them', async () => {
    const service = { apiVersion: 'v1', kind: 'Service', namespace: NAMESPACE, name: 'beta' };
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      namespace: NAMESPACE,
      name: 'beta-net-1',
    };
    for (let i = 0; i < 3; i += 1) {
      site.api.store.delete(service);
      await until('the Service is back', () => site.management.services().includes('beta'));
      site.api.store.delete(slice);
      await site.published('beta-net-1');
      site.api.store.patch(slice, {
        endpoints: [{ addresses: ['192.0.2.66'], conditions: { ready: false } }],
        metadata: { labels: { mine: 'too' } },
      });
      await until('the slice is right', () =>
        JSON.stringify(site.slice('beta-net-1')).includes('"192.0.2.1"'),
      );
      expect(site.slice('beta-net-1')?.metadata.labels).toMatchObject({ mine: 'too' });
    }
    await alphaIsUntouched();
  });
});

describe('all OpenStackClusters deleted at once', () => {
  test('change nothing for clients, are reported as a problem, and are adopted when they are back', async () => {
    const names = Array.from({ length: 4 }, (_, i) => `extra-${i}`);
    for (const name of names)
      site.management.addCluster({ name, networkId: site.clusters.alpha.networkId, address: ADDRESS });
    await site.published(...names.map((name) => `${name}-net-1`));
    const all = ['alpha', 'beta', ...names];
    for (const name of all) site.management.deleteCluster(name);
    expect(await site.problem(isthmus, /mass delete/)).toContain('--allow-mass-delete');
    // The garbage collector has deleted the owned objects. The proxy recreates them without references to missing owners.
    await site.published(...all.map((name) => `${name}-net-1`));
    await until('all Services are there', () => site.management.services().length === all.length);
    expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
    // Kubeconfig writes may still be pending. But the writes stop, and no object is written repeatedly.
    await site.atRest(1500, 'net-1');
    for (const name of all)
      site.api.store.delete({
        apiVersion: 'v1',
        kind: 'Secret',
        namespace: NAMESPACE,
        name: `${name}-kubeconfig`,
      });
    site.add(site.clusters.alpha, site.clusters.beta);
    for (const name of names)
      site.management.addCluster({ name, networkId: site.clusters.alpha.networkId, address: ADDRESS });
    await site.untilWell(isthmus);
    await until('they own their objects again', () =>
      all.every((name) => site.management.get('v1', 'Service', name)?.metadata.ownerReferences?.length === 1),
    );
    await site.published(...all.map((name) => `${name}-net-1`));
  });
});
