import { describe, expect, test } from 'vitest';
import type { CertificateReading } from '../../health/server-certificate.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import { backendKey } from '../../routing/route-table.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { settledResult } from '../settled-result.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';
import { type Observed, type World, worldOf } from '../world/world.ts';
import type { DesiredSettings } from './desired-context.ts';
import { desiredState } from './desired-state.ts';

const ID = '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66';
const LB_ID = 'c4f0a1d2-7b36-4e58-9f10-2a6b8c0d4e5f';
const SETTINGS = { namespace: 'magnum-system', defaultCluster: null };

const facts = (changes: Partial<ClusterFacts> = {}): ClusterFacts => ({
  key: 'magnum-system/prod-x7k2',
  name: 'prod',
  namespace: 'magnum-system',
  origin: 'prod.yaml',
  networkIds: [ID],
  address: '10.0.0.5',
  port: 6443,
  ...changes,
});
const proxied = (changes: Partial<ClusterFacts> = {}): ClusterReading => ({
  kind: 'proxied',
  facts: facts(changes),
});
const other = (
  kind: 'pending' | 'invalid' | 'not-proxied',
  changes: Partial<ClusterFacts> = {},
): ClusterReading => {
  const { key, name, namespace, origin, createdAtMs = null } = facts(changes);
  return { kind, key, name, namespace, origin, createdAtMs, reason: 'status.network.id is missing' };
};
const netns = (name: string) => ({ name, path: `/run/netns/${name}`, identity: `id of ${name}` });
const keyIn = (name: string, address = '10.0.0.5') => backendKey({ address, port: 6443, netns: netns(name) });
const up: TargetHealth = {
  up: true,
  sinceMs: 1,
  lastProbe: { atMs: 2, ok: true, durationMs: 1, error: null },
};
const down: TargetHealth = {
  up: false,
  sinceMs: 1,
  lastProbe: { atMs: 2, ok: false, durationMs: 1, error: 'ECONNREFUSED' },
};
const failed = (error: string): TargetHealth => ({
  ...down,
  lastProbe: { atMs: 2, ok: false, durationMs: 1, error },
});

interface Given {
  readonly clusters: readonly ClusterReading[];
  readonly netns?: readonly string[];
  readonly health?: Readonly<Record<string, TargetHealth>>;
  readonly previous?: World;
}
const observed = ({ clusters, netns: names = [], health = {} }: Given): Observed => ({
  source: { complete: true, clusters, problems: [] },
  netns: { complete: true, entries: names.map(netns), problems: [] },
  health: new Map(Object.entries(health)),
});
const world = (given: Given) => worldOf(observed(given), given.previous ?? null);
const desired = (given: Given, settings: DesiredSettings = SETTINGS) =>
  desiredState(world(given), settings, new TurnCache());
const netnsOf = (route: { backends: readonly { netns: { path: string } | null }[] } | undefined | null) =>
  route?.backends.map((backend) => backend.netns?.path.slice('/run/netns/'.length));

const NAMES = [
  'prod.magnum-system',
  'prod',
  'prod.magnum-system.svc',
  'prod.magnum-system.svc.cluster.local',
];

