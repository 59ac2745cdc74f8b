import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  desiredWith,
  ModelApi,
  NAMESPACE,
  publication,
  SETTINGS,
} from '../../../test/support/kubernetes/model-api.ts';
import type { Publication } from '../desired/publication.ts';
import { EVERY_NODE, type Participation } from '../instance/node-participation.ts';
import { ownershipOf } from '../objects/ownership.ts';
import type { EndpointSliceObject, LivenessMode, ServiceObject } from '../objects/published-objects.ts';
import { readTags, type Tags } from '../objects/resource-tags.ts';
import { byText } from '../objects/text-order.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type Plan, type PlanMemory } from './plan.ts';

const NAMES = ['a', 'a-b', 'b', 'c', 'net', 'prod'];
const INSTANCES = ['net-1', 'b-net-1', 'net-2'];

const wants = fc.constantFrom<Publication['want']>('live', 'down', 'undecided', 'leaving');
/** Tags as users write them, some of them invalid; absent without an annotation. */
const clusterTags = fc.option(
  fc.constantFrom('team=a', 'team=b,cost=7', 'cost=8', 'note=ours', 'team=', '').map(readTags),
  { nil: undefined },
);
const publications = fc
  .uniqueArray(
    fc.record({
      cluster: fc.constantFrom(...NAMES),
      want: wants,
      hasNetns: fc.boolean(),
      tags: fc.oneof({ weight: 5, arbitrary: clusterTags }, fc.constant(readTags('team'))),
    }),
    {
      selector: ({ cluster }) => cluster,
    },
  )
  .map((list) =>
    list
      .map(({ cluster, want, hasNetns, tags }) => {
        const { object } = publication(cluster);
        const tagged = object === null || tags === undefined ? object : { ...object, tags };
        return publication(cluster, { want, hasNetns: hasNetns || want === 'live', object: tagged });
      })
      .sort((a, b) => byText(a.cluster, b.cluster)),
  );

const marks = {
  upstream: { 'magnum-cluster-api.vexxhost.com/proxied-service': 'true' },
  half: { 'isthmus.dev/instance': 'net-1' },
  none: {},
} as const;
const foreignService = fc.record({
  name: fc.constantFrom(...NAMES),
  labels: fc.constantFrom(...Object.values(marks)),
  selector: fc.constantFrom(undefined, { app: 'x' }),
});
const foreignSlice = fc.record({
  name: fc.constantFrom(...NAMES.flatMap((name) => INSTANCES.map((instance) => `${name}-${instance}`))),
  labels: fc.constantFrom(...Object.values(marks)),
});

interface Strangers {
  readonly services: readonly ServiceObject[];
  readonly slices: readonly EndpointSliceObject[];
}
const strangers: fc.Arbitrary<Strangers> = fc
  .record({
    services: fc.array(foreignService, { maxLength: 3 }),
    slices: fc.array(foreignSlice, { maxLength: 4 }),
  })
  .map(({ services, slices }) => ({
    services: services.map(({ name, labels, selector }) => ({
      metadata: { name, namespace: NAMESPACE, labels },
      spec: { ports: [], ...(selector === undefined ? {} : { selector }) },
    })),
    slices: slices.map(({ name, labels }) => ({
      metadata: { name, namespace: NAMESPACE, labels },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    })),
  }));

const isForeign = (object: ServiceObject | EndpointSliceObject) => ownershipOf(object).kind === 'foreign';

class Instance {
  readonly #api: ModelApi;
  readonly #rank: number;
  readonly name: string;
  readonly #settings: typeof SETTINGS & { readonly tags: Tags };
  memory: PlanMemory = NO_MEMORY;
  constructor(api: ModelApi, name: string, tags: Tags = { rack: name }) {
    this.#api = api;
    this.name = name;
    this.#settings = { ...SETTINGS, tags };
    this.#rank = [...INSTANCES].sort(byText).indexOf(name);
  }

  participation: Participation = EVERY_NODE;
  readonly #cache = new TurnCache();

  plan(wanted: readonly Publication[], mode: LivenessMode = 'lease', complete = true): Plan {
    const kube = this.#api.seenBy(
      {
        instance: this.name,
        endpoint: { address: '192.0.2.1', family: 'IPv4', port: 16443 },
        participation: this.participation,
      },
      { live: new Set(INSTANCES), rank: this.#rank, mode },
    );
    const plan = diff(kube, desiredWith(wanted, { complete }), {
      settings: this.#settings,
      memory: this.memory,
      cache: this.#cache,
    });
    // A cached plan must equal a plan from scratch.
    expect(
      isDeepStrictEqual(
        diff(kube, desiredWith(wanted, { complete }), {
          settings: this.#settings,
          memory: this.memory,
          cache: new TurnCache(),
        }),
        plan,
      ),
    ).toBe(true);
    this.memory = plan.memory;
    return plan;
  }

