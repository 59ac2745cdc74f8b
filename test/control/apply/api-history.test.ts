// An API that changes its past or its shape: CRDs that appear late or in other versions, a missing namespace, expired tokens, and a store
// that is restored from a backup.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStackClusterDefinition } from '../../fake-kube-api/types/cluster-api-definitions.ts';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

let site: PublishSite;
let isthmus: Isthmus;
beforeAll(async () => {
  site = await PublishSite.start({ withoutDefinitions: true });
  isthmus = await site.instance('net-1');
});
afterAll(() => site.stop());

describe('a CRD', () => {
  test('that is not installed is reported, and followed once it is installed', async () => {
    expect(await site.problem(isthmus, /openstackclusters/)).toContain('is not installed');
    site.api.store.create(
      openStackClusterDefinition({ conversion: 'Webhook', served: ['v1alpha7', 'v1beta1'] }),
    );
    site.add(site.clusters.alpha);
    await site.published('alpha-net-1');
    await site.untilWell(isthmus);
  });

  test('that is served only in other versions is followed, and no object is recreated', async () => {
    const before = site.slice('alpha-net-1')?.metadata.resourceVersion;
    site.api.store.update(
      openStackClusterDefinition({ conversion: 'Webhook', served: ['v1beta2'], storage: 'v1beta2' }),
    );
    await until('it is watched in the new version', () => site.api.openWatches === 5);
    await site.untilWell(isthmus);
    expect((await isthmus.status()).clusters).toMatchObject([{ name: 'alpha', state: 'serving' }]);
    // The owner reference names the served version. The proxy may write that change, but the slice stays the same object.
    expect(site.isReady('alpha-net-1')).toBe(true);
    expect(Number(site.slice('alpha-net-1')?.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(before),
    );
    expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
    site.api.store.update(openStackClusterDefinition({ conversion: 'Webhook' }));
    await site.untilWell(isthmus);
  });
});

describe('a store that is restored from a backup', () => {
  test('gets all objects of this instance back, and no object of another owner is deleted', async () => {
    const foreign = { apiVersion: 'v1', kind: 'Service', namespace: NAMESPACE, name: 'foreign' };
    site.api.store.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'foreign', namespace: NAMESPACE },
      spec: { ports: [{ port: 80 }] },
    });
    const backup = site.api.snapshot();
    site.add(site.clusters.beta);
    await site.published('beta-net-1');
    site.api.store.delete(foreign);
    const holder = () =>
      (
        site.management.get('coordination.k8s.io/v1', 'Lease', 'isthmus-net-1')?.spec as {
          holderIdentity?: string;
        }
      )?.holderIdentity;
    // A pending write could recreate beta's slice after the restore, and the test could not see that beta is gone.
    await site.atRest(1500, 'net-1');
    const before = holder();
    site.api.restore(backup);
    await until('it is watched again', () => site.api.openWatches >= 5);
    await site.untilWell(isthmus);
    await site.published('alpha-net-1');
    // Beta is newer than the backup, so it is gone. The foreign Service is back and stays.
    await until(
      'beta is gone',
      () =>
        site.management.services().join() === 'alpha,foreign' &&
        site.management.slices().join() === 'alpha-net-1',
    );
    expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
    expect(holder()).toBe(before);
    expect((await isthmus.get('/readyz')).status).toBe(200);
  });
});

describe('a token', () => {
  test('that expires is read again from its file', async () => {
    const file = join(site.management.directory, 'token');
    writeFileSync(file, 'first-token');
    site.api.tokens.set('first-token', 'system:isthmus:net-2');
    const kubeconfig = join(site.management.directory, 'with-token-file');
    site.api.tokens.set('token-of-net-2', 'system:isthmus:net-2');
    const text = site.api.kubeconfig('system:isthmus:net-2');
    writeFileSync(kubeconfig, text.replace(/token: .*/, `tokenFile: ${file}`));
    const second = site.management.instance('net-2');
    second.environment.KUBECONFIG = kubeconfig;
    await second.start(...FAST);
    await site.published('alpha-net-2');
    site.api.tokens.delete('first-token');
    site.api.faults.cutWatches({ user: 'system:isthmus:net-2' });
    // A request for the Lease may be rejected first.
    await site.problem(second, /unauthorized: cannot (list|watch)|cannot (list|watch).*unauthorized/);
    expect(await site.ask(second, site.clusters.alpha)).toContain('alpha');
    site.api.tokens.set('second-token', 'system:isthmus:net-2');
    writeFileSync(file, 'second-token');
    await site.untilWell(second);
    expect(JSON.stringify(second.log)).not.toMatch(/first-token|second-token/);
    second.signal('SIGTERM');
    expect(await second.ended()).toBe(0);
  });
});

describe('a missing namespace', () => {
  test('is reported while clients are served, and everything is published once it exists', async () => {
    const other = site.management.instance('net-3');
    await other.start(...FAST, '--namespace', 'elsewhere', '--cluster-namespace', NAMESPACE);
    expect(await site.problem(other, /elsewhere/)).toContain('not-found');
    // It cannot create its Lease, so it publishes nothing.
    expect((await other.get('/readyz')).status).toBe(503);
    site.api.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } });
    const slices = () =>
      site.api.store.list({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        namespace: 'elsewhere',
      });
    await until('the slice is there', () => slices().length === 1);
  });
});
