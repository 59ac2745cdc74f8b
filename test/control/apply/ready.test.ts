// Ready means able: an instance is ready when it has read the Kubernetes API once and the first health checks are in. After that it stays
// ready. A successor takes over only when it is ready by the same rule.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { forbidden, rules } from '../../support/kubernetes/access-rules.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

const NODE = 'net-1';
const USER = `system:isthmus:${NODE}`;
const cleanups: (() => unknown)[] = [];
let site: PublishSite;
beforeEach(async () => {
  site = await PublishSite.start();
  cleanups.push(() => site.stop());
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const readyz = async (isthmus: Isthmus) => (await isthmus.get('/readyz?verbose')).body.trim().split('\n');
const ready = (isthmus: Isthmus) =>
  until('it is ready', async () => (await isthmus.get('/readyz')).status === 200);
const ALL_PASSED = [
  '[+]listener ok',
  '[+]openstackclusters ok',
  '[+]services ok',
  '[+]endpointslices ok',
  '[+]leases ok',
  '[+]first-health-checks ok',
  '[+]lease ok',
  '[+]shutdown ok',
  '[+]handover ok',
  'readyz check passed',
];

test('an instance that never reached the API is not ready, and becomes ready when it does', async () => {
  site.add(site.clusters.alpha);
  await site.api.stop();
  const isthmus = await site.instance(NODE);
  await expect
    .poll(() => readyz(isthmus))
    .toEqual([
      '[+]listener ok',
      expect.stringMatching(/^\[-]openstackclusters failed: .*ECONNREFUSED/),
      expect.stringMatching(/^\[-]services failed: .*ECONNREFUSED/),
      expect.stringMatching(/^\[-]endpointslices failed: .*ECONNREFUSED/),
      expect.stringMatching(/^\[-]leases failed: .*ECONNREFUSED/),
      '[-]first-health-checks failed: not every backend was checked yet',
      expect.stringMatching(/^\[-]lease failed: /),
      '[+]shutdown ok',
      '[+]handover ok',
      'readyz check failed',
    ]);
  const { status, body } = await isthmus.get('/readyz');
  expect(status).toBe(503);
  expect(body).toMatch(/^not ready: openstackclusters: .*; services: .*\n$/);
  expect(await isthmus.status()).toMatchObject({
    ready: false,
    notReadyBecause: expect.stringContaining('openstackclusters: '),
  });
  await site.api.start();
  await ready(isthmus);
  expect(await readyz(isthmus)).toEqual(ALL_PASSED);
  expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
});

test('an instance that loses the API stays ready', async () => {
  site.add(site.clusters.alpha);
  const isthmus = await site.instance(NODE);
  await ready(isthmus);
  await site.api.stop();
  await expect.poll(async () => (await isthmus.status()).kubernetes?.staleSince).toEqual(expect.any(String));
  expect(await readyz(isthmus)).toEqual(ALL_PASSED);
});

describe('without the right to list', () => {
  test.each(['openstackclusters', 'services', 'endpointslices', 'leases'])(
    '%s, an instance is not ready and names it, until the right is granted',
    async (resource) => {
      const isthmus = site.management.instance(NODE);
      site.api.access.set(USER, rules({ verb: 'list', resource }));
      await isthmus.start(...FAST);
      const failing = async () => (await readyz(isthmus)).filter((line) => line.startsWith('[-]'));
      await until('the other lists are read', async () =>
        (await failing()).every((line) => line.includes(`${resource} `) || /first-health|lease /.test(line)),
      );
      expect((await isthmus.get('/readyz')).status).toBe(503);
      await expect.poll(async () => (await failing())[0]).toMatch(forbidden('list', resource));
      site.api.access.set(USER, rules());
      await ready(isthmus);
    },
  );
});

test('a cluster that is down does not keep an instance from being ready', async () => {
  site.add(site.clusters.alpha, site.clusters.beta);
  await site.clusters.servers.get('alpha')?.stop();
  const isthmus = await site.instance(NODE);
  await ready(isthmus);
  expect((await isthmus.status()).clusters).toMatchObject([
    { name: 'alpha', state: 'unhealthy' },
    { name: 'beta', state: 'serving' },
  ]);
});

describe('a successor that cannot read the API', () => {
  async function pair() {
    const directory = mkdtempSync(join(tmpdir(), 'isthmus-ready-'));
    cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
    site.add(site.clusters.alpha);
    const old = await site.instance(NODE, '--handover', directory);
    await ready(old);
    const next = site.management.instance(NODE);
    return { old, next, start: () => next.start(...FAST, '--handover', directory) };
  }

  test('does not take over, and does once it can', async () => {
    const { old, next, start } = await pair();
    await site.published(`alpha-${NODE}`);
    const holder = () =>
      (
        site.management.get('coordination.k8s.io/v1', 'Lease', `isthmus-${NODE}`)?.spec as {
          holderIdentity?: string;
        }
      )?.holderIdentity;
    const before = holder();
    site.api.access.set(USER, rules({ verb: 'list', resource: 'services' }));
    const serving = start();
    await until('it has the sockets', () => next.log.some(({ msg }) => msg === 'taking over'));
    await until('it knows that it cannot read', () =>
      next.log.some(({ reason }) => `${reason}`.includes('services')),
    );
    expect(await site.ask(old, site.clusters.alpha)).toContain('alpha');
    expect(old.log.some(({ msg }) => msg.startsWith('handed over'))).toBe(false);
    expect(holder()).toBe(before);
    site.api.access.set(USER, rules());
    await serving;
    await until('the old one has handed over', () =>
      old.log.some(({ msg }) => msg.startsWith('handed over')),
    );
    await ready(next);
  });

  test('serves what it can if its predecessor ends before', async () => {
    const { old, next, start } = await pair();
    site.api.access.set(USER, rules({ verb: 'list', resource: 'services' }));
    const serving = start();
    await until('it has the sockets', () => next.log.some(({ msg }) => msg === 'taking over'));
    old.signal('SIGKILL');
    await serving;
    expect(next.port).toBe(old.port);
    expect(await site.ask(next, site.clusters.alpha)).toContain('alpha');
    expect((await next.get('/readyz')).status).toBe(503);
  });
});
