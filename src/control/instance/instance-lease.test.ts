import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { mergePatched } from '../../../test/support/kubernetes/model-api.ts';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError, type KubeErrorCode } from '../../kube/kube-error.ts';
import type { LeaseObject } from '../objects/published-objects.ts';
import { InstanceLease } from './instance-lease.ts';
import type { ClaimReason } from './lease-claim.ts';

const PATH = '/apis/coordination.k8s.io/v1/namespaces/ns/leases';

/** One Lease, with the API rules that matter here. */
class LeaseStore implements Requester {
  lease: LeaseObject | null = null;
  broken: KubeErrorCode | null = null;
  /** A webhook rejects changes. Unlike missing RBAC, it affects only an existing Lease. */
  refusing = false;
  hanging = false;
  /** A proxy in between answers with this instead, with status 200. */
  nonsense: { readonly answer: unknown } | null = null;
  readonly calls: string[] = [];
  #version = 0;

  async request<T>({ method, path, body, signal }: Parameters<Requester['request']>[0]): Promise<T> {
    this.calls.push(method);
    if (this.hanging)
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    if (this.nonsense !== null) return this.nonsense.answer as T;
    const refuse = (code: KubeErrorCode) => new KubeError({ code, verb: method, path, detail: '' });
    if (this.broken !== null) throw refuse(this.broken);
    if (method === 'POST') {
      if (path !== PATH) throw new Error(`not the collection: ${path}`);
      if (this.lease !== null) throw refuse('already-exists');
      return this.write(body as LeaseObject) as T;
    }
    if (path !== `${PATH}/isthmus-net-1`) throw new Error(`another Lease: ${path}`);
    if (this.lease === null) throw refuse('not-found');
    if (method === 'GET') return this.lease as T;
    if (this.refusing && method === 'PATCH') throw refuse('forbidden');
    const { resourceVersion } =
      method === 'DELETE'
        ? (body as { preconditions: { resourceVersion: string } }).preconditions
        : ((body as LeaseObject).metadata ?? {});
    if (resourceVersion !== this.lease.metadata?.resourceVersion) throw refuse('conflict');
    if (method === 'DELETE') {
      this.lease = null;
      return {} as T;
    }
    return this.write(mergePatched(this.lease, body) as LeaseObject) as T;
  }

