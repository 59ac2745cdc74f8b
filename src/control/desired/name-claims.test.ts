import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { serviceOf } from '../objects/published-objects.ts';
import { hashedName, type NamedListener } from '../objects/service-names.ts';
import { keyOf, nameOf } from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';
import { type NameQuestion, nameClaims } from './name-claims.ts';
import { nameRecords } from './name-records.ts';

const OWN = 'magnum-system';
type Service = ReturnType<typeof serviceOf>;

const cluster = (
  key: string,
  name: string,
  createdAtMs: number | null = 5,
  kind: ClusterReading['kind'] = 'proxied',
): ClusterReading => {
  const namespace = key.slice(0, key.indexOf('/'));
  const common = { key, name, namespace, origin: `origin of ${key}`, createdAtMs };
  return kind === 'proxied'
    ? { kind, facts: { ...common, networkIds: [], address: '10.0.0.1', port: 6443 } }
    : { ...common, kind, reason: `is ${kind}` };
};
const listener = (key: string, name: string, poolName: string, createdAtMs = 5): NamedListener => ({
  key,
  cluster: name,
  poolName,
  createdAtMs,
});
const clusterService = (name: string, holder?: string, clusterNamespace?: string): [string, Service] => {
  const optional = {
    ...(holder !== undefined && { holder }),
    ...(clusterNamespace !== undefined && { clusterNamespace }),
  };
  return [
    name,
    serviceOf({ cluster: name, namespace: OWN, owner: null, mode: 'lease', tags: {}, ...optional }),
  ];
};
const listenerService = ({ key, cluster: name }: NamedListener, service: string): [string, Service] => [
  service,
  serviceOf({
    cluster: name,
    namespace: OWN,
    owner: null,
    mode: 'lease',
    tags: {},
    listener: { key, service, port: 22, selector: 'x' },
  }),
];

type Asked = Partial<Omit<NameQuestion, 'records'>> & {
  readonly services?: readonly [string, Service][];
  readonly scope?: string | null;
};
const claimsOf = ({ services = [], scope = null, ...asked }: Asked) =>
  nameClaims({
    clusters: [],
    lastKnown: new Map(),
    listeners: [],
    records: nameRecords(new Map(services), scope),
    servicesListed: true,
    clustersComplete: true,
    listenersComplete: true,
    ownNamespace: OWN,
    ...asked,
  });
/** By name: the key of its holder. */
const holdersOf = (asked: Asked): Record<string, string> => {
  const claims = claimsOf(asked);
  const holders = (asked.clusters ?? [])
    .filter((reading) => claims.holds(reading))
    .map((reading) => [nameOf(reading), keyOf(reading)]);
  const services = (asked.listeners ?? []).map((each) => [claims.listenerName(each).service, each.key]);
  return Object.fromEntries([...holders, ...services].filter(([name]) => name !== null));
};

const ALPHA = cluster(`${OWN}/alpha-x`, 'alpha');
const WEB = listener(`${OWN}/web`, 'alpha', 'web');
const THIEF = cluster('tenant-b/thief', 'alpha-web', 1);

