// Ports that this instance's own slices still advertise after a restart without memory, turn by turn.

import { describe, expect, test } from 'vitest';
import {
  keyAt,
  listener,
  machine,
  pendingCluster,
  type SiteFacts,
  worldFor,
} from '../../../test/support/kubernetes/listeners.ts';
import { ModelApi, NAMESPACE, SETTINGS } from '../../../test/support/kubernetes/model-api.ts';
import { desiredState } from '../desired/desired-state.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { diff } from '../plan/diff.ts';
import { NO_MEMORY } from '../plan/plan.ts';
import type { World } from './world.ts';

const WAIT_MS = 5000;
const OWN = 17_001;
const site: SiteFacts = {
  clusters: [pendingCluster('kube-1'), pendingCluster('kube-2')],
  machines: [
    machine('w-1', '10.0.0.11', { role: 'worker' }),
    machine('x-1', '10.0.0.12', { role: 'worker' }, { cluster: 'kube-2' }),
  ],
  up: [keyAt('10.0.0.11'), keyAt('10.0.0.12')],
};
const open = (name: string, port: number) => ({ [name]: { kind: 'open', port } as const });

/** One process of an instance. It starts with the objects in the API server and nothing else. */
class Instance {
  readonly api: ModelApi;
  readonly #cache = new TurnCache();
  #world: World | null = null;

  constructor(api: ModelApi) {
    this.api = api;
  }

  /** One turn. `writes: false`: none of its writes reach the API server. */
  turn(facts: SiteFacts, { writes = true, instance = 'net-1' } = {}) {
    const kube = this.api.seenBy({ instance }, {});
    this.#world = worldFor({ ...site, ...facts, kube }, this.#world, WAIT_MS);
    const desired = desiredState(this.#world, { namespace: NAMESPACE, defaultCluster: null }, this.#cache);
    const { actions } = diff(kube, desired, {
      settings: SETTINGS,
      memory: NO_MEMORY,
      cache: new TurnCache(),
    });
    if (writes) this.api.carryOut(actions.filter(({ kind }) => kind !== 'status'));
    return desired;
  }
}

/** The API after a process that served listener ssh of kube-1 on its own port, and then exited. */
function left(): ModelApi {
  const api = new ModelApi();
  const before = new Instance(api);
  const facts = { listeners: [listener('ssh')], ports: open('ssh', OWN) };
  for (let i = 0; i < 5; i += 1) expect(before.turn(facts).heldPorts).toEqual([]);
  expect(api.slices.get('kube-1-ssh-net-1')?.ports?.[0]?.port).toBe(OWN);
  return api;
}

describe('after a restart, a port that a slice of this instance still names is held', () => {
  test.each<[string, SiteFacts]>([
    ['whose listener is gone', { listeners: [listener('web', { clusterName: 'kube-2' })] }],
    ['while there is no listener at all', { listeners: [] }],
    [
      'whose listener was recreated for another cluster',
      { listeners: [listener('ssh', { clusterName: 'kube-2' }, { uid: 'another' })] },
    ],
    ['whose listener is invalid now', { listeners: [listener('ssh', { protocol: 'UDP' })] }],
    ['whose listener has another protocol now', { listeners: [listener('ssh', { protocol: 'TLS' })] }],
    ['whose cluster is gone', { listeners: [listener('ssh')], clusters: [pendingCluster('kube-2')] }],
  ])('%s, until all nodes had time to see the change', (_title, facts) => {
    const api = left();
    const after = new Instance(api);
    const more = { ...facts, listeners: [...(facts.listeners ?? []), listener('more')] };
    expect(after.turn(facts, { writes: false }).heldPorts).toEqual([OWN]);
    api.nowMs += 10 * WAIT_MS;
    expect(after.turn(facts).heldPorts).toEqual([OWN]);
    for (let i = 0; i < 5; i += 1) after.turn(facts);
    expect(api.slices.get('kube-1-ssh-net-1')?.ports?.[0]?.port).not.toBe(OWN);
    api.nowMs += WAIT_MS - 1;
    const { heldPorts, ports } = after.turn(more);
    expect(heldPorts).toContain(OWN);
    expect(ports.every(({ preferredPort }) => preferredPort !== OWN)).toBe(true);
    api.nowMs += 1;
    expect(after.turn(more).heldPorts).not.toContain(OWN);
  });

  test('until its own listener has opened it, or has moved to another port for long enough', () => {
    const after = new Instance(left());
    const facts = { listeners: [listener('ssh')] };
    expect(after.turn(facts)).toMatchObject({ heldPorts: [OWN], ports: [{ preferredPort: OWN }] });
    expect(after.turn({ ...facts, ports: open('ssh', OWN) }).heldPorts).toEqual([]);
    // The port was busy and the listener moved. Nodes with the old slice still send clients to the old port.
    const moved = { ...facts, ports: open('ssh', 17_002) };
    for (let i = 0; i < 3; i += 1) expect(after.turn(moved).heldPorts).toEqual([OWN]);
    after.api.nowMs += WAIT_MS;
    expect(after.turn(moved).heldPorts).toEqual([]);
  });

  test('but not for a slice of another instance', () => {
    expect(new Instance(left()).turn({ listeners: [] }, { instance: 'net-2' }).heldPorts).toEqual([]);
  });
});
