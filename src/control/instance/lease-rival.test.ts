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
  const first = (object: LeaseObject, host = 'host-b', wallNow = WALL) =>
    new LeaseRival(host).judge(object, own, 0, wallNow).kind;

  test.each<[title: string, object: LeaseObject, host?: string, wallNow?: number]>([
    ['of a predecessor on this host', lease({ host: 'host-b' })],
    ['of an instance without a recorded host', lease({ host: '' })],
    ['on a host without a known boot id', lease(), ''],
    ['without a holder', lease({ holder: '' })],
    ['that this process holds', lease({ holder: own })],
    ['that was last renewed more than two minutes ago', lease(), 'host-b', WALL + 121_000],
  ])('%s is ours to take at once', (_title, object, host, wallNow) => {
    expect(first(object, host, wallNow)).toBe('none');
  });

  test('of another host is not ours to take at once, even if the clocks differ', () => {
    for (const wallNow of [WALL, WALL + 100_000, WALL - 1e9])
      expect(first(lease(), 'host-b', wallNow)).toBe('unknown');
  });

  test('of another host that renews it is never ours', () => {
    const rival = new LeaseRival('host-b');
    expect(rival.judge(lease(), own, 0, WALL).kind).toBe('unknown');
    for (let second = 10; second < 3600; second += 10) {
      const renewed = lease({ renewedAtMs: WALL + second * 1000 });
      expect(rival.judge(renewed, own, second * 1000, WALL)).toEqual({
        kind: 'alive',
        holder: 'net-1/a',
        host: 'host-a',
      });
    }
  });

  test('of another host that stopped renewing is ours after its expiry, as after a reboot of this host', () => {
    const rival = new LeaseRival('host-b');
    for (const now of [0, 10_000, 30_000]) expect(rival.judge(lease(), own, now, WALL).kind).toBe('unknown');
    expect(rival.judge(lease(), own, 30_001, WALL).kind).toBe('none');
  });

  test('cannot make its holder immortal', () => {
    const rival = new LeaseRival('host-b');
    const endless = lease({ durationSeconds: 2_000_000_000 });
    rival.judge(endless, own, 0, WALL);
    expect(rival.judge(endless, own, 300_001, WALL).kind).toBe('none');
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
    const told: string[] = [];
    const instance = (holder: string, host: string) =>
      new InstanceLease({
        client,
        namespace: 'ns',
        instance: 'net-1',
        holder,
        host,
        tags: {},
        now: () => nowMs,
        wallNow: () => WALL + nowMs,
        onChange: () => {},
        onProblem: (error) => told.push(error === null ? 'recovered' : error.message),
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
    expect(new Set(told).size).toBe(1);
    expect(told[0]).toContain('another host also goes by the name net-1');
    expect(told[0]).toContain('--node-name');
    await first.stop({ release: true });
    await pass(15);
    expect(second.state().held).toBe(true);
    expect(told.at(-1)).toBe('recovered');
    await second.stop({ release: false });
  });
});