describe('a name that one of our Services records', () => {
  test('for a listener is not given to an older cluster, and the reason names the listener', () => {
    const asked = {
      clusters: [ALPHA, THIEF, cluster(`${OWN}/also`, 'alpha-web', 0)],
      listeners: [WEB],
      services: [listenerService(WEB, 'alpha-web')],
    };
    expect(holdersOf(asked)).toEqual({ alpha: `${OWN}/alpha-x`, 'alpha-web': `${OWN}/web` });
    expect(claimsOf(asked).refusal(THIEF)).toBe(
      `the name alpha-web belongs to AdditionalListener ${OWN}/web, which holds it by the record on Service alpha-web; ` +
        'this one is served once the other is deleted or one of them is renamed',
    );
  });

  test('for a listener stays reserved while the listener is unreadable, and until its Service is deleted', () => {
    for (const listenersComplete of [false, true]) {
      const asked = { clusters: [THIEF], services: [listenerService(WEB, 'alpha-web')], listenersComplete };
      expect(holdersOf(asked)).toEqual({});
    }
  });

  const holder = cluster('tenant-v/prod-x', 'prod', 9);
  const older = cluster('tenant-b/old', 'prod', 1);
  const recorded = [clusterService('prod', 'tenant-v/prod-x')];

  test.each<[string, ClusterReading, ClusterReading]>([
    ['an older object', holder, older],
    ['an object in our own namespace', holder, cluster(`${OWN}/prod`, 'prod', 1)],
    [
      'a valid one while the holder has lost its status',
      cluster('tenant-v/prod-x', 'prod', 9, 'pending'),
      older,
    ],
    ['a valid one while the holder is invalid', cluster('tenant-v/prod-x', 'prod', 9, 'invalid'), older],
  ])('for a cluster is not given to %s', (_title, having, asking) => {
    const asked = { clusters: [asking, having], services: recorded };
    expect(holdersOf(asked)).toEqual({ prod: 'tenant-v/prod-x' });
    expect(claimsOf(asked).refusal(asking)).toContain(
      'the cluster name prod belongs to tenant-v/prod-x (origin of tenant-v/prod-x), which holds it by the record on Service prod;',
    );
  });

  test('stays reserved for a holder that is missing from an incomplete list', () => {
    const asked = { clusters: [older], services: recorded, clustersComplete: false };
    expect(holdersOf(asked)).toEqual({});
    expect(claimsOf(asked).refusal(older)).toContain('and cannot be read now;');
  });

  test.each<[string, ClusterReading[]]>([
    ['was deleted', []],
    ['has another name', [cluster('tenant-v/prod-x', 'other', 9)]],
  ])(
    'whose holder %s goes to the same namespace, or to another after the Service is withdrawn',
    (_title, now) => {
      const asked = { clusters: [older, ...now], services: recorded };
      expect(holdersOf(asked).prod).toBeUndefined();
      expect(claimsOf(asked).refusal(older)).toContain(
        'belongs to tenant-v/prod-x, which held it by the record on Service prod, which is being withdrawn;',
      );
      expect(holdersOf({ ...asked, services: [] }).prod).toBe('tenant-b/old');
      const next = cluster('tenant-v/prod-y', 'prod', 99);
      expect(holdersOf({ ...asked, clusters: [older, next, ...now] }).prod).toBe('tenant-v/prod-y');
      expect(holdersOf({ ...asked, clusters: [next, ...now], clustersComplete: false }).prod).toBeUndefined();
    },
  );

  test('for a cluster that is no longer proxied stays reserved until that cluster alone withdraws its Service', () => {
    const leaving = cluster('tenant-v/prod-x', 'prod', 9, 'not-proxied');
    const alsoLeaving = cluster('tenant-b/first', 'prod', 1, 'not-proxied');
    const clusters = [older, leaving, alsoLeaving];
    const claims = claimsOf({ clusters, services: recorded });
    expect(clusters.map((each) => claims.mayLeave(each))).toEqual([false, true, false]);
    expect(claims.refusal(older)).toContain('and is being withdrawn;');
    expect(holdersOf({ clusters })).toEqual({ prod: 'tenant-b/old' });
  });

  test('for a cluster in a namespace of other instances belongs to that cluster', () => {
    const services = [clusterService('prod', 'tenant-v/prod-x', 'tenant-v')];
    const asked = { clusters: [cluster('tenant-b/prod', 'prod', 1)], services, scope: 'tenant-b' };
    expect(holdersOf(asked)).toEqual({});
    const without = [clusterService('prod', 'tenant-v/prod-x')];
    expect(claimsOf({ ...asked, services: without }).refusal(asked.clusters[0]!)).toContain(
      'is being withdrawn',
    );
  });

  test('is not recorded by a Service without the annotation, or by a foreign Service', () => {
    const foreign: [string, Service] = [
      'prod',
      { metadata: { name: 'prod', annotations: { 'isthmus.dev/name-holder': 'tenant-v/prod-x' } } },
    ];
    for (const services of [[clusterService('prod')], [foreign]])
      expect(holdersOf({ clusters: [holder, older], services })).toEqual({ prod: 'tenant-b/old' });
  });
});

