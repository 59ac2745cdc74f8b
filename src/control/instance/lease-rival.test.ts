import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { LeaseObject } from '../objects/published-objects.ts';
import { leaseOf } from '../objects/published-objects.ts';
import { InstanceLease, type InstanceLeaseOptions } from './instance-lease.ts';
import { LeaseRival } from './lease-rival.ts';

const WALL = Date.parse('2026-03-02T09:14:27Z');
const lease = (
  facts: { holder?: string; host?: string; renewedAtMs?: number; durationSeconds?: number } = {},
) =>
  leaseOf({
    instance: 'net-1',
    namespace: 'ns',
    holder: 'net-1/a',
    host: 'host-a',
    acquiredAtMs: WALL,
    renewedAtMs: WALL,
    transitions: 0,
    tags: {},
    ...facts,
  });

describe('the Lease of our name', () => {
  const own = 'net-1/b';
  const first = (object: LeaseObject) => new LeaseRival().verdict(object, own, 0).kind;

  test.each<[title: string, object: LeaseObject]>([
    ['without a holder', lease({ holder: '' })],
    ['that this process holds', lease({ holder: own })],
  ])('%s has no live holder', (_title, object) => {
    expect(first(object)).toBe('none');
  });

  test('of another process may have a live holder, however old it is: in an API outage no process can renew', () => {
    for (const renewedAtMs of [WALL, WALL - 1e9, 0]) expect(first(lease({ renewedAtMs }))).toBe('unknown');
  });

  test('of a process that renews it has a live holder, which is certain after one duration of the Lease', () => {
    const rival = new LeaseRival();
    expect(rival.verdict(lease(), own, 0).kind).toBe('unknown');
    for (let second = 10; second < 3600; second += 10) {
      const renewed = lease({ renewedAtMs: WALL + second * 1000 });
      expect(rival.verdict(renewed, own, second * 1000)).toEqual({
        ...{ kind: 'alive', certain: second >= 30 },
        ...{ holder: 'net-1/a', host: 'host-a', process: '' },
      });
    }
  });

  test('of a process that stopped renewing has no live holder after its expiry, as after a reboot of this host', () => {
    const rival = new LeaseRival();
    for (const now of [0, 10_000, 20_000, 30_000])
      expect(rival.verdict(lease(), own, now).kind).toBe('unknown');
    expect(rival.verdict(lease(), own, 30_001).kind).toBe('none');
  });

  test('of a process that is paused while another one waits has no live holder one duration later', () => {
    const rival = new LeaseRival();
    rival.verdict(lease(), own, 0);
    const last = lease({ renewedAtMs: WALL + 9000 });
    expect(rival.verdict(last, own, 10_000)).toMatchObject({ kind: 'alive', certain: false });
    for (const now of [20_000, 30_000, 39_000])
      expect(rival.verdict(last, own, now)).toMatchObject({ kind: 'alive', certain: false });
    expect(rival.verdict(last, own, 40_001).kind).toBe('none');
  });

  test('has no live holder after five minutes without a renewal, even with a longer duration', () => {
    const rival = new LeaseRival();
    const endless = lease({ durationSeconds: 2_000_000_000 });
    for (let now = 0; now <= 300_000; now += 10_000)
      expect(rival.verdict(endless, own, now).kind).toBe('unknown');
    expect(rival.verdict(endless, own, 300_001).kind).toBe('none');
  });

  test('may have a live holder after a time without an answer of the API, in which no process could renew it', () => {
    const rival = new LeaseRival();
    expect(rival.verdict(lease(), own, 0).kind).toBe('unknown');
    for (const now of [60_000, 75_000, 90_000]) expect(rival.verdict(lease(), own, now).kind).toBe('unknown');
    expect(rival.verdict(lease(), own, 90_001).kind).toBe('none');
  });

  describe('that is deleted', () => {
    const renewedBy = (seconds: readonly number[]) => {
      const rival = new LeaseRival();
      for (const second of seconds)
        rival.verdict(lease({ renewedAtMs: WALL + second * 1000 }), own, second * 1000);
      return rival;
    };

    test('may be created at once if no renewal of its holder was seen', () => {
      expect(new LeaseRival().mayCreate(0)).toBe(true);
      expect(renewedBy([0]).mayCreate(2000)).toBe(true);
    });

    test('is left to a live holder until the holder has had time for a renewal', () => {
      const rival = renewedBy([0, 10]);
      for (const now of [12_000, 22_000, 32_000]) expect(rival.mayCreate(now)).toBe(false);
      expect(rival.mayCreate(32_001)).toBe(true);
    });

    test('is left to a live holder for the same time after an API outage', () => {
      const rival = renewedBy([0, 10]);
      for (const now of [12_000, 60_000, 80_000]) expect(rival.mayCreate(now)).toBe(false);
      expect(rival.mayCreate(80_001)).toBe(true);
    });

    test('and that its holder created again is left to the holder as before', () => {
      const rival = renewedBy([0, 10]);
      expect(rival.mayCreate(12_000)).toBe(false);
      const again = lease({ renewedAtMs: WALL + 20_000 });
      expect(rival.verdict(again, own, 20_000)).toMatchObject({ kind: 'alive', certain: false });
      for (const now of [22_000, 42_000]) expect(rival.mayCreate(now)).toBe(false);
    });

    test('may be created at once if this process had taken it', () => {
      const rival = renewedBy([0, 10]);
      rival.forget();
      expect(rival.mayCreate(12_000)).toBe(true);
    });
  });
});

