// The first instance has no right to write kubeconfigs. The next instance writes them in its turn, and neither instance writes
// repeatedly.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forbidden, rules } from '../../support/kubernetes/access-rules.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

let site: PublishSite;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
});
afterAll(() => site.stop());

const leadsHere = () => site.management.kubeconfig('alpha').includes('https://alpha.magnum-system:6443');

test('a kubeconfig that the first instance may not change is rewritten, and later restored, by the second instance', async () => {
  const first = site.management.instance('net-1');
  site.api.access.set('system:isthmus:net-1', rules({ verb: 'patch', resource: 'secrets' }));
  await first.start(...FAST);
  await site.published('alpha-net-1');
  // The first instance reports the problem until another instance has made the change.
  await site.problem(first, forbidden('patch', 'secrets'));
  await site.instance('net-2');
  await site.published('alpha-net-2');
  await until('the kubeconfig leads here', leadsHere);
  // The first instance reads the kubeconfig again and finds it correct.
  await site.untilWell(first);
  expect(site.writesOf('net-2')).toMatchObject({ 'patch secrets': 1 });
  site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
  await until('it was given back', () => !leadsHere());
  await until('all is gone', () => site.management.services().length === 0);
  expect(site.writesOf('net-2')).toMatchObject({ 'patch secrets': 2 });
  await site.untilWell(first);
});
