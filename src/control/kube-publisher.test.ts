// The parts of a turn: `observe` and `plan` start no request, and `apply` starts all requests of the plan.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KubeClient, KubeRequest, KubeWatchRequest } from '../kube/kube-client.ts';
import type { WatchEvent } from '../kube/kube-object.ts';
import type { ClusterStatus } from './desired/cluster-status.ts';
import type { DesiredState } from './desired/desired-state.ts';
import { KubePublisher } from './kube-publisher.ts';
import { leaseOf } from './objects/published-objects.ts';
import { TurnCache } from './objects/turn-cache.ts';

/** Lists what it was given, accepts every write, and records each request in the order of the calls. */
class RecordingApi implements KubeClient {
  readonly server = 'https://fake.test';
  readonly identity = 'test';
  readonly calls: string[] = [];
  readonly leases = new Map<string, object>();
  #leaseEvents: ((event: WatchEvent) => void) | null = null;
  #version = 100;

  addLease(instance: string, holder: string): { readonly metadata: { readonly name: string } } {
    const lease = leaseOf({
      instance,
      holder,
      namespace: 'ns',
      host: '',
      acquiredAtMs: 0,
      renewedAtMs: 0,
      transitions: 0,
      tags: {},
    });
    return this.#stored(lease as { metadata: { name: string } });
  }

  tellLease(object: { readonly metadata: { readonly name: string } }): void {
    this.#leaseEvents?.({ type: 'MODIFIED', object } as WatchEvent);
  }

  async request<T>({ method, path, body }: KubeRequest): Promise<T> {
    this.calls.push(`${method} ${path.replace(/.*\/ns\//, '')}`);
    if (path.endsWith('/selfsubjectaccessreviews')) return { status: { allowed: true } } as T;
    if (method === 'POST' || method === 'PATCH') {
      const sent = body as { metadata: { name: string } };
      const name = sent.metadata.name ?? path.split('/').at(-1);
      const known = this.leases.get(name) ?? {};
      return this.#stored({ ...known, ...sent, metadata: { ...sent.metadata, name } }) as T;
    }
    const lease = this.leases.get(path.split('/').at(-1) ?? '');
    if (lease !== undefined) return lease as T;
    const items = path.endsWith('/leases') ? [...this.leases.values()] : [];
    return { metadata: { resourceVersion: '1' }, items } as T;
  }

  async *watch({ path, signal, onOpen }: KubeWatchRequest): AsyncGenerator<WatchEvent, void, void> {
    onOpen?.();
    for (;;) {
      const event = await new Promise<WatchEvent | null>((resolve) => {
        if (path.endsWith('/leases')) this.#leaseEvents = resolve;
        signal.addEventListener('abort', () => resolve(null));
      });
      if (event === null) return;
      yield event;
    }
  }

  callCounts(): ReadonlyMap<string, number> {
    return new Map();
  }

  async close(): Promise<void> {}

  #stored<T extends { readonly metadata: { readonly name: string } }>(object: T): T {
    this.#version += 1;
    const metadata = { ...object.metadata, uid: object.metadata.name, resourceVersion: `${this.#version}` };
    const stored = { ...object, metadata };
    if (object.metadata.name.startsWith('isthmus-')) this.leases.set(object.metadata.name, stored);
    return stored;
  }
}

const INVALID: ClusterStatus = {
  name: 'kube-1',
  namespace: 'ns',
  origin: 'the API',
  state: 'invalid',
  reason: 'its spec is invalid',
  serverNames: ['kube-1.ns'],
  backends: [],
};
const OBJECT = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  name: 'kube-1-x7k2p',
  uid: 'u-1',
  deleting: false,
  directServer: null,
} as const;
const DESIRED: DesiredState = {
  complete: true,
  routes: { byServerName: new Map(), defaultRoute: null },
  clusters: [],
  backends: [],
  problems: [],
  ports: [],
  heldPorts: [],
  listeners: [],
  publications: [{ cluster: 'kube-2', namespace: 'ns', object: null, want: 'live', hasNetns: true }],
  reserved: [],
  listenersComplete: true,
  listenerObjects: new Map(),
  objects: new Map([[INVALID.origin, OBJECT]]),
  vanishedSinceMs: null,
};