  turn(wanted: readonly Publication[], mode: LivenessMode = 'lease', complete = true): number {
    const { actions } = this.plan(wanted, mode, complete);
    this.#api.carryOut(actions);
    return actions.length;
  }
}

function stocked({ services, slices }: Strangers): ModelApi {
  const api = new ModelApi();
  for (const service of services) api.put('services', service);
  for (const slice of slices) api.put('slices', slice);
  for (const name of NAMES) api.putSecret(`${NAMESPACE}/${name}-kubeconfig`, 'https://10.0.0.5:6443');
  return api;
}

/** Long enough for every wait. */
function settle(api: ModelApi, instances: readonly Instance[], wanted: readonly Publication[]): number {
  let last = 0;
  for (let round = 0; round < 30; round += 1) {
    last = 0;
    for (const instance of instances) last += instance.turn(wanted);
    api.nowMs += 2000;
  }
  return last;
}

const content = (api: ModelApi) => ({
  services: [...api.services.values()].map(withoutVersion).sort(bySerial),
  // Two slices may want the same plain name, and the first one gets it. Nothing else depends on the order.
  slices: [...api.slices.values()]
    .map(withoutVersion)
    .map((slice) => (isForeign(slice) ? slice : { ...slice, metadata: { ...slice.metadata, name: '' } }))
    .sort(bySerial),
  secrets: [...api.secrets]
    .map(([key, { server, recordedServer }]) => ({ key, server, recordedServer }))
    .sort(bySerial),
});
/** Adds metadata of another writer, and removes our record of applied tags: its keys count as foreign then. */
const withTexts = (object: ServiceObject | EndpointSliceObject, texts: Tags) => ({
  ...object,
  metadata: {
    ...withoutOurTags(object.metadata),
    labels: { ...withoutOurTags(object.metadata).labels, ...texts },
    annotations: { ...withoutOurTags(object.metadata).annotations, ...texts },
  },
});
const withoutOurTags = (metadata: ServiceObject['metadata'] = {}) => {
  const { 'isthmus.dev/applied-tags': _, ...annotations } = metadata.annotations ?? {};
  return { ...metadata, annotations };
};
const withoutVersion = (object: ServiceObject | EndpointSliceObject) => ({
  ...object,
  metadata: { ...object.metadata, uid: '', resourceVersion: '' },
});
const bySerial = (a: unknown, b: unknown) => byText(JSON.stringify(a), JSON.stringify(b));

