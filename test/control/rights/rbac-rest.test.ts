// The rights that rbac.test.ts and rbac-writes.test.ts do not remove: for listeners, Nodes, repeated Events, and the Lease at the end.
// Together the three files cover the whole table. A new right in the table needs a test of its absence.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { neededRights } from '../../../src/control/objects/needed-rights.ts';
import type { Isthmus } from '../../support/isthmus.ts';
import { forbidden } from '../../support/kubernetes/access-rules.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { ip } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { until } from '../../support/tcp.ts';

const USER = 'system:isthmus:net-1';
const TABLE = neededRights({ namespace: null, clusterNamespace: null, nodeSelector: {} });
const MACHINE = '10.0.0.11';
const LISTENER = {
  clusterName: 'alpha',
  port: 443,
  targetPort: 8443,
  protocol: 'TLS',
  selector: { matchLabels: { app: 'redis' } },
};

/** The rights that the other two files remove. */
const ELSEWHERE = [
  ...['list', 'watch'].flatMap((verb) =>
    ['openstackclusters', 'secrets', 'services', 'endpointslices', 'leases'].map((what) => `${verb} ${what}`),
  ),
  ...[
    'get leases',
    'create leases',
    'patch leases',
    'create services',
    'create endpointslices',
    'create events',
  ],
  ...['patch services', 'delete services', 'patch endpointslices', 'delete endpointslices'],
  ...['get secrets', 'patch secrets'],
];
const LISTENERS = [
  ['list', 'additionallisteners'],
  ['watch', 'additionallisteners'],
  ['patch', 'additionallisteners/status'],
  ['list', 'machines'],
  ['watch', 'machines'],
] as const;
const OTHERS = ['list nodes', 'watch nodes', 'patch events', 'delete leases'];

let site: PublishSite;
let machine: NetnsServer;
let isthmus: Isthmus;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
  const { netns, certificate } = site.clusters.alpha;
  ip('-n', netns, 'address', 'add', `${MACHINE}/32`, 'dev', 'lo');
  machine = await NetnsServer.start(
    netns,
    'https',
    MACHINE,
    '8443',
    'a',
    certificate.certFile,
    certificate.keyFile,
  );
  site.api.store.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'net-1' } });
  site.management.addMachine('a', 'alpha', MACHINE, { app: 'redis' });
});
afterAll(async () => {
  await machine.stop();
  await site.stop();
});

const allow = (without = '') =>
  site.api.access.set(
    USER,
    TABLE.map(({ group, resource, verbs }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: verbs.filter((verb) => `${verb} ${resource}` !== without),
    })),
  );
const start = async (without: string, ...flags: readonly string[]) => {
  isthmus = site.management.instance('net-1');
  allow(without);
  await isthmus.start(...FAST, ...flags);
};
const expectReported = async (verb: string, resource: string) => {
  await site.problem(isthmus, forbidden(verb, resource));
  await until('the log says so', () =>
    isthmus.log.some(
      ({ level, reason, error }) => level === 'warn' && forbidden(verb, resource).test(`${reason} ${error}`),
    ),
  );
  // All other work continues.
  await site.published('alpha-net-1');
  await isthmus.untilState('alpha', 'serving'); // the slice may come from the previous process
  expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
};

test('the tests remove every right of the table once', () => {
  const here = [...LISTENERS.map((each) => each.join(' ')), ...OTHERS];
  const all = TABLE.flatMap(({ resource, verbs }) => verbs.map((verb) => `${verb} ${resource}`));
  expect([...ELSEWHERE, ...here].sort()).toEqual(all.sort());
});

describe('without the right to', () => {
  afterEach(async () => {
    isthmus.signal('SIGKILL');
    await isthmus.ended();
  });

  test.each(LISTENERS)('%s %s, the problem names it until it is granted', async (verb, resource) => {
    await start(`${verb} ${resource}`);
    site.management.addListener('web', LISTENER);
    await expectReported(verb, resource);
    allow();
    await site.published('alpha-web-net-1');
    await until('its status says so', () => site.management.conditions('web').Ready?.status === 'True');
    await site.untilWell(isthmus);
    site.management.deleteListener('web');
    await until('its slice is gone', () => site.slice('alpha-web-net-1') === null);
  });

  test.each(['list', 'watch'])('%s nodes, the instance takes part and reports it', async (verb) => {
    await start(`${verb} nodes`, '--node-selector', '[{"key":"a","operator":"DoesNotExist"}]');
    await expectReported(verb, 'nodes');
  });

  test('patch Events, a repeated Event appears only in the log', async () => {
    await start('patch events');
    await site.published('alpha-net-1');
    const flap = async () => {
      await site.clusters.servers.get('alpha')?.stop();
      await isthmus.untilState('alpha', 'unhealthy');
      await site.clusters.serve(site.clusters.alpha);
      await isthmus.untilState('alpha', 'serving');
    };
    await flap();
    await flap();
    await expectReported('patch', 'events');
  });

  test('delete its Lease, the instance still stops normally, and the Lease expires', async () => {
    await start('delete leases');
    await until('it holds its Lease', async () => (await isthmus.status()).kubernetes?.lease === 'held');
    await site.published('alpha-net-1');
    isthmus.signal('SIGTERM');
    expect(await isthmus.ended()).toBe(0);
    expect(site.management.names('coordination.k8s.io/v1', 'Lease')).toEqual(['isthmus-net-1']);
    expect(site.slice('alpha-net-1')).toBeNull();
  });
});
