// The API is unreachable at the start, for a while, or repeatedly. Clients are served from the last known state, and no object is lost or
// rewritten.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

let site: PublishSite;
let isthmus: Isthmus;
beforeAll(async () => {
  site = await PublishSite.start();
  await site.api.stop();
  site.add(site.clusters.alpha);
  isthmus = await site.instance('net-1');
});
afterAll(() => site.stop());

const serves = () => expect(site.ask(isthmus, site.clusters.alpha)).resolves.toContain('alpha');
const versions = () => ['alpha-net-1'].map((name) => site.slice(name)?.metadata.resourceVersion);

describe('an API that is unreachable at the start', () => {
  test('does not prevent the start, but the instance is not ready, and status shows since when it is unreachable', async () => {
    expect((await isthmus.get('/readyz')).status).toBe(503);
    await expect
      .poll(async () => (await isthmus.status()).kubernetes)
      .toMatchObject({ lease: 'not-yet', staleSince: expect.any(String) });
    await site.problem(isthmus, /openstackclusters.*unreachable|unreachable.*openstackclusters/);
  });

  test('is used as soon as it is reachable', async () => {
    await site.api.start();
    await site.published('alpha-net-1');
    await site.untilWell(isthmus);
    await until('it is ready', async () => (await isthmus.get('/readyz')).status === 200);
    await serves();
  });
});

describe('an API that is unreachable for a while', () => {
  test('leaves clients served and the process ready, and after its return no object is lost or rewritten', async () => {
    await until('the kubeconfig leads here', () =>
      site.management.kubeconfig('alpha').includes('magnum-system'),
    );
    const before = { versions: versions(), writes: site.writesOf('net-1') };
    await site.api.stop();
    await expect
      .poll(async () => (await isthmus.status()).kubernetes?.staleSince)
      .toEqual(expect.any(String));
    expect((await isthmus.get('/readyz')).status).toBe(200);
    expect((await isthmus.status()).clusters).toMatchObject([{ name: 'alpha', state: 'serving' }]);
    await serves();
    await site.api.start();
    await site.untilWell(isthmus);
    expect({ versions: versions(), writes: site.writesOf('net-1') }).toEqual(before);
    await serves();
  });

  test('that flaps causes no loss and no rewrite either', async () => {
    const before = versions();
    for (let i = 0; i < 3; i += 1) {
      await site.api.stop();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await site.api.start();
      await until('it is watched again', () => site.api.openWatches > 0);
    }
    await site.untilWell(isthmus);
    expect(versions()).toEqual(before);
    await serves();
  });
});