describe('a name that no Service records', () => {
  test.each<[string, ClusterReading[], NamedListener[], string, string]>([
    [
      'goes to the object in our own namespace',
      [ALPHA, THIEF],
      [WEB],
      `${OWN}/web`,
      `is in namespace ${OWN}`,
    ],
    [
      'goes to the older of two objects in one namespace',
      [ALPHA, cluster(`${OWN}/younger`, 'alpha-web', 6)],
      [WEB],
      `${OWN}/web`,
      'is older',
    ],
    [
      'goes to the cluster if both have the same age',
      [ALPHA, cluster(`${OWN}/same`, 'alpha-web', 5)],
      [WEB],
      `${OWN}/same`,
      'is a cluster',
    ],
    [
      'does not go to a listener whose cluster is not in its namespace',
      [ALPHA, cluster('tenant-v/own', 'alpha-web', 9)],
      [listener('tenant-b/web', 'alpha', 'web', 1)],
      'tenant-v/own',
      'is valid',
    ],
    [
      'goes to the older one, although its status is still missing',
      [cluster('tenant-v/own', 'alpha-web', 1, 'pending'), cluster('tenant-b/new', 'alpha-web', 9)],
      [],
      'tenant-v/own',
      'is older',
    ],
    [
      'goes to an invalid cluster in our own namespace, which may be corrected later',
      [cluster(`${OWN}/own`, 'alpha-web', 9, 'invalid'), cluster('tenant-b/new', 'alpha-web', 1)],
      [],
      `${OWN}/own`,
      `is in namespace ${OWN}`,
    ],
    [
      'goes to a cluster in our own namespace that is not proxied, because it may be isolated later',
      [cluster(`${OWN}/own`, 'alpha-web', 9, 'not-proxied'), cluster('tenant-b/new', 'alpha-web', 1)],
      [],
      `${OWN}/own`,
      `is in namespace ${OWN}`,
    ],
    [
      'goes to the proxied one of two clusters in our own namespace',
      [cluster(`${OWN}/own`, 'alpha-web', 1, 'not-proxied'), cluster(`${OWN}/new`, 'alpha-web', 9)],
      [],
      `${OWN}/new`,
      '',
    ],
    [
      'does not go to a listener in our own namespace whose cluster is elsewhere',
      [cluster('tenant-v/alpha', 'alpha'), cluster('tenant-v/own', 'alpha-web', 9)],
      [listener(`${OWN}/web`, 'alpha', 'web', 1)],
      'tenant-v/own',
      'is valid',
    ],
  ])('%s', (_title, clusters, listeners, key, why) => {
    expect(holdersOf({ clusters, listeners })['alpha-web']).toBe(key);
    const claims = claimsOf({ clusters, listeners });
    const reasons = [
      ...clusters
        .filter((each) => nameOf(each) === 'alpha-web' && keyOf(each) !== key && each.kind !== 'not-proxied')
        .map((each) => claims.refusal(each)),
      ...listeners.flatMap((each) => claims.listenerName(each).conflict ?? []),
    ];
    const expected =
      why === '' ? [] : [expect.stringMatching(new RegExp(`belongs to .*${key}.*, which ${why}`))];
    expect(reasons).toEqual(expected);
  });

  test('is decided for clusters before their listeners', () => {
    // The listener `a-b` of cluster `a` holds the name, so cluster `a-b` does not, and its listener `a-b-c` has no cluster.
    const clusters = [
      cluster(`${OWN}/a`, 'a'),
      cluster('tenant-b/ab', 'a-b', 9),
      cluster('tenant-v/abc', 'a-b-c', 9),
    ];
    const listeners = [listener(`${OWN}/b`, 'a', 'b', 1), listener('tenant-b/c', 'a-b', 'c', 1)];
    expect(holdersOf({ clusters, listeners })).toMatchObject({
      a: `${OWN}/a`,
      'a-b': `${OWN}/b`,
      'a-b-c': 'tenant-v/abc',
    });
  });
});