  write(lease: LeaseObject): LeaseObject {
    this.#version += 1;
    this.lease = {
      ...lease,
      metadata: { uid: 'u', ...lease.metadata, resourceVersion: String(this.#version) },
    };
    return this.lease;
  }
}

describe('the Lease of an instance', () => {
  let store: LeaseStore;
  let nowMs: number;
  /** The reason for which a process may take the Lease from another one. */
  let claims: ClaimReason | null;
  const events: string[] = [];
  const open: InstanceLease[] = [];

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    store = new LeaseStore();
    nowMs = 1000;
    events.length = 0;
    claims = 'dead';
  });
  afterEach(async () => {
    for (const lease of open.splice(0)) await lease.stop({ release: false });
    vi.useRealTimers();
  });

  const leaseOf = (holder: string, tags: Record<string, string> = {}, host = ''): InstanceLease => {
    const lease = new InstanceLease({
      client: store,
      namespace: 'ns',
      instance: 'net-1',
      holder,
      host,
      tags,
      claim: { reason: async () => claims, taken: () => {} },
      onTaken: (from, reason) => events.push(`${holder} took it from ${from.holder}: ${reason}`),
      now: () => nowMs,
      wallNow: () => Date.parse('2026-03-02T09:14:27Z') + nowMs,
      onChange: () => events.push(`${holder} changed`),
      onProblem: (error) => events.push(`${holder} ${error === null ? 'recovered' : error.code}`),
    });
    open.push(lease);
    return lease;
  };
  const pass = async (ms: number) => {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };

  test('is created, held, and renewed every ten seconds with one call', async () => {
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    expect(lease.state()).toMatchObject({ held: true, lostTo: null, okSinceMs: 1000, lastRenewOkMs: 1000 });
    expect(store.lease?.spec).toMatchObject({ holderIdentity: 'net-1/a', leaseDurationSeconds: 30 });
    const first = store.lease?.spec?.renewTime;
    expect(first).toMatch(/\.\d{6}Z$/);
    store.calls.length = 0;
    await pass(60_000);
    expect(store.calls).toEqual(Array.from({ length: 6 }, () => 'PATCH'));
    expect(store.lease?.spec?.renewTime).not.toBe(first);
  });

  test('of a predecessor is taken over, and the predecessor notices that', async () => {
    const old = leaseOf('net-1/a');
    old.start();
    await pass(0);
    const next = leaseOf('net-1/b');
    next.start();
    await pass(0);
    expect(next.state().held).toBe(true);
    expect(store.lease?.spec).toMatchObject({ holderIdentity: 'net-1/b', leaseTransitions: 1 });
    await pass(10_000);
    expect(old.state()).toMatchObject({ held: false, lostTo: 'net-1/b' });
    store.calls.length = 0;
    await pass(60_000);
    // Six renewals by the new process, and no call by the old one.
    expect(store.calls).toHaveLength(6);
  });

  test('counts as not held as soon as the watch shows another holder, and is checked at once', async () => {
    const old = leaseOf('net-1/a');
    old.start();
    await pass(0);
    const before = store.lease as LeaseObject;
    leaseOf('net-1/b').start();
    await pass(0);
    old.seen(before);
    expect(old.state().held).toBe(true);
    old.seen(store.lease as LeaseObject);
    const asked = store.calls.length;
    await pass(0);
    expect(store.calls).toHaveLength(asked);
    expect(old.state()).toMatchObject({ held: false, doubted: true, lostTo: null });
    old.confirmHolder();
    await pass(0);
    expect(old.state()).toMatchObject({ held: false, doubted: false, lostTo: 'net-1/b' });
    expect(events).toContain('net-1/a changed');
  });

  test('is read for its holder once, and then at the regular pace while the API fails', async () => {
    const old = leaseOf('net-1/a');
    old.start();
    await pass(0);
    leaseOf('net-1/b').start();
    await pass(0);
    old.seen(store.lease as LeaseObject);
    store.broken = 'unreachable';
    const before = store.calls.length;
    for (let turn = 0; turn < 5; turn += 1) {
      old.seen(store.lease as LeaseObject);
      old.confirmHolder();
      await pass(0);
    }
    expect(store.calls).toHaveLength(before + 1);
    expect(old.state()).toMatchObject({ held: false, doubted: false, lostTo: null });
  });

  test('stays held if the watch lags behind and shows the predecessor', async () => {
    store.write({
      metadata: { name: 'isthmus-net-1' },
      spec: { holderIdentity: 'net-1/dead', leaseTransitions: 4 },
    });
    const predecessor = store.lease as LeaseObject;
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    lease.seen(predecessor);
    lease.seen(undefined);
    expect(lease.state().held).toBe(true);
  });

  test('that shows our predecessor again after a restore is taken again', async () => {
    leaseOf('net-1/dead').start();
    await pass(0);
    const backup = store.lease as LeaseObject;
    await open[0]?.stop({ release: false });
    await pass(60_000);
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    store.write(backup);
    await pass(10_000);
    expect(lease.state()).toMatchObject({ held: true, lostTo: null });
    expect((store.lease as LeaseObject).spec?.holderIdentity).toBe('net-1/a');
  });

  test('that another client edits or deletes is taken again', async () => {
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    store.write({ ...(store.lease as LeaseObject) });
    await pass(10_000);
    expect(lease.state().held).toBe(true);
    store.lease = null;
    await pass(10_000);
    expect(lease.state().held).toBe(true);
    expect((store.lease as LeaseObject | null)?.spec?.holderIdentity).toBe('net-1/a');
  });

  test('that cannot be renewed is retried every two seconds, and its series of successes restarts', async () => {
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    store.broken = 'unreachable';
    await pass(10_000);
    expect(lease.state()).toMatchObject({ held: true, okSinceMs: null, lastRenewOkMs: 1000 });
    store.calls.length = 0;
    await pass(6000);
    expect(store.calls).toHaveLength(3);
    store.broken = null;
    await pass(2000);
    expect(lease.state().okSinceMs).toBe(nowMs);
    expect(events.filter((event) => event !== 'net-1/a unreachable')).toEqual([
      'net-1/a changed',
      'net-1/a recovered',
    ]);
  });

  test('that was not renewed for its whole duration has lapsed but is still held, and the next renewal reports a change', async () => {
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    store.broken = 'forbidden';
    await pass(29_999);
    expect(lease.state()).toMatchObject({ held: true, lapsed: false });
    await pass(1);
    expect(lease.state()).toMatchObject({ held: true, lapsed: true });
    store.broken = null;
    events.length = 0;
    claims = 'dead';
    await pass(2000);
    expect(lease.state()).toMatchObject({ held: true, lapsed: false });
    expect(events).toContain('net-1/a changed');
  });

  test('that lapsed while this process was suspended reports a change too', async () => {
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    nowMs += 60_000;
    expect(lease.state().lapsed).toBe(true);
    events.length = 0;
    claims = 'dead';
    await pass(10_000);
    expect(lease.state().lapsed).toBe(false);
    expect(events).toEqual(['net-1/a changed']);
  });

  test('that can be created but not renewed stays lapsed after each re-creation', async () => {
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    store.refusing = true;
    await pass(40_000);
    store.lease = null;
    await pass(2000);
    expect(store.lease).not.toBeNull();
    expect(lease.state()).toMatchObject({ held: true, lapsed: true, okSinceMs: null });
    store.refusing = false;
    store.lease = null;
    await pass(2000);
    expect(lease.state()).toMatchObject({ held: true, lapsed: false, okSinceMs: nowMs });
  });

  test.each([undefined, 'text', {}, { metadata: null }, []])(
    'treats the answer %j as a failure and retries',
    async (answer) => {
      const lease = leaseOf('net-1/a');
      store.nonsense = { answer };
      lease.start();
      await pass(0);
      expect(lease.state().held).toBe(false);
      store.nonsense = null;
      await pass(2000);
      expect(lease.state().held).toBe(true);
      store.nonsense = { answer };
      await pass(10_000);
      store.nonsense = null;
      await pass(2000);
      expect(events).toEqual([
        'net-1/a bad-answer',
        'net-1/a recovered',
        'net-1/a changed',
        'net-1/a bad-answer',
        'net-1/a recovered',
      ]);
    },
  );

  test('does not delay shutdown while the API does not answer', async () => {
    const lease = leaseOf('net-1/a');
    lease.start();
    await pass(0);
    store.hanging = true;
    await pass(10_000);
    await lease.stop({ release: false });
    expect(store.calls.at(-1)).toBe('PATCH');
  });

  test('has the tags of its holder, without those of the predecessor, and keeps foreign labels', async () => {
    leaseOf('net-1/a', { team: 'a', rack: '7' }).start();
    await pass(0);
    const { labels, annotations } = store.lease?.metadata ?? {};
    expect(labels).toMatchObject({ team: 'a', rack: '7' });
    expect(annotations).toMatchObject({ team: 'a', rack: '7' });
    store.write({
      ...(store.lease as LeaseObject),
      metadata: {
        ...store.lease?.metadata,
        labels: { ...labels, theirs: 'x' },
        annotations: annotations ?? {},
      },
    });
    leaseOf('net-1/b', { team: 'b' }).start();
    await pass(0);
    expect(store.lease?.metadata?.labels).toEqual({
      'isthmus.dev/instance': 'net-1',
      team: 'b',
      theirs: 'x',
    });
    expect(store.lease?.metadata?.annotations).toEqual({
      'isthmus.dev/instance': 'net-1',
      'isthmus.dev/applied-tags': 'team',
      team: 'b',
    });
  });

  describe('that is deleted while another process waits for it', () => {
    const waiting = async () => {
      claims = null;
      const holder = leaseOf('net-1/a');
      holder.start();
      await pass(0);
      const newcomer = leaseOf('net-1/b');
      newcomer.start();
      await pass(13_000);
      store.lease = null;
      return { holder, newcomer };
    };

    test('is created again by its live holder', async () => {
      const { holder, newcomer } = await waiting();
      await pass(10_000);
      expect(holder.state()).toMatchObject({ held: true, lostTo: null });
      expect(newcomer.state()).toMatchObject({ held: false, refused: null });
      expect((store.lease as LeaseObject | null)?.spec?.holderIdentity).toBe('net-1/a');
    });

    test('is created by that process 20 s later if its holder does not create it', async () => {
      const { holder, newcomer } = await waiting();
      await holder.stop({ release: false });
      const attempts = async (count: number) => {
        for (let i = 0; i < count; i += 1) await pass(2000);
      };
      await attempts(10);
      expect(newcomer.state().held).toBe(false);
      await attempts(2);
      expect(newcomer.state().held).toBe(true);
    });

    test('is created by that process at once if a claim to replace the holder arrives meanwhile', async () => {
      const { holder, newcomer } = await waiting();
      await holder.stop({ release: false });
      claims = 'daemonset';
      await pass(2000);
      expect(newcomer.state().held).toBe(true);
    });
  });

  describe('reports at its end whether it may still name this process:', () => {
    const ending = async () => {
      const lease = leaseOf('net-1/a');
      lease.start();
      await pass(0);
      return lease;
    };

    test('no, if it was never requested, was deleted, or has another holder', async () => {
      expect(await leaseOf('net-1/a').stop({ release: true })).toBe(true);
      expect(await (await ending()).stop({ release: true })).toBe(true);
      const gone = await ending();
      store.lease = null;
      expect(await gone.stop({ release: true })).toBe(true);
      const lost = await ending();
      leaseOf('net-1/b').start();
      await pass(10_000);
      expect(lost.state().lostTo).toBe('net-1/b');
      expect(await lost.stop({ release: true })).toBe(true);
    });

    test('no, if another process created it first', async () => {
      const late = leaseOf('net-1/a');
      const first = store.request.bind(store);
      store.request = async <T>(request: Parameters<Requester['request']>[0]): Promise<T> => {
        if (request.method === 'POST')
          store.write({ metadata: { name: 'isthmus-net-1' }, spec: { holderIdentity: 'net-1/b' } });
        return first<T>(request);
      };
      late.start();
      await pass(0);
      expect(await late.stop({ release: true })).toBe(true);
    });

    test('yes, if it could not be deleted, or the answer to its creation is missing', async () => {
      const kept = await ending();
      store.broken = 'unreachable';
      expect(await kept.stop({ release: true })).toBe(false);
      store.broken = null;
      const edited = await ending();
      store.write({ ...(store.lease as LeaseObject) });
      expect(await edited.stop({ release: true })).toBe(false);
      store.lease = null;
      const unsure = leaseOf('net-1/a');
      const first = store.request.bind(store);
      store.request = async <T>(request: Parameters<Requester['request']>[0]): Promise<T> => {
        store.nonsense = request.method === 'POST' ? { answer: undefined } : null;
        return first<T>(request);
      };
      unsure.start();
      await pass(0);
      expect(await unsure.stop({ release: true })).toBe(false);
    });
  });

  test('is deleted at the end, unless a successor holds it', async () => {
    const old = leaseOf('net-1/a');
    old.start();
    await pass(0);
    leaseOf('net-1/b').start();
    await pass(0);
    await old.stop({ release: true });
    expect(store.lease?.spec?.holderIdentity).toBe('net-1/b');
    await open[1]?.stop({ release: true });
    expect(store.lease).toBeNull();
  });
});