describe('the certificate of an API server', () => {
  const [FIRST, SECOND] = [`ovnmeta-${ID}`, `qdhcp-${ID}`];
  const reading = (names: readonly string[], expiry: CertificateReading['expiry'] = 'valid') => ({
    certificate: { names, omitted: 0, notAfterMs: Date.UTC(2027, 0, 1) },
    expiry,
    error: null,
  });
  const FAILED: CertificateReading = { certificate: null, expiry: 'valid', error: 'ETIMEDOUT' };
  const decide = (
    certificates: Readonly<Record<string, CertificateReading>>,
    health = { [keyIn(FIRST)]: up },
  ) =>
    desiredState(
      worldOf(
        {
          ...observed({ clusters: [proxied()], netns: [FIRST, SECOND], health }),
          certificates: new Map(Object.entries(certificates)),
        },
        null,
      ),
      SETTINGS,
      new TurnCache(),
    );

  test('is published with its server names first, and shown with what is wrong', () => {
    const { clusters, publications, problems } = decide({
      [keyIn(FIRST)]: reading(['cp-0', 'prod.magnum-system'], 'soon'),
    });
    const record = {
      names: ['prod.magnum-system', 'cp-0'],
      omitted: 0,
      notAfter: '2027-01-01T00:00:00.000Z',
    };
    expect(publications[0]?.certificate).toEqual(record);
    const reason = 'the certificate of the API server ends at 2027-01-01T00:00:00.000Z: renew it';
    expect(clusters[0]?.certificate).toEqual({
      ...record,
      expiry: 'soon',
      verifies: true,
      problems: [reason],
    });
    expect(problems).toEqual([{ origin: 'certificate of prod.yaml', reason }]);
  });

  test('without a server name says so, and names what it has', () => {
    const { clusters } = decide({ [keyIn(FIRST)]: reading(['kubernetes']) });
    expect(clusters[0]?.certificate).toMatchObject({ verifies: false });
    expect(clusters[0]?.certificate?.problems[0]).toMatch(/none of the names .*\(prod.*: it has kubernetes$/);
  });

  test('counts only what all backends that are up have in common', () => {
    const both = { [keyIn(FIRST)]: up, [keyIn(SECOND)]: up };
    const certificates = {
      [keyIn(FIRST)]: reading(['prod', 'cp-0']),
      [keyIn(SECOND)]: reading(['prod', 'cp-1'], 'expired'),
    };
    expect(decide(certificates, both).clusters[0]?.certificate).toMatchObject({
      names: ['prod'],
      expiry: 'expired',
    });
    expect(decide(certificates).clusters[0]?.certificate).toMatchObject({ names: ['prod', 'cp-0'] });
  });

  test.each<[title: string, certificates: Readonly<Record<string, CertificateReading>>, published: string]>([
    ['not read yet', {}, 'unread'],
    ['not readable', { [keyIn(FIRST)]: FAILED }, 'unknown'],
    ['read only through a backend that is down', { [keyIn(SECOND)]: reading(['prod']) }, 'unread'],
  ])('that is %s is absent', (_title, certificates, published) => {
    const { clusters, publications } = decide(certificates);
    expect(clusters[0]).not.toHaveProperty('certificate');
    expect(publications[0]?.certificate).toBe(published);
  });

  test('is part of the decision that the next turn uses again', () => {
    const cache = new TurnCache();
    const clusters = [proxied()];
    const turn = (certificates: ReadonlyMap<string, CertificateReading>) => {
      const given = {
        ...observed({ clusters, netns: [FIRST], health: { [keyIn(FIRST)]: up } }),
        certificates,
      };
      return desiredState(worldOf(given, null), SETTINGS, cache).clusters[0]?.certificate?.names;
    };
    expect(turn(new Map())).toBeUndefined();
    expect(turn(new Map([[keyIn(FIRST), reading(['prod'])]]))).toEqual(['prod']);
    expect(turn(new Map([[keyIn(FIRST), reading(['a'])]]))).toEqual(['a']);
  });
});

describe('a cluster in another namespace than the Services', () => {
  const [NAME, ELSEWHERE] = [`qdhcp-${ID}`, `qdhcp-${LB_ID}`];
  const inTenant = (tenant: string, changes: Partial<ClusterFacts> = {}) =>
    proxied({ key: `${tenant}/prod-x7k2`, namespace: tenant, origin: `${tenant}.yaml`, ...changes });
  const ownNames = (tenant: string) => [
    `prod.${tenant}`,
    `prod.${tenant}.svc`,
    `prod.${tenant}.svc.cluster.local`,
  ];
  const both = (a: ClusterReading, b: ClusterReading) => ({
    clusters: [a, b],
    netns: [NAME, ELSEWHERE],
    health: { [keyIn(NAME)]: up, [keyIn(ELSEWHERE)]: up },
  });

  test('serves the names of its Service and those of its own namespace, which its certificate contains', () => {
    const { routes, clusters } = desired({ clusters: [inTenant('tenant-a')], netns: [NAME] });
    expect([...routes.byServerName.keys()]).toEqual([...NAMES, ...ownNames('tenant-a')]);
    expect(clusters[0]?.serverNames).toEqual([...NAMES, ...ownNames('tenant-a')]);
  });

  test('keeps the names of its own namespace while a cluster of another namespace holds its name', () => {
    const first = inTenant('tenant-a', { createdAtMs: 1 });
    const second = inTenant('tenant-b', { createdAtMs: 2, networkIds: [LB_ID] });
    const { routes, clusters, publications } = desired(both(first, second), {
      ...SETTINGS,
      defaultCluster: 'prod',
    });
    const byNetns = Object.groupBy(routes.byServerName.keys(), (name) =>
      String(netnsOf(routes.byServerName.get(name))),
    );
    expect(byNetns).toEqual({
      [NAME]: [...NAMES, ...ownNames('tenant-a')],
      [ELSEWHERE]: ownNames('tenant-b'),
    });
    expect(routes.defaultRoute?.namespace).toBe('tenant-a');
    expect(publications.map(({ namespace }) => namespace)).toEqual(['tenant-a']);
    expect(clusters).toMatchObject([
      { namespace: 'tenant-a', state: 'serving' },
      { namespace: 'tenant-b', state: 'invalid', serverNames: [], ownServerNames: ownNames('tenant-b') },
    ]);
  });

  test.each<[title: string, other: ClusterReading]>([
    [
      'of the same namespace',
      inTenant('tenant-a', { key: 'tenant-a/prod-other', createdAtMs: 2, networkIds: [LB_ID] }),
    ],
    ['without facts', other('pending', { key: 'tenant-b/prod-x7k2', namespace: 'tenant-b', createdAtMs: 2 })],
    [
      'of a namespace with an invalid name',
      inTenant('tenant-b.svc', { createdAtMs: 2, networkIds: [LB_ID] }),
    ],
  ])('takes no name from a second cluster %s, which has none', (_title, second) => {
    const { routes, clusters } = desired(both(inTenant('tenant-a', { createdAtMs: 1 }), second));
    expect([...routes.byServerName.keys()]).toEqual([...NAMES, ...ownNames('tenant-a')]);
    expect(clusters[1]).not.toHaveProperty('ownServerNames');
  });

  test('in the same namespace as another one leaves their names to the one with the better claim', () => {
    const holder = inTenant('tenant-a', { createdAtMs: 1 });
    const b1 = inTenant('tenant-b', { createdAtMs: 2, networkIds: [LB_ID] });
    const b2 = inTenant('tenant-b', { key: 'tenant-b/another', createdAtMs: 3 });
    const { clusters } = desired({ ...both(holder, b1), clusters: [b2, holder, b1] });
    const withNames = clusters.filter(({ ownServerNames }) => ownServerNames !== undefined);
    expect(withNames.map(({ backends }) => backends[0]?.netns)).toEqual([ELSEWHERE]);
  });
});

describe('a proxied cluster', () => {
  test('serves under its four names by its healthy backends, best first', () => {
    const names = [`zone-${ID}`, `qdhcp-${ID}`, `ovnmeta-${ID}`, 'unrelated', `qrouter-${ID}`];
    const health = {
      [keyIn(`zone-${ID}`)]: up,
      [keyIn(`qdhcp-${ID}`)]: up,
      [keyIn(`ovnmeta-${ID}`)]: down,
    };
    const { routes, clusters, backends } = desired(
      { clusters: [proxied()], netns: names, health },
      { ...SETTINGS, netnsPrefixes: ['zone-'] },
    );
    expect([...routes.byServerName.keys()]).toEqual(NAMES);
    for (const name of NAMES)
      expect(netnsOf(routes.byServerName.get(name))).toEqual([`qdhcp-${ID}`, `zone-${ID}`]);
    expect(clusters).toMatchObject([{ name: 'prod', state: 'serving', serverNames: NAMES }]);
    expect(clusters[0]?.backends.map((backend) => [backend.netns, backend.up])).toEqual([
      [`ovnmeta-${ID}`, false],
      [`qdhcp-${ID}`, true],
      [`zone-${ID}`, true],
    ]);
    expect(clusters[0]?.reason).toBe(
      `answers at 10.0.0.5:6443 in qdhcp-${ID}, 10.0.0.5:6443 in zone-${ID}; ` +
        `no answer at 10.0.0.5:6443 in ovnmeta-${ID} (ECONNREFUSED)`,
    );
    expect(backends.map(({ serverName }) => serverName)).toEqual(Array(3).fill('prod.magnum-system'));
    expect(backends.map(({ key }) => key).sort()).toEqual(Object.keys(health).sort());
  });

  test('reports the network of its spec that is not used, and a change of it', () => {
    const unused = { ...proxied(), facts: facts({ unusedSpecNetworkId: LB_ID }) } as ClusterReading;
    const before = desired({ clusters: [proxied()] });
    const after = settledResult(before, desired({ clusters: [unused] }));
    expect(before.clusters[0]).not.toHaveProperty('unusedSpecNetworkId');
    expect(after).not.toBe(before);
    expect(after.clusters[0]).toMatchObject({ state: 'no-netns', unusedSpecNetworkId: LB_ID });
    const pending = { ...other('pending'), unusedSpecNetworkId: LB_ID } as ClusterReading;
    expect(desired({ clusters: [pending] }).clusters[0]).toMatchObject({ unusedSpecNetworkId: LB_ID });
  });

  test("is looked for on its load balancer's network first", () => {
    const names = [`ovnmeta-${ID}`, `qdhcp-${LB_ID}`];
    const health = Object.fromEntries(names.map((name) => [keyIn(name), up]));
    const { routes } = desired({ clusters: [proxied({ networkIds: [LB_ID, ID] })], netns: names, health });
    expect(netnsOf(routes.byServerName.get('prod'))).toEqual([`qdhcp-${LB_ID}`, `ovnmeta-${ID}`]);
  });

  test.each<[string, TargetHealth | undefined, string]>([
    ['never probed', undefined, '(not checked yet)'],
    ['refusing', down, '(ECONNREFUSED)'],
    ['without an answer at our deadline', failed('ETIMEDOUT'), '(ETIMEDOUT)'],
    [
      "without an answer at the kernel's deadline, with the same reason as at ours",
      failed('EHOSTUNREACH'),
      '(ETIMEDOUT)',
    ],
    ['passing for the first time', { ...up, up: false }, '(coming up)'],
  ])('with a backend %s is unhealthy, routed to nothing and still known by name', (_title, health, why) => {
    const name = `qdhcp-${ID}`;
    const given = {
      clusters: [proxied()],
      netns: [name],
      ...(health ? { health: { [keyIn(name)]: health } } : {}),
    };
    const { routes, clusters, backends } = desired(given);
    expect(routes.byServerName.get('prod')).toEqual({
      cluster: 'prod',
      namespace: 'magnum-system',
      backends: [],
    });
    expect(clusters).toMatchObject([
      { state: 'unhealthy', reason: `no backend passes its health check: 10.0.0.5:6443 in ${name} ${why}` },
    ]);
    expect(backends.map(({ key }) => key)).toEqual([keyIn(name)]);
  });

  test('in an OVN netns has a reason that mentions other nodes', () => {
    const { clusters } = desired({ clusters: [proxied()], netns: [`ovnmeta-${ID}`] });
    expect(clusters[0]?.reason).toMatch(/with OVN this is normal/);
  });

  test('without a netns reports the expected netns names', () => {
    const { routes, clusters, backends } = desired({ clusters: [proxied()], netns: [`qdhcp-${LB_ID}`] });
    expect(routes.byServerName.get('prod')?.backends).toEqual([]);
    expect(backends).toEqual([]);
    expect(clusters).toMatchObject([
      {
        state: 'no-netns',
        backends: [],
        reason:
          `no netns on this host belongs to network ${ID} (expected ovnmeta-${ID} or qdhcp-${ID}); ` +
          'perhaps this node does not host that network',
      },
    ]);
  });

  test('with an unusable or unreadable netns reports that instead', () => {
    const { source, health } = observed({ clusters: [proxied()] });
    const problems = [{ name: `qdhcp-${ID}`, reason: 'not a network namespace' }];
    const unusable = worldOf({ source, health, netns: { complete: true, entries: [], problems } }, null);
    const blind = worldOf({ source, health, netns: { complete: false, entries: [], problems: [] } }, null);
    expect(desiredState(unusable, SETTINGS, new TurnCache()).clusters[0]?.reason).toBe(
      `its netns cannot be used: qdhcp-${ID}: not a network namespace`,
    );
    expect(desiredState(blind, SETTINGS, new TurnCache()).clusters[0]?.reason).toMatch(
      /the netns directory is not completely readable/,
    );
    expect(desiredState(blind, SETTINGS, new TurnCache()).complete).toBe(false);
  });
});

describe('a cluster whose object cannot be used now', () => {
  const name = `qdhcp-${ID}`;
  const health = { [keyIn(name)]: up };
  const previous = world({ clusters: [proxied()], netns: [name], health });

  test.each(['pending', 'invalid'] as const)('and is %s keeps its last known route', (kind) => {
    const { routes, clusters, backends } = desired({
      clusters: [other(kind)],
      netns: [name],
      health,
      previous,
    });
    expect(netnsOf(routes.byServerName.get('prod'))).toEqual([name]);
    expect(backends).toHaveLength(1);
    expect(clusters).toMatchObject([
      {
        state: kind,
        reason: `status.network.id is missing; the last known route stays, and answers at 10.0.0.5:6443 in ${name}`,
      },
    ]);
  });

  test.each(['pending', 'invalid'] as const)(
    'and is %s from the start has a route without backends',
    (kind) => {
      const { routes, clusters } = desired({ clusters: [other(kind)], netns: [name], health });
      expect(routes.byServerName.get('prod')?.backends).toEqual([]);
      expect(clusters).toMatchObject([
        { state: kind, reason: 'status.network.id is missing', serverNames: NAMES },
      ]);
    },
  );

  test('loses its route if its name changes', () => {
    const { routes } = desired({
      clusters: [other('pending', { name: 'else' })],
      netns: [name],
      health,
      previous,
    });
    expect(routes.byServerName.get('else')?.backends).toEqual([]);
    expect(routes.byServerName.has('prod')).toBe(false);
  });

  test.each(['', 'a.b', 'Prod', '1a', 'a'.repeat(64)])('and has the name %j has no route', (bad) => {
    const { routes, clusters } = desired({ clusters: [other('invalid', { name: bad })] });
    expect(routes.byServerName.size).toBe(0);
    expect(clusters).toMatchObject([
      { state: 'invalid', reason: 'status.network.id is missing', serverNames: [] },
    ]);
  });
});

test('a cluster that is not proxied appears only in status, also if it was proxied before', () => {
  const name = `qdhcp-${ID}`;
  const previous = world({ clusters: [proxied()], netns: [name], health: { [keyIn(name)]: up } });
  const { routes, clusters, backends } = desired({
    clusters: [other('not-proxied')],
    netns: [name],
    previous,
  });
  expect([routes.byServerName.size, backends.length]).toEqual([0, 0]);
  expect(clusters).toMatchObject([{ state: 'not-proxied', serverNames: [] }]);
});

describe('of two clusters with one name', () => {
  const OTHER_ID = LB_ID;
  const mine = facts({ createdAtMs: 2000 });
  const rival = (changes: Partial<ClusterFacts>) =>
    facts({ key: 'aaa/rival', namespace: 'aaa', origin: 'rival.yaml', networkIds: [OTHER_ID], ...changes });

  test.each<[string, ClusterReading, ClusterReading, string]>([
    [
      'the one in our own namespace keeps it, though the other is older',
      proxied(mine),
      proxied(rival({ createdAtMs: 1 })),
      'is in namespace magnum-system',
    ],
    [
      'the older keeps it, though the other sorts first',
      proxied(mine),
      proxied(rival({ key: 'magnum-system/aaa', namespace: 'magnum-system', createdAtMs: 3000 })),
      'is older',
    ],
    [
      'the one with a known age keeps it',
      proxied(mine),
      proxied(rival({ key: 'magnum-system/aaa', namespace: 'magnum-system' })),
      'is older',
    ],
    [
      'the one with the first key keeps it, if both have the same age',
      proxied(mine),
      proxied(rival({ key: 'magnum-system/zzz', namespace: 'magnum-system', createdAtMs: 2000 })),
      'comes first by name',
    ],
    [
      'a pending one keeps it: a lost status must not hand its name over',
      other('pending', mine),
      proxied(rival({})),
      'is in namespace magnum-system',
    ],
    [
      'one in our own namespace that was never valid keeps it, because it may be corrected',
      other('invalid', mine),
      proxied(rival({})),
      'is in namespace magnum-system',
    ],
    [
      'of two tenants, a cluster that was never valid does not keep it',
      proxied(rival({})),
      other('invalid', facts({ key: 'bbb/mine', namespace: 'bbb', createdAtMs: 2000 })),
      'is valid',
    ],
  ])('%s', (_title, winner, loser, why) => {
    for (const clusters of [
      [winner, loser],
      [loser, winner],
    ]) {
      const {
        routes,
        clusters: statuses,
        backends,
      } = desired({ clusters, netns: [`qdhcp-${ID}`, `qdhcp-${OTHER_ID}`] });
      const winnerKey = winner.kind === 'proxied' ? winner.facts.key : winner.key;
      const loserOrigin = loser.kind === 'proxied' ? loser.facts.origin : loser.origin;
      const lost = statuses.find(({ origin }) => origin === loserOrigin);
      expect(lost).toMatchObject({ state: 'invalid', serverNames: [] });
      expect(lost?.reason).toContain(`the cluster name prod belongs to ${winnerKey}`);
      expect(lost?.reason).toContain(`which ${why};`);
      const won = statuses.find(({ origin }) => origin !== loserOrigin);
      // The conflict does not affect the winner.
      expect(won).toEqual(
        desired({ clusters: [winner], netns: [`qdhcp-${ID}`, `qdhcp-${OTHER_ID}`] }).clusters[0],
      );
      const shown = [...(lost?.backends ?? []), ...(won?.backends ?? [])];
      expect(backends.map(({ key }) => key).sort()).toEqual(shown.map(({ key }) => key).sort());
      // Only the names of its own namespace lead to the loser.
      const own = lost?.ownServerNames ?? [];
      expect([...routes.byServerName.keys()].sort()).toEqual([...(won?.serverNames ?? []), ...own].sort());
      expect(own.filter((name) => won?.serverNames.includes(name))).toEqual([]);
    }
  });

  test('a cluster that becomes invalid keeps the name that it served', () => {
    const previous = world({ clusters: [proxied(mine)] });
    const { clusters } = desired({ clusters: [other('invalid', mine), proxied(rival({}))], previous });
    expect(clusters.map(({ origin, serverNames }) => [origin, serverNames.length])).toEqual([
      ['rival.yaml', 0],
      ['prod.yaml', 4],
    ]);
  });

  test('a cluster that is not proxied claims no name in a namespace of tenants', () => {
    const theirs = facts({ key: 'bbb/mine', namespace: 'bbb' });
    const { clusters } = desired({ clusters: [other('not-proxied', theirs), proxied(rival({}))] });
    expect(clusters.map(({ state }) => state)).toEqual(['no-netns', 'not-proxied']);
  });

  test('a cluster in our own namespace that is not proxied reserves its name', () => {
    const { clusters } = desired({ clusters: [other('not-proxied', mine), proxied(rival({}))] });
    expect(clusters.map(({ state }) => state)).toEqual(['invalid', 'not-proxied']);
  });
});

describe('the default cluster', () => {
  test('gets the clients without a server name, also while none of its backends answers', () => {
    const { routes, problems } = desired({ clusters: [proxied()] }, { ...SETTINGS, defaultCluster: 'prod' });
    expect(routes.defaultRoute).toBe(routes.byServerName.get('prod'));
    expect(routes.defaultRoute).not.toBeNull();
    expect(problems).toEqual([]);
  });

  test('that does not exist causes a problem, and there is no default route', () => {
    const { routes, problems } = desired({ clusters: [proxied()] }, { ...SETTINGS, defaultCluster: 'nope' });
    expect(routes.defaultRoute).toBeNull();
    expect(problems).toEqual([
      { origin: '--default-cluster', reason: expect.stringContaining('named nope') },
    ]);
  });
});

test('status is sorted by cluster name, not by object name', () => {
  const clusters = [
    proxied({ key: 'ns/1', name: 'b', namespace: 'ns' }),
    proxied({ key: 'ns/2', name: 'a', namespace: 'ns' }),
  ];
  expect(desired({ clusters }).clusters.map(({ name }) => name)).toEqual(['a', 'b']);
});

test('problems of the source are passed on for status', () => {
  const { netns: namespaces, health } = observed({ clusters: [] });
  const problems = [{ origin: 'bad.yaml', reason: 'not YAML' }];
  const source = { complete: false, clusters: [], problems };
  expect(
    desiredState(worldOf({ source, netns: namespaces, health }, null), SETTINGS, new TurnCache()),
  ).toMatchObject({
    complete: false,
    problems,
  });
});