describe('before Services were listed', () => {
  test.each<[string, Asked, string]>([
    ['two clusters', { clusters: [cluster('a/1', 'prod'), cluster('b/1', 'prod')] }, 'prod'],
    ['a cluster and a listener', { clusters: [ALPHA, THIEF], listeners: [WEB] }, 'alpha-web'],
    [
      'a cluster and a listener with a hash',
      { clusters: [ALPHA, cluster('tenant-b/thief', hashedName(WEB), 1)], listeners: [WEB] },
      hashedName(WEB),
    ],
    [
      'a cluster and a listener that was not listed either',
      { clusters: [ALPHA, THIEF], listenersComplete: false },
      'alpha-web',
    ],
  ])('no object has a name that may be that of %s', (_title, asked, name) => {
    const claims = claimsOf({ ...asked, servicesListed: false });
    expect(claims.isUndecided(name)).toBe(true);
    expect((asked.clusters ?? []).filter((each) => nameOf(each) === name && claims.holds(each))).toEqual([]);
    expect(holdersOf(asked)[name]).toBeDefined();
  });

  test('names without a possible conflict are used as usual', () => {
    const clusters = [ALPHA, cluster(`${OWN}/eu`, 'alpha-eu')];
    const asked = { clusters, servicesListed: false, listenersComplete: false };
    expect(Object.keys(holdersOf(asked))).toEqual(['alpha', 'alpha-eu']);
  });
});

