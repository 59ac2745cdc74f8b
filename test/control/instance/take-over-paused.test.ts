// A holder that is paused longer than its Lease: the next process waits for the expiry, and the resumed one ends.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

let site: PublishSite;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
});
afterAll(() => site.stop());

test('a paused holder keeps its Lease until it has run out, and ends with code 10 when it is resumed', async () => {
  const first = await site.instance('net-1');
  await site.published('alpha-net-1');
  first.signal('SIGSTOP');
  const second: Isthmus = await site.instance('net-1');
  const took = () => second.log.find(({ msg }) => msg.startsWith('took the Lease over'));
  expect(took()).toBeUndefined();
  expect((await second.get('/readyz')).status).toBe(503);
  await until('the Lease has run out', () => took() !== undefined, 60_000);
  expect(took()?.reason).toBe('expired');
  await until('it is ready', async () => (await second.get('/readyz')).status === 200);
  first.signal('SIGCONT');
  expect(await first.ended()).toBe(10);
  expect(site.isReady('alpha-net-1')).toBe(true);
  expect(await site.ask(second, site.clusters.alpha)).toContain('alpha');
});