let api: RecordingApi;
let publisher: KubePublisher;
let nowMs: number;
const pass = async (ms: number) => {
  nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
};

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  nowMs = 1_000_000;
  api = new RecordingApi();
  publisher = publisherWith({ takeOver: false });
});
afterEach(async () => {
  await publisher.stop();
  vi.useRealTimers();
});

const publisherWith = ({ takeOver }: { readonly takeOver: boolean }) =>
  new KubePublisher({
    cache: new TurnCache(),
    client: api,
    settings: {
      namespace: 'ns',
      clusterNamespace: 'ns',
      instance: 'net-1',
      host: '',
      nodeName: null,
      node: { node: 'net-1', selector: null, unknown: 'take-part', onParticipation: () => {} },
      claim: { processId: 'a', predecessor: null, takeOver, daemonSet: null },
      lockDirectory: null,
      liveness: 'lease',
      propagationWaitMs: 5000,
      allowMassDelete: false,
      tags: {},
    },
    advertised: () => ({ kind: 'address', address: '192.0.2.1', family: 'IPv4', from: 'flag' }),
    routesLive: () => true,
    onChange: () => {},
    onOutcome: () => {},
    onSuperseded: () => {},
    onRefused: () => {},
    onTaken: () => {},
    now: () => nowMs,
    wallNow: () => nowMs,
  });

/** Each part of a turn, with the requests that it started. */
async function turn(desired: DesiredState) {
  const started = async <T>(work: () => T) => {
    const before = api.calls.length;
    const result = work();
    await pass(0);
    return { result, calls: api.calls.slice(before) };
  };
  const observed = await started(() => publisher.observe());
  const planned = await started(() => publisher.plan(observed.result, desired));
  const applied = await started(() => publisher.apply(planned.result));
  return { observed, planned, applied };
}

test('observing and planning start no request, also with Events to write, objects to create and Leases to read', async () => {
  api.addLease('peer', 'peer/1');
  await publisher.start();
  publisher.listening(6443);
  await pass(0);
  await turn({ ...DESIRED, publications: [] });
  for (let second = 0; second < 40; second += 5) await pass(5000);

  const { observed, planned, applied } = await turn({ ...DESIRED, clusters: [INVALID] });
  expect(observed.calls).toEqual([]);
  expect(planned.calls).toEqual([]);
  expect(planned.result.events.map(({ reason }) => reason)).toEqual(['Invalid']);
  expect(planned.result.leaseReads).toEqual(['isthmus-peer']);
  expect(planned.result.actions.map(({ kind, name }) => `${kind} ${name}`)).toContain('create kube-2');
  expect(applied.calls).toEqual(
    expect.arrayContaining(['GET leases/isthmus-peer', 'POST services', 'POST events']),
  );
});

test('a Lease that shows another holder is renewed by apply, and until then nothing is planned', async () => {
  await publisher.start();
  publisher.listening(6443);
  await pass(0);
  await turn({ ...DESIRED, publications: [] });
  api.tellLease(api.addLease('net-1', 'net-1/successor'));
  await pass(0);

  const { observed, planned, applied } = await turn(DESIRED);
  expect(observed.calls).toEqual([]);
  expect(planned.calls).toEqual([]);
  expect(planned.result).toMatchObject({ actions: [], leaseReads: ['isthmus-net-1'] });
  expect(applied.calls).toContain('PATCH leases/isthmus-net-1');
});

test('a reason not to replace the predecessor takes effect when the plan is applied, not when it is computed', () => {
  const plan = { ...publisher.plan(publisher.observe(), DESIRED), servesNone: 'it reaches none of them' };
  expect(publisher.publishedCheck().failure).toBeNull();
  publisher.apply(plan);
  expect(publisher.publishedCheck().failure).toBe('it reaches none of them');
});

test('with --take-over, no reason keeps this process from replacing its predecessor', () => {
  publisher = publisherWith({ takeOver: true });
  publisher.apply({ ...publisher.plan(publisher.observe(), DESIRED), servesNone: 'it reaches none of them' });
  expect(publisher.publishedCheck().failure).toBeNull();
});