describe('a listener', () => {
  const SSH = listener(`${OWN}/ssh`, 'alpha', 'ssh');
  const HASHED = /^alpha-ssh-[0-9a-f]{10}$/;
  const nameOfListener = (asked: Asked, each = SSH) =>
    claimsOf({ clusters: [ALPHA], ...asked, listeners: [each, ...(asked.listeners ?? [])] }).listenerName(
      each,
    );

  test('has a name made of its cluster and its pool', () => {
    expect(nameOfListener({})).toEqual({ service: 'alpha-ssh', conflict: null });
  });

  test('has a hashed name, with a conflict reason, if the plain name belongs to a cluster', () => {
    const clusters = [ALPHA, cluster(`${OWN}/old`, 'alpha-ssh', 1)];
    const { service, conflict } = nameOfListener({ clusters });
    expect(service).toMatch(HASHED);
    expect(conflict).toBe(
      `the cluster name alpha-ssh belongs to ${OWN}/old (origin of ${OWN}/old), which is older`,
    );
  });

  test('has a hashed name, with a conflict reason, if a foreign or stale Service has the plain name', () => {
    const foreign: [string, Service] = [
      'alpha-ssh',
      { metadata: { name: 'alpha-ssh' }, spec: { ports: [] } },
    ];
    for (const service of [foreign, clusterService('alpha-ssh'), clusterService('alpha-ssh', 'x/gone')]) {
      const name = nameOfListener({ services: [service] });
      expect(name.service).toMatch(HASHED);
      expect(name.conflict).toBe('another owner has the Service alpha-ssh');
    }
  });

  test('has a hashed name without a conflict if the plain name is not valid for a Service', () => {
    const long = listener(`${OWN}/long`, 'alpha', 'x'.repeat(63));
    expect(nameOfListener({}, long)).toEqual({
      service: expect.stringMatching(/^alpha-x{46}-[0-9a-f]{10}$/),
      conflict: null,
    });
    const dotted = listener(`${OWN}/a.b`, 'alpha', 'a.b');
    expect(nameOfListener({}, dotted).service).toMatch(/^alpha-a-b-[0-9a-f]{10}$/);
  });

  test('gets the plain name before a younger listener, and has a unique hash', () => {
    const [older, younger, youngest] = ['z', 'a', 'b'].map((name, i) =>
      listener(`${OWN}/${name}`, 'alpha', 'ssh', i),
    ) as [NamedListener, NamedListener, NamedListener];
    const holders = holdersOf({ clusters: [ALPHA], listeners: [youngest, younger, older] });
    expect(holders['alpha-ssh']).toBe(older.key);
    expect(Object.keys(holders)).toHaveLength(4);
  });

  test('keeps the name of its Service if an older listener returns, and if the plain name becomes free', () => {
    const restored = listener(`${OWN}/restored`, 'alpha', 'ssh', 1);
    const services = [listenerService(SSH, 'alpha-ssh')];
    expect(nameOfListener({ services, listeners: [restored] }).service).toBe('alpha-ssh');
    const hashed = hashedName(SSH);
    const kept = nameOfListener({ services: [listenerService(SSH, hashed)] });
    expect(kept).toEqual({ service: hashed, conflict: null });
  });

  test('keeps its hashed Service name if a cluster claims that name', () => {
    const thief = cluster('tenant-b/thief', hashedName(SSH), 1);
    const services = [listenerService(SSH, hashedName(SSH))];
    expect(nameOfListener({ clusters: [ALPHA, thief], services }).service).toBe(hashedName(SSH));
  });

  test('has no Service, with a reason, if both of its names belong to other objects', () => {
    const clusters = [
      ALPHA,
      cluster(`${OWN}/plain`, 'alpha-ssh', 1),
      cluster(`${OWN}/hashed`, hashedName(SSH), 1),
    ];
    const { service, conflict } = nameOfListener({ clusters });
    expect(service).toBeNull();
    expect(conflict).toMatch(
      /alpha-ssh belongs to .*\/plain.*; the cluster name alpha-ssh-.* belongs to .*\/hashed/,
    );
  });
});

// Only a few names, so that they collide.
const namespaces = fc.constantFrom(OWN, 'aaa', 'zzz');
const ages = fc.constantFrom(1, 2, 3);
const clusterArbitrary = fc
  .record({
    namespace: namespaces,
    object: fc.integer({ min: 1, max: 5 }),
    name: fc.constantFrom('a', 'b', 'a-b', 'b-a', 'a-b-a'),
    age: fc.option(ages),
    kind: fc.constantFrom<ClusterReading['kind'][]>(
      'proxied',
      'proxied',
      'pending',
      'invalid',
      'not-proxied',
    ),
  })
  .map(({ namespace, object, name, age, kind }) => cluster(`${namespace}/c${object}`, name, age, kind));
const listenerArbitrary = fc
  .record({
    namespace: namespaces,
    object: fc.integer({ min: 1, max: 5 }),
    name: fc.constantFrom('a', 'b', 'a-b'),
    pool: fc.constantFrom('a', 'b', 'b-a'),
    age: ages,
  })
  .map(({ namespace, object, name, pool, age }) => listener(`${namespace}/l${object}`, name, pool, age));
const sceneArbitrary = fc.record({
  clusters: fc.uniqueArray(clusterArbitrary, { selector: keyOf, maxLength: 10 }),
  listeners: fc.uniqueArray(listenerArbitrary, { selector: ({ key }) => key, maxLength: 8 }),
  known: fc.boolean(),
});
const lastKnownOf = (clusters: readonly ClusterReading[], known: boolean): Map<string, ClusterFacts> =>
  new Map(
    clusters
      .filter(() => known)
      .map((each) => [keyOf(each), { name: nameOf(each) } as ClusterFacts] as const),
  );
