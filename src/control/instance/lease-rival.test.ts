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
  const first = (object: LeaseObject, wallNow = WALL) =>
    new LeaseRival().verdict(object, own, 0, wallNow).kind;

  test.each<[title: string, object: LeaseObject, wallNow?: number]>([
    ['without a holder', lease({ holder: '' })],
    ['that this process holds', lease({ holder: own })],
    ['that was last renewed more than two minutes ago', lease(), WALL + 121_000],
  ])('%s has no live holder', (_title, object, wallNow) => {
    expect(first(object, wallNow)).toBe('none');
  });

  test('of another process may have a live holder, even if the clocks differ', () => {
    for (const wallNow of [WALL, WALL + 100_000, WALL - 1e9]) expect(first(lease(), wallNow)).toBe('unknown');
  });

  test('of a process that renews it has a live holder, which is certain after one duration of the Lease', () => {
    const rival = new LeaseRival();
    expect(rival.verdict(lease(), own, 0, WALL).kind).toBe('unknown');
    for (let second = 10; second < 3600; second += 10) {
      const renewed = lease({ renewedAtMs: WALL + second * 1000 });
      expect(rival.verdict(renewed, own, second * 1000, WALL)).toEqual({
        ...{ kind: 'alive', certain: second >= 30 },
        ...{ holder: 'net-1/a', host: 'host-a', process: '' },
      });
    }
  });

  test('of a process that stopped renewing has no live holder after its expiry, as after a reboot of this host', () => {
    const rival = new LeaseRival();
    for (const now of [0, 10_000, 20_000, 30_000])
      expect(rival.verdict(lease(), own, now, WALL).kind).toBe('unknown');
    expect(rival.verdict(lease(), own, 30_001, WALL).kind).toBe('none');
  });

  test('of a process that is paused while another one waits has no live holder one duration later', () => {
    const rival = new LeaseRival();
    rival.verdict(lease(), own, 0, WALL);
    const last = lease({ renewedAtMs: WALL + 9000 });
    expect(rival.verdict(last, own, 10_000, WALL)).toMatchObject({ kind: 'alive', certain: false });
    for (const now of [20_000, 30_000, 39_000])
      expect(rival.verdict(last, own, now, WALL)).toMatchObject({ kind: 'alive', certain: false });
    expect(rival.verdict(last, own, 40_001, WALL).kind).toBe('none');
  });

  test('cannot make its holder immortal', () => {
    const rival = new LeaseRival();
    const endless = lease({ durationSeconds: 2_000_000_000 });
    for (let now = 0; now <= 300_000; now += 10_000)
      expect(rival.verdict(endless, own, now, WALL).kind).toBe('unknown');
    expect(rival.verdict(endless, own, 300_001, WALL).kind).toBe('none');
  });

  test('may have a live holder after a time without an answer of the API, in which no process could renew it', () => {
    const rival = new LeaseRival();
    expect(rival.verdict(lease(), own, 0, WALL).kind).toBe('unknown');
    for (const now of [60_000, 75_000, 90_000])
      expect(rival.verdict(lease(), own, now, WALL).kind).toBe('unknown');
    expect(rival.verdict(lease(), own, 90_001, WALL).kind).toBe('none');
  });

  test('that is old may have a live holder if it is of the same boot of this host', () => {
    const outage = WALL + 600_000;
    expect(new LeaseRival('host-a').verdict(lease(), own, 0, outage).kind).toBe('unknown');
    expect(new LeaseRival('host-b').verdict(lease(), own, 0, outage).kind).toBe('none');
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