describe('plans', () => {
  test('converge: from any initial state, executed plans are followed by empty ones', () => {
    fc.assert(
      fc.property(strangers, publications, publications, (others, first, second) => {
        const api = stocked(others);
        const instance = new Instance(api, 'net-1');
        settle(api, [instance], first);
        settle(api, [instance], second);
        expect(instance.plan(second).actions).toEqual([]);
      }),
    );
  });

  test('of a node that no longer takes part converge too, without its slices and with all shared objects', () => {
    fc.assert(
      fc.property(strangers, publications, publications, (others, first, second) => {
        const api = stocked(others);
        const [one, two] = [new Instance(api, 'net-1'), new Instance(api, 'net-2')];
        settle(api, [one, two], first);
        one.participation = { takesPart: false, reason: 'not selected', problem: null };
        settle(api, [one, two], second);
        expect(one.plan(second).actions).toEqual([]);
        // The mass-delete breaker decides about the objects of vanished clusters.
        const named = new Set(second.map(({ cluster }) => cluster));
        for (const owner of [...api.slices.values()].map(ownershipOf))
          if (owner.kind === 'ours' && named.has(owner.cluster)) expect(owner.instance).not.toBe('net-1');
        const alone = stocked(others);
        const other = new Instance(alone, 'net-2');
        settle(alone, [other], first);
        settle(alone, [other], second);
        const shared = ({ services, secrets }: ReturnType<typeof content>) => ({
          services: services.filter(({ metadata }) =>
            second.some(({ cluster }) => cluster === metadata.name),
          ),
          secrets: secrets.filter(({ key }) =>
            second.some(({ cluster }) => key.includes(`/${cluster}-kube`)),
          ),
        });
        expect(shared(content(api))).toEqual(shared(content(alone)));
      }),
    );
  });

  test('keep labels and annotations of other writers on our objects, whatever tags are added and removed', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<LivenessMode>('lease', 'timestamp'),
        fc.array(publications, { minLength: 2, maxLength: 4 }),
        (mode, turns) => {
          const api = stocked({ services: [], slices: [] });
          const theirs = { team: 'theirs', note: 'theirs', other: 'x' };
          let instance = new Instance(api, 'net-1');
          for (const [turn, wanted] of turns.entries()) {
            for (let i = 0; i < 6; i += 1) {
              instance.turn(wanted, mode);
              api.nowMs += 2000;
              if (turn > 0 || i > 0) continue;
              for (const kind of ['services', 'slices'] as const)
                for (const object of api[kind].values())
                  api.put(kind, withTexts(object, theirs) as ServiceObject);
            }
            // A restart with other tags: the objects record which tags to remove.
            instance = new Instance(api, 'net-1', turn % 2 === 0 ? { rack: 'other' } : {});
          }
          for (const { metadata } of [...api.services.values(), ...api.slices.values()]) {
            if (metadata?.labels?.other !== 'x') continue; // created after the other writer's change
            const ours = new Set((metadata.annotations?.['isthmus.dev/applied-tags'] ?? '').split(','));
            for (const key of Object.keys(theirs)) expect(ours).not.toContain(key);
            expect(metadata.labels).toMatchObject(theirs);
            expect(metadata.annotations).toMatchObject(theirs);
          }
        },
      ),
    );
  });

  test('never change objects that are not ours', () => {
    fc.assert(
      fc.property(
        strangers,
        fc.array(fc.tuple(publications, fc.constantFrom<LivenessMode>('lease', 'timestamp'), fc.boolean()), {
          maxLength: 6,
        }),
        (others, turns) => {
          const api = stocked(others);
          const before = structuredClone(
            [...api.services.values(), ...api.slices.values()].filter(isForeign),
          );
          const instance = new Instance(api, 'net-1');
          for (const [wanted, mode, complete] of turns) {
            instance.turn(wanted, mode, complete);
            api.nowMs += 3000;
          }
          const after = [...api.services.values(), ...api.slices.values()].filter(isForeign);
          expect(after.sort(bySerial)).toEqual(before.sort(bySerial));
        },
      ),
    );
  });

  test('of an incomplete world delete only our own slices of existing clusters', () => {
    fc.assert(
      fc.property(strangers, publications, publications, (others, first, second) => {
        const api = stocked(others);
        settle(api, [new Instance(api, 'net-1'), new Instance(api, 'net-2')], first);
        const instance = new Instance(api, 'net-1');
        const present = new Set(second.map(({ cluster }) => cluster));
        for (let i = 0; i < 10; i += 1) {
          for (const action of instance.plan(second, 'lease', false).actions) {
            if (action.kind !== 'delete') continue;
            expect(action.resource).toBe('endpointslices');
            expect(present).toContain(action.cluster);
            expect(ownershipOf(api.slices.get(action.name)!)).toMatchObject({ instance: 'net-1' });
          }
          api.nowMs += 60_000;
        }
      }),
    );
  });

  test('of several instances converge to one state, in any order of turns, without overwriting each other', () => {
    fc.assert(
      fc.property(
        strangers,
        publications,
        fc.array(fc.constantFrom(0, 1, 2), { minLength: 5, maxLength: 30 }),
        (others, wanted, order) => {
          const straight = stocked(others);
          const shuffled = stocked(others);
          const inOrder = INSTANCES.map((name) => new Instance(straight, name));
          const anyOrder = INSTANCES.map((name) => new Instance(shuffled, name));
          for (const i of order) {
            anyOrder[i]!.turn(wanted);
            shuffled.nowMs += 500;
          }
          settle(straight, inOrder, wanted);
          settle(shuffled, anyOrder, wanted);
          expect(content(shuffled)).toEqual(content(straight));
          const { writes } = shuffled;
          settle(shuffled, anyOrder, wanted);
          expect(shuffled.writes).toBe(writes);
        },
      ),
    );
  });

  test('leave no kubeconfig that points to the proxy without a Service', () => {
    fc.assert(
      fc.property(strangers, publications, publications, (others, first, second) => {
        const api = stocked(others);
        const instances = INSTANCES.map((name) => new Instance(api, name));
        for (const wanted of [first, second]) {
          for (let round = 0; round < 20; round += 1) {
            for (const instance of instances) instance.turn(wanted);
            const present = new Set(wanted.map(({ cluster }) => cluster));
            for (const [key, { server }] of api.secrets) {
              const cluster = key.slice(NAMESPACE.length + 1, -'-kubeconfig'.length);
              if (server !== `https://${cluster}.${NAMESPACE}:6443` || !present.has(cluster)) continue;
              expect(api.services.has(cluster)).toBe(true);
            }
            api.nowMs += 2000;
          }
        }
      }),
    );
  });
});
