import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError, type KubeErrorCode } from '../../kube/kube-error.ts';
import type { StatusEvent } from '../plan/status-events.ts';
import { EventWriter } from './event-writer.ts';

const event = (uid: string, message = 'm'): StatusEvent => ({
  object: { apiVersion: 'v1', kind: 'OpenStackCluster', name: uid, namespace: 'ns', uid },
  type: 'Normal',
  reason: 'Proxied',
  message,
});
const refusal = (code: KubeErrorCode, retryAfterMs: number | null = null) =>
  new KubeError({ code, verb: 'create', path: '/api/v1/namespaces/ns/events', detail: '', retryAfterMs });

describe('Events', () => {
  let requests: { method: string; path: string }[];
  let refusals: (KubeError | null)[];
  let problems: (string | null)[];
  let writer: EventWriter;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    requests = [];
    refusals = [];
    problems = [];
    const client: Requester = {
      request: async <T>({ method, path, signal }: Parameters<Requester['request']>[0]) => {
        requests.push({ method, path });
        const error = refusals.shift();
        if (error instanceof KubeError) throw error;
        if (error === null)
          await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
        return {} as T;
      },
    };
    writer = new EventWriter({
      client,
      instance: 'net-1',
      now: () => 0,
      wallNow: () => 0,
      onProblem: (error) => problems.push(error?.code ?? null),
    });
  });
  afterEach(async () => {
    await writer.stop();
    vi.useRealTimers();
  });

  test('are written one after the other, at most ten in a second', async () => {
    writer.enqueue([event('a'), event('b'), event('c')]);
    await vi.advanceTimersByTimeAsync(0);
    expect(requests).toEqual([{ method: 'POST', path: '/api/v1/namespaces/ns/events' }]);
    await vi.advanceTimersByTimeAsync(100);
    expect(requests).toHaveLength(2);
    writer.enqueue([event('d')]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(requests).toHaveLength(4);
    expect(problems).toEqual([null, null, null, null]);
  });

  test('that repeat increase a count, and are created again if the old Event was deleted', async () => {
    refusals.push(undefined as never, refusal('not-found'));
    writer.enqueue([event('a'), event('a')]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
  });

  test('that cannot be written are dropped, reported once, and block no other', async () => {
    refusals.push(refusal('forbidden'));
    writer.enqueue([event('a'), event('b')]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(requests).toHaveLength(2);
    expect(problems).toEqual(['forbidden', null]);
  });

  test('wait as long as the server asks, but at most a minute', async () => {
    refusals.push(refusal('too-many-requests', 5000), refusal('too-many-requests', 3_600_000));
    writer.enqueue([event('a'), event('b'), event('c')]);
    await vi.advanceTimersByTimeAsync(4999);
    expect(requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(requests).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(requests).toHaveLength(3);
  });

  test('wait in a queue of at most a thousand', async () => {
    writer.enqueue(Array.from({ length: 5000 }, (_, i) => event(`c${i}`)));
    await vi.advanceTimersByTimeAsync(5000 * 100);
    expect(requests).toHaveLength(1000);
  });

  test('do not delay a stop, even when a request is never answered', async () => {
    refusals.push(null);
    writer.enqueue([event('a'), event('b')]);
    await vi.advanceTimersByTimeAsync(0);
    await writer.stop();
    writer.enqueue([event('c')]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(requests).toHaveLength(1);
    expect(problems).toEqual([]);
  });
});
