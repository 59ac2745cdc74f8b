// An instance whose Node is not selected withdraws its slices step by step and publishes nothing, but still deletes orphans.

import { beforeEach, describe, expect, test } from 'vitest';
import {
  desiredWith,
  ModelApi,
  NAMESPACE,
  publication,
  SETTINGS,
} from '../../../test/support/kubernetes/model-api.ts';
import type { Publication } from '../desired/publication.ts';
import type { Peers } from '../instance/instance-state.ts';
import { EVERY_NODE, type Participation } from '../instance/node-participation.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type Plan, type PlanMemory } from './plan.ts';

const OUT: Participation = { takesPart: false, reason: 'Node net-1 is not selected', problem: null };
const SECRET = `${NAMESPACE}/prod-kubeconfig`;
const DIRECT = 'https://10.0.0.5:6443';

let api: ModelApi;
let memory: PlanMemory;
beforeEach(() => {
  api = new ModelApi();
  memory = NO_MEMORY;
  api.putSecret(SECRET, DIRECT);
});
const turn = (
  participation: Participation,
  publications: readonly Publication[] = [publication('prod')],
  peers: Partial<Peers> = {},
): Plan => {
  const plan = diff(api.seenBy({ participation }, peers), desiredWith(publications), {
    settings: SETTINGS,
    memory,
    cache: new TurnCache(),
  });
  memory = plan.memory;
  api.carryOut(plan.actions);
  return plan;
};
const kinds = ({ actions }: Plan) => actions.map(({ kind, resource }) => `${kind} ${resource}`);
const up = () => {
  for (let i = 0; i < 4; i += 1) turn(EVERY_NODE);
  expect(api.slices.size).toBe(1);
};

describe('a node that is not selected', () => {
  test('publishes nothing: no Service, no slice, no kubeconfig', () => {
    for (let i = 0; i < 4; i += 1) expect(kinds(turn(OUT))).toEqual([]);
    expect(api.secrets.get(SECRET)?.server).toBe(DIRECT);
  });

  test('withdraws its slices step by step: terminating first, deleted only after the wait', () => {
    up();
    expect(kinds(turn(OUT))).toEqual(['patch endpointslices']);
    expect(api.slices.get('prod-net-1')?.endpoints).toMatchObject([
      { conditions: { ready: false, serving: true, terminating: true } },
    ]);
    const waiting = turn(OUT);
    expect(kinds(waiting)).toEqual([]);
    expect(waiting.lookAgainAtMs).toBe(api.nowMs + SETTINGS.propagationWaitMs);
    expect(waiting.publications.get('prod')).toMatchObject({ slice: 'terminating', problem: null });
    api.nowMs += SETTINGS.propagationWaitMs;
    const gone = turn(OUT);
    expect(gone.actions).toMatchObject([
      { kind: 'delete', resource: 'endpointslices', why: 'Node net-1 is not selected' },
    ]);
    expect(kinds(turn(OUT))).toEqual([]);
    // The Service stays for the other instances, and for this one when it takes part again.
    expect([...api.services.keys()]).toEqual(['prod']);
  });

  test('that is selected again publishes at once, also during the withdrawal', () => {
    up();
    turn(OUT);
    expect(kinds(turn(EVERY_NODE))).toEqual(['patch endpointslices']);
    expect(api.slices.get('prod-net-1')?.endpoints).toMatchObject([{ conditions: { ready: true } }]);
    turn(OUT);
    turn(OUT);
    api.nowMs += SETTINGS.propagationWaitMs;
    turn(OUT);
    expect(api.slices.size).toBe(0);
    expect(kinds(turn(EVERY_NODE))).toEqual(['create endpointslices']);
  });

  test('deletes the slice of a backend that fails its checks at once, like every instance', () => {
    up();
    turn(OUT);
    expect(kinds(turn(OUT, [publication('prod', { want: 'down' })]))).toEqual(['delete endpointslices']);
  });

  test('keeps our Service up to date, and does not adopt an upstream Service', () => {
    up();
    const service = api.services.get('prod');
    api.put('services', { ...service, spec: { ports: [] } });
    expect(kinds(turn(OUT))).toContain('patch services');
    const labels = { 'magnum-cluster-api.vexxhost.com/proxied-service': 'true' };
    api.put('services', { metadata: { name: 'other', namespace: NAMESPACE, labels }, spec: { ports: [] } });
    const other = [publication('other')];
    expect(kinds(turn(OUT, other))).not.toContain('patch services');
    expect(kinds(turn(EVERY_NODE, other))).toContain('patch services');
  });
});

describe('withdrawal and deletion of orphans ignore the selector', () => {
  test('a kubeconfig is restored, and then the Service is deleted', () => {
    up();
    const leaving = [publication('prod', { want: 'leaving' })];
    const done: string[] = [];
    for (let i = 0; i < 10; i += 1) {
      done.push(...kinds(turn(OUT, leaving)));
      api.nowMs += 2000;
    }
    expect(done).toEqual([
      'patch endpointslices',
      'kubeconfig secrets',
      'delete endpointslices',
      'delete services',
    ]);
    expect(api.secrets.get(SECRET)?.server).toBe(DIRECT);
  });

  test('orphans of a dead instance and of a vanished cluster are deleted', () => {
    up();
    const mine = api.slices.get('prod-net-1');
    api.slices.clear();
    const labels = { ...mine?.metadata?.labels, 'isthmus.dev/instance': 'net-9' };
    api.put('slices', {
      ...mine,
      addressType: 'IPv4',
      metadata: { ...mine?.metadata, name: 'prod-net-9', labels },
    } as never);
    expect(kinds(turn(OUT, undefined, { collect: new Set(['net-9']) }))).toEqual(['delete endpointslices']);
    for (const name of ['prod-2', 'prod-3'])
      for (let i = 0; i < 3; i += 1) turn(EVERY_NODE, [publication('prod'), publication(name)]);
    expect(api.services.size).toBe(3);
    for (let i = 0; i < 3; i += 1) {
      turn(OUT, [publication('prod'), publication('prod-2')]);
      api.nowMs += 2000;
    }
    expect([...api.services.keys()]).toEqual(['prod', 'prod-2']);
  });
});
