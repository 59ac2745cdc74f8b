// Isthmus beside the program that it replaces, on the same clusters, as during a rolling upgrade. Neither deletes nor rewrites objects of
// the other, both serve clients, and after the old one stops Isthmus serves alone.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectStatus } from '../kube-api/suite.ts';
import { auditedRequests, ISTHMUS_USER, isWrite } from './audit.ts';
import type { Loop } from './client.ts';
import { UPSTREAM_USER } from './management-cluster.ts';
import { Site } from './site.ts';
import { Upstream, upstreamMissing } from './upstream.ts';
import { NAMESPACE } from './workload.ts';

const missing = upstreamMissing();
if (missing !== null) console.warn(`NOT TESTED: beside magnum-cluster-api-proxy (${missing})`);

const CLUSTERS = ['alpha', 'beta'];
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;

describe.skipIf(missing !== null)('beside magnum-cluster-api-proxy', () => {
  let site: Site;
  let upstream: Upstream;
  let loop: Loop;

  beforeAll(async () => {
    site = await Site.start({
      nodes: [
        { name: 'net-1', privileges: 'pod' },
        { name: 'net-2', privileges: 'pod' }, // upstream's node
      ],
    });
    for (const name of CLUSTERS) {
      const workload = await site.addWorkload({ name, real: name === 'alpha' }, ['net-1', 'net-2']);
      await site.management.addCluster(workload);
    }
    upstream = new Upstream({
      node: 'net-2',
      address: '10.250.0.22',
      netnsDirectory: site.networks.netnsDirectory('net-2'),
      kubeconfig: await site.management.upstreamKubeconfig(),
    });
    for (const name of CLUSTERS)
      await site
        .until(
          `${name} is published by the old one`,
          async () => (await names(name)).join() === `${name}-net-2`,
        )
        .catch((error: Error) => {
          throw new Error(`${error.message}\n${upstream.lastLines()}`);
        });
    loop = site.client().loop(await site.proxiedKubeconfig('alpha'), 100);
    await site.until('clients are served', () => loop.tries.some(({ ok }) => ok));
  });
  afterAll(async () => {
    await loop?.stop();
    await upstream?.stop();
    await site?.stop();
  });

  const names = async (cluster: string) =>
    (await site.management.slices(cluster)).map(({ name }) => name).sort();

  /** Name and uid of Services and slices: a recreated object has another uid. */
  async function identities(): Promise<string[]> {
    const found: string[] = [];
    for (const path of [`/api/v1/namespaces/${NAMESPACE}/services`, SLICES]) {
      const { body } = expectStatus(await site.management.client.get(path), 200);
      for (const { metadata } of body.items) found.push(`${metadata.name} ${metadata.uid}`);
    }
    return found.sort();
  }

  const writes = (user: string, since: number) =>
    auditedRequests(site.management.controlPlane.auditLog).filter(
      (each) => each.user === user && each.at >= since && isWrite(each) && each.code < 300,
    );

  test('both publish the same clusters, and clients are sent to both', async () => {
    site.instance('net-1').start();
    for (const name of CLUSTERS)
      await site.until(
        `${name} is published by both`,
        async () => (await names(name)).join() === `${name}-net-1,${name}-net-2`,
      );
    await site.until('the rules lead to both', () =>
      ['10.250.0.21', '10.250.0.22'].every((address) => site.client().leadsTo(address)),
    );
    const before = loop.tries.length;
    const served = site.instance('net-1').served('alpha');
    await loop.more(100);
    const ours = site.instance('net-1').served('alpha') - served;
    const all = loop.tries.length - before;
    console.log(`of ${all} connections ${ours} went through Isthmus, the others through the old proxy`);
    expect(ours).toBeGreaterThan(10);
    expect(ours).toBeLessThan(all - 10);
    expect(loop.tries.slice(before).filter(({ ok }) => !ok)).toEqual([]);
  });

  test('for 75 s, more than twice its expiry, neither changes objects of the other', async () => {
    const before = await identities();
    const started = Date.now();
    const tries = loop.tries.length;
    await new Promise((resolve) => setTimeout(resolve, 75_000));
    expect(await identities()).toEqual(before);
    const slices = (user: string) =>
      new Set(
        writes(user, started)
          .filter(({ resource }) => resource === 'endpointslices')
          .map(({ name }) => name),
      );
    expect([...slices(UPSTREAM_USER)].sort()).toEqual(['alpha-net-2', 'beta-net-2']);
    for (const name of slices(ISTHMUS_USER)) expect(name).toMatch(/-net-1$/);
    const others = (user: string) =>
      writes(user, started)
        .filter(({ resource }) => resource === 'services' || resource === 'secrets')
        .map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
    expect([...others(ISTHMUS_USER), ...others(UPSTREAM_USER)]).toEqual([]);
    expect(loop.tries.slice(tries).filter(({ ok }) => !ok)).toEqual([]);
  });

  test('after the old proxy stops, Isthmus deletes its slices and serves alone', async () => {
    await upstream.stop();
    const seconds = await site.until(
      'only our slices are there',
      async () => {
        const all = await Promise.all(CLUSTERS.map(names));
        return all.join() === 'alpha-net-1,beta-net-1';
      },
      180_000,
    );
    console.log(`slices of the old proxy were collected ${seconds.toFixed(1)} s after its end`);
    await site.until('no rule leads there', () => !site.client().leadsTo('10.250.0.22'));
    await site.until('the Services are ours', async () => {
      const services = await Promise.all(CLUSTERS.map((name) => site.management.service(name)));
      return services.every(({ metadata }) => metadata.labels['isthmus.dev/resource-owner'] !== undefined);
    });
    const before = loop.tries.length;
    await loop.more(50);
    expect(loop.tries.slice(before + 5).filter(({ ok }) => !ok)).toEqual([]);
  });

  test('Isthmus replaces the old proxy on its node', async () => {
    site.instance('net-2').start();
    for (const name of CLUSTERS)
      await site.until(
        `${name} is published by both`,
        async () => (await names(name)).join() === `${name}-net-1,${name}-net-2`,
      );
  });
});