/** The Services that instances create for the holders of names. */
const servicesOf = (asked: Asked): [string, Service][] => {
  const claims = claimsOf(asked);
  return [
    ...(asked.clusters ?? [])
      .filter((each) => claims.holds(each))
      .map((each) => clusterService(nameOf(each), keyOf(each))),
    ...(asked.listeners ?? []).flatMap((each) => {
      const { service } = claims.listenerName(each);
      return service === null ? [] : [listenerService(each, service)];
    }),
  ];
};

describe('for any set of claimants', () => {
  test('each name has one holder, and the order of the input does not matter', () => {
    fc.assert(
      fc.property(sceneArbitrary, fc.boolean(), ({ clusters, listeners, known }, withRecords) => {
        const lastKnown = lastKnownOf(clusters, known);
        const base = { clusters, listeners, lastKnown };
        const asked: Asked = withRecords ? { ...base, services: servicesOf(base) } : base;
        const claims = claimsOf(asked);
        const names = [
          ...clusters.filter((each) => claims.holds(each)).map(nameOf),
          ...listeners.flatMap((each) => claims.listenerName(each).service ?? []),
        ];
        expect(new Set(names).size).toBe(names.length);
        for (const each of names) expect(each).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
        const mixed = {
          ...asked,
          clusters: [...clusters].reverse(),
          listeners: [...listeners].reverse(),
          services: [...(asked.services ?? [])].reverse(),
        };
        expect(holdersOf(mixed)).toEqual(holdersOf(asked));
        for (const each of clusters) expect(claimsOf(mixed).refusal(each)).toEqual(claims.refusal(each));
      }),
      { numRuns: 500 },
    );
  });

  test('further claimants of any age and namespace do not change the holder of a recorded name', () => {
    fc.assert(
      fc.property(sceneArbitrary, sceneArbitrary, fc.boolean(), (scene, attack, clustersComplete) => {
        const { clusters, listeners } = scene;
        const lastKnown = lastKnownOf(clusters, scene.known);
        const before = { clusters, listeners, lastKnown };
        const services = servicesOf(before);
        const held = holdersOf({ ...before, services });
        const taken = new Set(clusters.map(keyOf));
        const takenListeners = new Set(listeners.map(({ key }) => key));
        const after = {
          clusters: [...clusters, ...attack.clusters.filter((each) => !taken.has(keyOf(each)))],
          listeners: [...listeners, ...attack.listeners.filter(({ key }) => !takenListeners.has(key))],
          // After a restart the last known facts are empty.
          lastKnown: new Map<string, ClusterFacts>(),
          services,
          clustersComplete,
        };
        expect(holdersOf(after)).toMatchObject(held);
      }),
      { numRuns: 500 },
    );
  });

  test('a holder without facts, or missing from an incomplete list, keeps its recorded name', () => {
    fc.assert(
      fc.property(sceneArbitrary, fc.nat(), fc.boolean(), ({ clusters, listeners }, pick, isMissing) => {
        fc.pre(clusters.length > 0);
        const services = servicesOf({ clusters, listeners });
        const held = holdersOf({ clusters, listeners, services });
        const victim = clusters[pick % clusters.length] as ClusterReading;
        const others = clusters.filter((each) => each !== victim);
        const spoilt = cluster(keyOf(victim), nameOf(victim), 5, 'pending');
        const now = holdersOf({
          clusters: isMissing ? others : [...others, spoilt],
          listeners,
          services,
          clustersComplete: !isMissing,
        });
        for (const [name, key] of Object.entries(held))
          if (key !== keyOf(victim)) expect(now[name]).toBe(key);
        if (held[nameOf(victim)] === keyOf(victim))
          expect(now[nameOf(victim)]).toBe(isMissing ? undefined : keyOf(victim));
      }),
      { numRuns: 500 },
    );
  });
});
