// Upgrade, rollback and removal of a release under load, as docs/how-to/upgrade.md and docs/how-to/install/kubernetes.md describe them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proxiedServer } from '../e2e/workload.ts';
import { Bed, NODES } from './bed.ts';
import { whileConnected } from './clients.ts';
import { long } from './long.ts';
import { ONE_AT_A_TIME, Release, SURGE } from './release.ts';

const NEXT = { image: { tag: 'next' } };

let bed: Bed;
let release: Release;

beforeAll(async () => {
  bed = await Bed.start();
  release = new Release(bed);
  await bed.addWorkload('alpha', NODES);
  // As with OVN: one node alone reaches this cluster.
  await bed.addWorkload('beta', ['net-1']);
});
afterAll(async () => await bed?.stop());

async function installed(values: object): Promise<void> {
  await release.install({ ...values });
  await release.untilPublished('alpha');
  await release.untilPublished('beta', 1);
}

test('an upgrade with surge and hand-over loses no connection, also where one node alone reaches the cluster', async () => {
  await installed(SURGE);
  const upgraded = async () => {
    await release.upgrade({ ...SURGE, ...NEXT });
    await release.untilRolledOut();
  };
  const both = await Promise.all([
    whileConnected(bed, 'alpha', 'surge with hand-over, two nodes', upgraded),
    whileConnected(bed, 'beta', 'surge with hand-over, one node', () => release.untilImage('next')),
  ]);
  for (const seen of both) expect(seen).toMatchObject({ failed: {}, cut: 0 });
  await release.untilOldPodsAreGone();
});

long('a rollback with surge and hand-over loses no connection', async () => {
  const seen = await whileConnected(bed, 'beta', 'rollback with hand-over, one node', async () => {
    await bed.helm('rollback', 'isthmus');
    await release.untilImage('0.1.0');
  });
  expect(seen).toMatchObject({ failed: {}, cut: 0 });
  await release.untilOldPodsAreGone();
});

long(
  'an upgrade one node at a time refuses no new connection where two nodes reach the cluster',
  async () => {
    await installed(ONE_AT_A_TIME);
    await release.untilOldPodsAreGone();
    const seen = await whileConnected(bed, 'alpha', 'one node at a time, two nodes', async () => {
      await release.upgrade({ ...ONE_AT_A_TIME, ...NEXT });
      await release.untilImage('next');
    });
    expect(seen.failed).toEqual({});
  },
);

long(
  'Pods without a hand-over reach the default in two upgrades, and the second one loses no connection',
  async () => {
    await installed(ONE_AT_A_TIME);
    await release.untilOldPodsAreGone();
    await release.upgrade({ ...ONE_AT_A_TIME, handover: { enabled: true } });
    await release.untilRolledOut();
    await release.untilOldPodsAreGone();
    const seen = await whileConnected(bed, 'beta', 'from no hand-over to the default, one node', async () => {
      await release.upgrade();
      await release.untilRolledOut();
    });
    expect(seen).toMatchObject({ failed: {}, cut: 0 });
  },
);

long('`helm uninstall` alone withdraws all slices, and leaves Services and kubeconfigs', async () => {
  await installed(ONE_AT_A_TIME);
  const from = Date.now();
  await release.uninstall();
  await bed.until(
    'the slices are gone',
    async () => (await bed.management.names('endpointslices')).length === 0,
  );
  console.log(`helm uninstall: no slice after ${((Date.now() - from) / 1000).toFixed(1)} s`);
  await bed.until('the Leases are gone', async () => (await bed.management.names('leases')).length === 0);
  expect(await bed.management.names('services')).toEqual(['alpha', 'beta']);
  expect(await bed.management.kubeconfig('alpha')).toContain(`server: ${proxiedServer('alpha')}\n`);
});
