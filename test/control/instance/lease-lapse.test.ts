// An instance that may create its Lease but not renew it. The other instances consider it dead. Without a special rule, its objects
// would be deleted and recreated forever.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forbidden, rules } from '../../support/kubernetes/access-rules.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

const USER = 'system:isthmus:net-1';
let site: PublishSite;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
});
afterAll(() => site.stop());

test('an instance that cannot renew its Lease does not republish deleted slices, reports why, and recovers once it can renew', async () => {
  const lapsed = site.management.instance('net-1');
  site.api.access.set(USER, rules({ verb: 'patch', resource: 'leases' }));
  await lapsed.start(...FAST);
  await site.instance('net-2');
  await site.published('alpha-net-1', 'alpha-net-2');
  const isTaken = () => (site.writesOf('net-2')['delete endpointslices'] ?? 0) > 0;
  await until('the others deleted its slice', isTaken, 120_000); // they consider it dead after 30 s or more
  // Without the rule it would republish the slice within one turn. The turns for another cluster come later.
  site.add(site.clusters.beta);
  await lapsed.untilState('beta', 'serving');
  await site.published('beta-net-2');
  expect(site.slice('alpha-net-1')).toBeNull();
  expect(site.writesOf('net-1')).toMatchObject({ 'create endpointslices': 1 });
  const problem = await site.problem(lapsed, /^lease: .*consider this instance dead/);
  expect(problem).toMatch(forbidden('patch', 'leases'));
  expect(await site.ask(lapsed, site.clusters.alpha)).toContain('alpha');
  site.api.access.set(USER, rules());
  await site.published('alpha-net-1');
  await site.untilWell(lapsed);
});
