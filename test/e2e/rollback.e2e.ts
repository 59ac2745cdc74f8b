// The rollback of docs/how-to/migration.md: the old proxy starts beside Isthmus, then Isthmus stops. No request fails at any time.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Loop } from './client.ts';
import { Site } from './site.ts';
import { Upstream, upstreamMissing } from './upstream.ts';
import { NAMESPACE, proxiedServer } from './workload.ts';

const MIGRATION = new URL('../../docs/how-to/migration.md', import.meta.url);
const missing = upstreamMissing();
if (missing !== null) console.warn(`NOT TESTED: back to magnum-cluster-api-proxy (${missing})`);

describe.skipIf(missing !== null)('a rollback to magnum-cluster-api-proxy', () => {
  let site: Site;
  let upstream: Upstream | null = null;
  let loop: Loop;

  beforeAll(async () => {
    site = await Site.start({
      nodes: [
        { name: 'net-1', privileges: 'pod' },
        { name: 'net-2', privileges: 'pod' }, // the old proxy's node
      ],
    });
    const workload = await site.addWorkload({ name: 'alpha', real: true }, ['net-1', 'net-2']);
    await site.management.addCluster(workload);
    site.instance('net-1').start();
    loop = site.client().loop(await site.proxiedKubeconfig('alpha'), 100);
    await site.until('clients are served', () => loop.tries.some(({ ok }) => ok));
  });
  afterAll(async () => {
    await loop?.stop();
    await upstream?.stop();
    await site?.stop();
  });

  const names = async () => (await site.management.slices('alpha')).map(({ name }) => name).sort();
  const failures = (since: number) => loop.tries.slice(since).filter(({ ok }) => !ok);

  test('steps 1 and 2: the old proxy starts and publishes beside Isthmus', async () => {
    const before = loop.tries.length;
    upstream = new Upstream({
      node: 'net-2',
      address: '10.250.0.22',
      netnsDirectory: site.networks.netnsDirectory('net-2'),
      kubeconfig: await site.management.upstreamKubeconfig(),
    });
    await site
      .until('both publish', async () => (await names()).join() === 'alpha-net-1,alpha-net-2')
      .catch((error: Error) => {
        throw new Error(`${error.message}\n${upstream?.lastLines()}`);
      });
    await site.until('the rules lead to both', () =>
      ['10.250.0.21', '10.250.0.22'].every((address) => site.client().leadsTo(address)),
    );
    await loop.more(30);
    expect(failures(before)).toEqual([]);
  });

  test('docs/how-to/migration.md distinguishes the slices of the two by their labels', async () => {
    const [, selector = ''] =
      /delete endpointslices -l '([^']+)'/.exec(readFileSync(MIGRATION, 'utf8')) ?? [];
    const get = ['-n', NAMESPACE, 'get', 'endpointslices', '-o', 'name', '-l'];
    expect(await site.management.kubectl(...get, selector)).toBe(
      'endpointslice.discovery.k8s.io/alpha-net-2',
    );
  });

  test('step 3: Isthmus withdraws, drains and stops; Service and kubeconfig stay, and no request fails', async () => {
    const before = loop.tries.length;
    await site.instance('net-1').stop('SIGTERM');
    expect(site.instance('net-1').process.exitCode).toBe(0);
    expect(await names()).toEqual(['alpha-net-2']);
    await site.until('no rule leads to us', () => !site.client().leadsTo('10.250.0.21'));
    await loop.more(50);
    expect(failures(before)).toEqual([]);
    expect(await site.management.service('alpha')).not.toBeNull();
    expect(await site.management.kubeconfig('alpha')).toContain(`server: ${proxiedServer('alpha')}\n`);
    expect(await site.management.names('leases')).toEqual([]);
  });
});