describe('two hosts with one name', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('do not take the Lease from each other; the second reports why and gives up, a third gets it after the release', async () => {
    let stored: LeaseObject | null = null;
    let version = 0;
    let nowMs = 0;
    const client: InstanceLeaseOptions['client'] = {
      request: async <T>({ method, body }: { method?: string; body?: unknown }): Promise<T> => {
        if (method === 'DELETE') stored = null;
        else if (method !== 'GET' || stored === null) {
          if (method === 'GET') {
            const { KubeError } = await import('../../kube/kube-error.ts');
            throw new KubeError({ code: 'not-found', verb: 'get', path: '', detail: '' });
          }
          const { metadata, spec, ...rest } = body as LeaseObject;
          version += 1;
          stored = {
            ...stored,
            ...rest,
            metadata: { uid: 'u', ...stored?.metadata, ...metadata, resourceVersion: String(version) },
            spec: { ...stored?.spec, ...spec },
          } as LeaseObject;
        }
        return stored as T;
      },
    };
    const reported: string[] = [];
    const instance = (holder: string, host: string) =>
      new InstanceLease({
        client,
        namespace: 'ns',
        instance: 'net-1',
        holder,
        host,
        tags: {},
        claim: { reason: async () => null, taken: () => {} },
        onTaken: () => {},
        now: () => nowMs,
        wallNow: () => WALL + nowMs,
        onChange: () => {},
        onProblem: (error) => reported.push(error === null ? 'recovered' : error.message),
      });
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        nowMs += 1000;
        await vi.advanceTimersByTimeAsync(1000);
      }
    };
    const [first, second] = [instance('net-1/a', 'host-a'), instance('net-1/b', 'host-b')];
    first.start();
    await pass(1);
    second.start();
    await pass(120);
    expect(first.state()).toMatchObject({ held: true, lostTo: null });
    expect(second.state()).toMatchObject({ held: false, lostTo: null });
    expect((stored as LeaseObject | null)?.spec).toMatchObject({
      holderIdentity: 'net-1/a',
      leaseTransitions: 0,
    });
    expect(new Set(reported).size).toBe(1);
    expect(reported[0]).toContain('another host also uses the name net-1');
    expect(reported[0]).toContain('--node-name');
    expect(second.state().refused).toBe(reported[0]);
    await first.stop({ release: true });
    const third = instance('net-1/c', 'host-b');
    third.start();
    await pass(3);
    expect(third.state().held).toBe(true);
    for (const each of [second, third]) await each.stop({ release: false });
  });
});
