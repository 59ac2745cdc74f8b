// An edit of a listener's protocol, turn by turn: the open ports, the port in the slice, and the end of the previous entry point.

import { describe, expect, test } from 'vitest';
import {
  keyAt,
  listener,
  machine,
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
const SHARED = 16_443;
const OWN = 17_001;
const NAME = `kube-1-ssh.${NAMESPACE}`;
const site: SiteFacts = {
  machines: [machine('w-1', '10.0.0.11', { role: 'worker' })],
  up: [keyAt('10.0.0.11')],
};
const asked = (protocol: 'TCP' | 'TLS', spec: object = {}): SiteFacts => ({
  ...site,
  listeners: [listener('ssh', { protocol, ...spec })],
});

/** One instance whose main thread opens, or does not open, the requested ports. */
class Instance {
  readonly api = new ModelApi();
  opens = true;
  #ports: SiteFacts['ports'] = {};
  readonly #cache = new TurnCache();
  #world: World | null = null;

  /** One turn. Returns what is open after it, and where the slice sends clients. */
  turn(facts: SiteFacts) {
    const kube = this.api.seenBy({}, {});
    this.#world = worldFor({ ports: this.#ports ?? {}, ...facts, kube }, this.#world, WAIT_MS);
    const desired = desiredState(this.#world, { namespace: NAMESPACE, defaultCluster: null }, this.#cache);
    const { actions } = diff(kube, desired, {
      settings: SETTINGS,
      memory: NO_MEMORY,
      cache: new TurnCache(),
    });
    this.api.carryOut(actions.filter(({ kind }) => kind !== 'status'));
    const isAsked = desired.ports.length > 0;
    this.#ports = isAsked && this.opens ? { ssh: { kind: 'open', port: OWN } } : {};
    return {
      port: isAsked,
      names: desired.routes.byServerName.has(NAME),
      slice: this.api.slices.get('kube-1-ssh-net-1')?.ports?.[0]?.port ?? null,
      shown: desired.listeners[0]?.listenPort ?? null,
    };
  }

  settled(facts: SiteFacts) {
    for (let i = 0; i < 5; i += 1) this.turn(facts);
    return this.turn(facts);
  }
}

describe('an edit of the protocol', () => {
  test('from TCP to TLS keeps the port until no node can send clients to it', () => {
    const instance = new Instance();
    expect(instance.settled(asked('TCP'))).toEqual({ port: true, names: false, slice: OWN, shown: OWN });
    // The new entry point exists in the same turn that writes it to the slice.
    expect(instance.turn(asked('TLS'))).toEqual({ port: true, names: true, slice: SHARED, shown: null });
    instance.api.nowMs += WAIT_MS - 1;
    expect(instance.turn(asked('TLS')).port).toBe(true);
    instance.api.nowMs += 1;
    expect(instance.turn(asked('TLS'))).toEqual({ port: false, names: true, slice: SHARED, shown: null });
  });

  test('from TLS to TCP keeps the names until the port is open and the slice names it', () => {
    const instance = new Instance();
    expect(instance.settled(asked('TLS'))).toEqual({ port: false, names: true, slice: SHARED, shown: null });
    instance.opens = false;
    for (let i = 0; i < 5; i += 1) {
      expect(instance.turn(asked('TCP'))).toEqual({ port: true, names: true, slice: SHARED, shown: null });
      instance.api.nowMs += WAIT_MS;
    }
    instance.opens = true;
    instance.turn(asked('TCP'));
    expect(instance.turn(asked('TCP'))).toEqual({ port: true, names: true, slice: OWN, shown: OWN });
    instance.api.nowMs += WAIT_MS;
    expect(instance.turn(asked('TCP'))).toEqual({ port: true, names: false, slice: OWN, shown: OWN });
  });

  test('that is undone at once keeps both entry points open', () => {
    const instance = new Instance();
    instance.settled(asked('TCP'));
    instance.turn(asked('TLS'));
    expect(instance.turn(asked('TCP'))).toMatchObject({ port: true, names: true });
    expect(instance.turn(asked('TCP'))).toMatchObject({ port: true, names: true, slice: OWN, shown: OWN });
    instance.api.nowMs += WAIT_MS;
    expect(instance.turn(asked('TCP'))).toMatchObject({ port: true, names: false, slice: OWN });
  });

  test('followed by a deletion keeps both entry points while clients may use them', () => {
    const instance = new Instance();
    instance.settled(asked('TCP'));
    instance.turn(asked('TLS'));
    expect(instance.turn({ ...site, listeners: [] })).toMatchObject({ port: true, names: true });
  });
});

test('an edit of the ports does not change the entry point', () => {
  const instance = new Instance();
  instance.settled(asked('TCP'));
  const moved = { ...asked('TCP', { port: 23, targetPort: 2222 }), up: [keyAt('10.0.0.11', 2222)] };
  expect(instance.turn(moved)).toEqual({ port: true, names: false, slice: OWN, shown: OWN });
});
