// Two sets of instances on the built program: they publish into one namespace, and their clusters are in two.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StoredObject } from '../../fake-kube-api/stored-object.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS } from '../../support/two-clusters.ts';

const TENANTS = 'tenants';
let site: PublishSite;

beforeAll(async () => {
  site = await PublishSite.start();
  const { alpha, beta } = site.clusters;
  site.add(alpha);
  site.api.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANTS } });
  site.api.store.create({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'OpenStackCluster',
    metadata: {
      name: 'beta-x',
      namespace: TENANTS,
      labels: { 'cluster.x-k8s.io/cluster-name': 'beta' },
    },
    spec: {
      identityRef: { name: 'clouds', cloudName: 'default' },
      disableAPIServerFloatingIP: true,
      apiServerPort: 6443,
      controlPlaneEndpoint: { host: ADDRESS, port: 6443 },
    },
    status: {
      ready: true,
      network: { id: beta.networkId, name: 'tenant' },
      apiServerLoadBalancer: { id: 'lb', name: 'lb', ip: ADDRESS, internalIP: ADDRESS },
    },
  });
  await site.instance('net-1');
  await site.instance('net-2', '--cluster-namespace', TENANTS);
});
afterAll(() => site.stop());

/** Adds a Service like that of `cluster`, but of a cluster that does not exist. */
async function orphanIsCollected(cluster: string): Promise<void> {
  const name = `former-${cluster}`;
  const { metadata, spec } = site.management.get('v1', 'Service', cluster) as StoredObject;
  site.api.store.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { ...metadata.labels, 'isthmus.dev/resource-owner': name },
      annotations: { ...metadata.annotations, 'isthmus.dev/resource-owner': name },
    },
    spec: { ports: (spec as { ports: object[] }).ports },
  });
  await until(`${name} is collected`, () => !site.management.services().includes(name));
}

test('neither set of instances deletes the Services of the other, not even while they have no endpoint', async () => {
  await site.published('alpha-net-1', 'beta-net-2');
  // A deleted Service would be recreated at once, with another uid.
  const uids = () =>
    ['alpha', 'beta'].map((name) => site.management.get('v1', 'Service', name)?.metadata.uid);
  const before = uids();
  await site.clusters.servers.get('beta')?.stop();
  await until('the slice is gone', () => site.slice('beta-net-2') === null);
  // Each set collects an orphan of its own that is younger. If it treated the other set's Service as one, that would be gone.
  await Promise.all([orphanIsCollected('alpha'), orphanIsCollected('beta')]);
  expect(uids()).toEqual(before);
  await site.clusters.serve(site.clusters.beta);
  await site.published('beta-net-2');
  site.api.store.delete({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'OpenStackCluster',
    namespace: TENANTS,
    name: 'beta-x',
  });
  await until('its own set takes it back', () => !site.management.services().includes('beta'));
  expect(site.management.services()).toContain('alpha');
});
