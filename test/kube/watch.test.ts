// One watch: the events it yields, how it ends, and that it leaves nothing behind.
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HttpKubeClient, openKubeClient } from '../../src/kube/kube-client.ts';
import { KubeError } from '../../src/kube/kube-error.ts';
import type { WatchEvent } from '../../src/kube/kube-object.ts';
import { refuse, ScriptedApi } from './scripted-api.ts';

const PATH = '/apis/x.io/v1/namespaces/a/things';
let api: ScriptedApi;
let client: HttpKubeClient;
let caller: AbortController;

beforeEach(async () => {
  api = await new ScriptedApi().start();
  client = await openKubeClient({ kubeconfig: api.kubeconfig(), environment: {} });
  caller = new AbortController();
});
afterEach(async () => {
  await client.close();
  await expect.poll(() => api.openConnections).toBe(0);
  await api.end();
});

const watching = (idleTimeoutMs = 10_000, onOpen = () => {}) =>
  client.watch({ path: PATH, query: { resourceVersion: '5' }, idleTimeoutMs, signal: caller.signal, onOpen });

async function outcome(idleTimeoutMs?: number): Promise<{ events: WatchEvent[]; error: unknown }> {
  const events: WatchEvent[] = [];
  try {
    for await (const event of watching(idleTimeoutMs)) events.push(event);
    return { events, error: null };
  } catch (error) {
    if (error instanceof KubeError) expect(error.message).not.toContain('s3cret');
    return { events, error };
  }
}

const says = (script: (response: ServerResponse) => void) => {
  api.handler = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    script(response);
  };
};
const line = (name: string) => `${JSON.stringify({ type: 'ADDED', object: { metadata: { name } } })}\n`;

describe('a watch', () => {
  test('sends its parameters, and yields events until the server ends it', async () => {
    says((response) => response.end(`${line('a')}\n \n${line('ü')}`));
    const { events, error } = await outcome();
    expect(error).toBeNull();
    expect(events.map(({ object }) => (object as { metadata: { name: string } }).metadata.name)).toEqual([
      'a',
      'ü',
    ]);
    expect(api.asked[0]).toMatchObject({ path: PATH, isWatch: true });
    expect(Object.fromEntries(api.asked[0]!.query)).toEqual({ watch: 'true', resourceVersion: '5' });
    expect(api.asked[0]!.headers['accept-encoding']).toBeUndefined();
    expect(client.callCounts()).toEqual(new Map([['watch', 1]]));
  });

  test('reports that it is open before the first event', async () => {
    says(() => {});
    await new Promise<void>((resolve) => {
      const events = watching(10_000, resolve)[Symbol.asyncIterator]();
      events.next().catch(() => {});
    });
    caller.abort();
  });

  test('joins lines that arrive in pieces', async () => {
    says((response) => {
      const bytes = Buffer.from(line('ü'.repeat(100)));
      let sent = 0;
      const next = () => {
        if (sent === bytes.length) response.end();
        else response.write(bytes.subarray(sent, ++sent), () => setImmediate(next));
      };
      next();
    });
    const { events } = await outcome();
    expect(events).toEqual([{ type: 'ADDED', object: { metadata: { name: 'ü'.repeat(100) } } }]);
  });

  test('frees its connection for the next request after a clean end', async () => {
    says((response) => response.end(line('a')));
    for (let each = 0; each < 5; each++) await outcome();
    expect(api.connections).toBe(1);
  });

  test('leaves nothing behind when its reader stops', async () => {
    says((response) => response.write(line('a') + line('b')));
    for await (const event of watching()) {
      expect(event.type).toBe('ADDED');
      break;
    }
    await expect.poll(() => api.openConnections).toBe(0);
  });
});

describe('a watch yields its complete events and then fails', () => {
  test.each<[title: string, script: (response: ServerResponse) => void, code: string]>([
    ['with garbage', (response) => response.write(`${line('a')}s3cret{{{\n`), 'bad-answer'],
    [
      'with JSON that is not an event',
      (response) => response.write(`${line('a')}["s3cret"]\n`),
      'bad-answer',
    ],
    [
      'with an event without a type',
      (response) => response.write(`${line('a')}{"object":"s3cret"}\n`),
      'bad-answer',
    ],
    ['with half a line at its end', (response) => response.end(`${line('a')}{"type":"s3cret`), 'bad-answer'],
    [
      'when it is cut in a line',
      (response) =>
        response.write(`${line('a')}{"type":"s3cret`, () => setTimeout(() => response.destroy(), 20)),
      'unreachable',
    ],
    [
      'when it has expired',
      (response) =>
        response.write(
          `${line('a')}{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n`,
        ),
      'gone',
    ],
  ])('%s', async (_title, script, code) => {
    says(script);
    const { events, error } = await outcome();
    expect(events).toHaveLength(1);
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({ code, verb: 'watch', path: PATH });
  });

  test('when it becomes silent', async () => {
    says((response) => response.write(line('a')));
    const { events, error } = await outcome(1000);
    expect(events).toHaveLength(1);
    expect(error).toMatchObject({ code: 'timeout' });
  });

  test('when a line does not end', async () => {
    says((response) => {
      const block = Buffer.alloc(1024 * 1024, 'x');
      let sent = 0;
      const next = () => {
        if (sent++ < 17 && !response.destroyed) response.write(block, next);
      };
      next();
    });
    expect((await outcome()).error).toMatchObject({ code: 'bad-answer' });
  });
});

describe('a watch does not start', () => {
  test('when the server rejects it', async () => {
    api.handler = (_, response) => refuse(response, 429, 'TooManyRequests', '', { 'retry-after': '1' });
    expect((await outcome()).error).toMatchObject({ code: 'too-many-requests', retryAfterMs: 1000 });
    api.handler = (_, response) => refuse(response, 410, 'Expired');
    expect((await outcome()).error).toMatchObject({ code: 'gone' });
  });

  test("when its caller has already aborted, and it fails with the caller's reason", async () => {
    caller.abort(new Error('enough'));
    expect((await outcome()).error).toEqual(new Error('enough'));
    expect(api.asked).toHaveLength(0);
  });

  test('when 64 watches are already open', async () => {
    says(() => {});
    const opened: Promise<void>[] = [];
    for (let each = 0; each < 64; each++) {
      opened.push(
        new Promise((resolve) => {
          const events = watching(10_000, resolve)[Symbol.asyncIterator]();
          events.next().catch(() => {});
        }),
      );
    }
    await Promise.all(opened);
    expect((await outcome()).error).toEqual(new Error('more than 64 watches at a time'));
    caller.abort();
    await expect.poll(() => api.openConnections).toBe(0);
  });
});
