// Ready means able: an instance is ready when it has read the Kubernetes API once and the first health checks are in. After that it stays
// ready. A successor takes over only when it is ready by the same rule.
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
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
  '[+]netns-directory ok',
  '[+]openstackclusters ok',
  '[+]services ok',
  '[+]endpointslices ok',
  '[+]leases ok',
  '[+]rights ok',
  '[+]first-health-checks ok',
  '[+]published-clusters ok',
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
      '[+]netns-directory ok',
      expect.stringMatching(/^\[-]openstackclusters failed: .*ECONNREFUSED/),
      expect.stringMatching(/^\[-]services failed: .*ECONNREFUSED/),
      expect.stringMatching(/^\[-]endpointslices failed: .*ECONNREFUSED/),
      expect.stringMatching(/^\[-]leases failed: .*ECONNREFUSED/),
      expect.stringMatching(/^\[-]rights failed: .*ECONNREFUSED/),
      '[-]first-health-checks failed: not every backend was checked yet',
      '[-]published-clusters failed: not every backend was checked yet',
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
        (await failing()).every(
          (line) =>
            line.includes(`${resource} `) || /first-health|published-clusters|rights|lease /.test(line),
        ),
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

/** An instance that hands over, and a successor that is not started yet. */
async function pair() {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-ready-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  site.add(site.clusters.alpha);
  const old = await site.instance(NODE, '--handover', directory);
  await ready(old);
  await site.published(`alpha-${NODE}`);
  const next = site.management.instance(NODE);
  return {
    old,
    next,
    start: (...flags: readonly string[]) => next.start(...FAST, '--handover', directory, ...flags),
  };
}

describe('a successor', () => {
  /** The old process serves, and its Lease and slice do not change, until `heal` lets the successor take over. */
  async function waits(
    { old, next, start }: Awaited<ReturnType<typeof pair>>,
    flags: readonly string[],
    expected: RegExp,
    heal: () => void,
  ): Promise<void> {
    const before = site.slice(`alpha-${NODE}`)?.metadata.resourceVersion;
    const serving = start(...flags);
    await until('it says why it waits', () =>
      next.log.some(
        ({ msg, reason }) => msg.startsWith('not ready: the predecessor') && expected.test(`${reason}`),
      ),
    );
    expect(await site.ask(old, site.clusters.alpha)).toContain('alpha');
    expect(old.log.some(({ msg }) => msg.startsWith('handed over'))).toBe(false);
    expect(site.slice(`alpha-${NODE}`)?.metadata.resourceVersion).toBe(before);
    heal();
    await serving;
    await ready(next);
  }

  test('that reaches none of the published clusters does not take over, and does once it reaches one', async () => {
    const both = await pair();
    const directory = mkdtempSync(join(tmpdir(), 'isthmus-netns-'));
    cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
    const empty = join(directory, 'netns');
    await waits(
      both,
      ['--netns-dir', empty],
      /published-clusters: this instance publishes alpha, and this process reaches none of them/,
      () => symlinkSync('/run/netns', empty),
    );
  });

  test('without a right to publish does not take over, and does once it is granted', async () => {
    const both = await pair();
    site.api.access.set(USER, rules({ verb: 'create', resource: 'endpointslices' }));
    await waits(both, [], /rights: may not create endpointslices\.discovery\.k8s\.io in magnum-system/, () =>
      site.api.access.set(USER, rules()),
    );
  });

  test('replaces a process whose clusters it does not reach if the operator says so', async () => {
    const { next, start } = await pair();
    await start('--netns-dir', '/run/no-such-directory', '--take-over');
    await until('it withdraws the slice', () => site.slice(`alpha-${NODE}`) === null);
    await ready(next);
  });
});

describe('a successor that cannot read the API', () => {
  test('does not take over, and does once it can', async () => {
    const { old, next, start } = await pair();
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
