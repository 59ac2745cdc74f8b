// Writes that are rejected, cut off, answered with invalid data or never answered. Each is retried, and none delays a withdrawal or the
// shutdown.
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

describe('writes', () => {
  const withdrawAndBack = async () => {
    await site.clusters.servers.get('alpha')?.stop();
    await isthmus.untilState('alpha', 'unhealthy');
  };

  test.each([
    ['429 with Retry-After', { kind: 'status', code: 429, retryAfterSeconds: 1 }],
    ['500', { kind: 'status', code: 500 }],
    ['503', { kind: 'status', code: 503 }],
    ['a cut connection', { kind: 'cut' }],
    ['garbage', { kind: 'body', text: '<html>' }],
    ['a body that is not a Kubernetes object', { kind: 'body', text: '{}' }],
  ] as const)('answered by %s are retried until they succeed', async (_title, answer) => {
    const fault = site.api.faults.inject({ resource: 'endpointslices', verb: 'create' }, answer, {
      times: 2,
    });
    await withdrawAndBack();
    await until('the slice is gone', () => site.slice('alpha-net-1') === null);
    await site.clusters.serve(site.clusters.alpha);
    await site.published('alpha-net-1');
    expect(fault.hits).toBeGreaterThanOrEqual(1);
    await expect.poll(async () => (await isthmus.status()).problems).toEqual([]);
  });

  test('that hang delay neither a withdrawal nor the shutdown', async () => {
    for (const resource of ['secrets', 'services', 'leases', 'events'])
      site.api.faults.inject({ resource }, { kind: 'hang' });
    await withdrawAndBack();
    await until('the slice is gone', () => site.slice('alpha-net-1') === null);
    isthmus.signal('SIGTERM');
    expect(await isthmus.ended()).toBe(0);
    expect(isthmus.log.filter(({ msg }) => msg.includes('does not end by itself'))).toEqual([]);
  });
});
