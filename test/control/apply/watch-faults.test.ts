// Watches that send invalid data, break off or fall silent. They are opened again, and no endpoint is affected.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

let site: PublishSite;
let isthmus: Isthmus;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
  isthmus = await site.instance('net-1');
  await site.published('alpha-net-1');
});
afterAll(() => site.stop());

const serves = () => expect(site.ask(isthmus, site.clusters.alpha)).resolves.toContain('alpha');
const versions = () => ['alpha-net-1'].map((name) => site.slice(name)?.metadata.resourceVersion);

/** OpenStackClusters, Machines of control planes, AdditionalListeners, Services, slices, Leases, Secrets. */
const WATCHES = 7;
const allOpen = () => until('all are open', () => site.api.openWatches === WATCHES);
/** How many watches the instance has requested. */
const asked = () =>
  Object.entries(site.management.requestsOf('net-1'))
    .filter(([what]) => what.startsWith('watch '))
    .reduce((sum, [, count]) => sum + count, 0);

describe('watches', () => {
  test.each([
    ['that send garbage', () => site.api.faults.writeToWatches('garbage\n')],
    ['that send invalid events', () => site.api.faults.writeToWatches('{"type":"NEWS","object":{}}\n')],
    [
      'that end in the middle of a line',
      () => {
        site.api.faults.writeToWatches('{"type":"MODIFIED","obj');
        return site.api.faults.endWatches();
      },
    ],
    ['that are cut', () => site.api.faults.cutWatches()],
  ])('%s are opened again, and changes in between are seen', async (_title, break_) => {
    await site.untilWell(isthmus);
    await allOpen();
    const [before, opened] = [versions(), asked()];
    expect(break_()).toBe(WATCHES);
    site.management.patchCluster('alpha', { metadata: { annotations: { 'a-note': _title } } });
    // Waits for every watch. A break that is noticed late would disturb the next test.
    await until('each is asked for again', () => asked() >= opened + WATCHES);
    await site.untilWell(isthmus);
    await allOpen();
    expect(versions()).toEqual(before);
    await serves();
  });

  test('that fall silent remove nothing, and a withdrawal works without them', async () => {
    expect(site.api.faults.silenceWatches()).toBe(WATCHES);
    await site.clusters.servers.get('alpha')?.stop();
    await until('the slice is gone', () => site.slice('alpha-net-1') === null);
    await site.clusters.serve(site.clusters.alpha);
    await site.published('alpha-net-1');
    site.api.faults.cutWatches();
    await site.untilWell(isthmus);
    expect(site.isReady('alpha-net-1')).toBe(true);
  });
});
