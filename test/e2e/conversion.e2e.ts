// The OpenStack provider is upgraded under load: its definition serves and stores another version, a webhook converts, and the webhook
// is unavailable for a while. Isthmus withdraws nothing because of it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import { openStackClusterDefinition } from '../fake-kube-api/types/cluster-api-definitions.ts';
import { expectStatus } from '../kube-api/suite.ts';
import { auditedRequests, ISTHMUS_USER, isWrite } from './audit.ts';
import type { Loop } from './client.ts';
import { ConversionWebhook } from './conversion-webhook.ts';
import { Site } from './site.ts';

const DEFINITION =
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/openstackclusters.infrastructure.cluster.x-k8s.io';

const webhook = new ConversionWebhook();
let site: Site;
let loop: Loop;

beforeAll(async () => {
  site = await Site.start();
  for (const name of ['alpha', 'beta']) {
    const workload = await site.addWorkload({ name }, ['net-1', 'net-2']);
    await site.management.addCluster(workload);
  }
  await site.addWorkload({ name: 'gamma' }, ['net-1']);
  for (const each of site.instances.values()) each.start();
  const kubeconfig = await site.proxiedKubeconfig('alpha');
  for (const name of ['alpha', 'beta'])
    await site.until('both serve', async () => (await site.management.slices(name)).length === 2);
  await site.until('the rules lead to both', () =>
    ['10.250.0.21', '10.250.0.22'].every((address) => site.client().leadsTo(address)),
  );
  loop = site.client().loop(kubeconfig, 100);
  await loop.more(10);
});
afterAll(async () => {
  await loop?.stop();
  webhook.stop();
  await site?.stop();
});

/** The writes of our instances since this time, without Leases. It is empty while no cluster changes. */
const writesSince = (at: number) =>
  auditedRequests(site.management.controlPlane.auditLog)
    .filter((each) => each.user === ISTHMUS_USER && isWrite(each) && each.resource !== 'leases')
    .filter((each) => each.at >= at)
    .map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);

/** Whether an instance has started a watch of this version since the given time. */
const follows = (version: string, since: number) =>
  auditedRequests(site.management.controlPlane.auditLog).some(
    ({ user, verb, resource, at, path }) =>
      user === ISTHMUS_USER &&
      verb === 'watch' &&
      resource === 'openstackclusters' &&
      at >= since &&
      path.includes(`/${version}/`),
  );

test('the instances follow a definition upgrade from v1beta1 to v1beta2 and write nothing', async () => {
  const { client } = site.management;
  const started = Date.now();
  await webhook.start();
  const { spec } = openStackClusterDefinition({
    served: ['v1beta1', 'v1beta2'],
    storage: 'v1beta2',
  }) as StoredObject & {
    spec: object;
  };
  const patch = { spec: { ...spec, conversion: webhook.conversion } };
  expectStatus(await client.patch(DEFINITION, patch), 200);
  const seconds = await site.until('v1beta2 is watched', () => follows('v1beta2', started));
  console.log(`v1beta2 is followed ${seconds.toFixed(1)} s after it is served`);
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  expect(webhook.conversions).toBeGreaterThan(0);
  expect(writesSince(started)).toEqual([]);
  expect(loop.failures).toEqual([]);
});

test('a cluster that is then created through the old version is published', async () => {
  await site.management.addCluster(site.workload('gamma'));
  await site.proxiedKubeconfig('gamma');
});

test('while the webhook is unavailable for a minute, nothing is withdrawn and clients are served', async () => {
  const started = Date.now();
  webhook.stop();
  // The API server drops its converted objects: watches end, and lists fail.
  await site.management.controlPlane.stopApiServer();
  await site.management.controlPlane.startApiServer();
  const clusters = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/openstackclusters';
  expect((await site.management.client.get(clusters)).status).not.toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  expect(writesSince(started)).toEqual([]);
  const before = loop.tries.length;
  await loop.more(20);
  expect(loop.tries.length).toBeGreaterThan(before);
  expect(loop.failures).toEqual([]);
  expect(await site.instance('net-1').ask('explain', 'alpha')).toMatch(/^alpha is reachable/);
});

test('after the webhook returns, a deletion is processed and the other clusters stay', async () => {
  const started = Date.now();
  await webhook.start();
  await site.until('OpenStackClusters can be read', async () =>
    site.management.deleteCluster('gamma').then(
      () => true,
      () => false,
    ),
  );
  const seconds = await site.until(
    'gamma is gone',
    async () => (await site.management.service('gamma')) === null,
  );
  console.log(`after the webhook's outage a deletion took ${seconds.toFixed(1)} s`);
  expect(writesSince(started).filter((line) => !line.includes('gamma'))).toEqual([]);
  expect(loop.failures).toEqual([]);
});
