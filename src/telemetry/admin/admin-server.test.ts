import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readAll, tcpClient, tcpServer, WAIT_MS, within } from '../../../test/support/tcp.ts';
import { AdminServer } from './admin-server.ts';

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let server: AdminServer;
let port: number;
let calls: string[];

beforeEach(async () => {
  calls = [];
  server = new AdminServer({
    '/livez': () => ({ status: 200, type: 'text', body: 'ok\n' }),
    '/readyz': () => ({ status: 503, type: 'text', body: 'not ready: starting\n' }),
    '/metrics': async () => ({ status: 200, type: 'metrics', body: 'up 1\n' }),
    '/status': () => {
      calls.push('status');
      return { status: 200, type: 'json', body: '{"ü":1}\n' };
    },
    '/explain/<cluster>': ({ subject, query }) => ({
      status: 200,
      type: 'text',
      body: `${subject} ${query.get('format')}\n`,
    }),
    '/throws': () => {
      throw new Error('it throws');
    },
    '/rejects': () => Promise.reject(new Error('it rejects')),
  });
  ({ port } = await server.listen({ host: '127.0.0.1', port: 0 }));
});
afterEach(() => server.close());

function ask(path: string, method = 'GET', body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          type: response.headers['content-type'],
          headers: response.headers,
          body: text,
        }),
      );
    })
      .on('error', reject)
      .end(body);
  });
}

describe('a page', () => {
  test.each<[path: string, status: number, type: string, body: string]>([
    ['/livez', 200, 'text/plain; charset=utf-8', 'ok\n'],
    ['/readyz', 503, 'text/plain; charset=utf-8', 'not ready: starting\n'],
    ['/metrics', 200, 'text/plain; version=0.0.4; charset=utf-8', 'up 1\n'],
    ['/status', 200, 'application/json; charset=utf-8', '{"ü":1}\n'],
    ['/status?pretty=1', 200, 'application/json; charset=utf-8', '{"ü":1}\n'],
    ['/explain/alpha', 200, 'text/plain; charset=utf-8', 'alpha null\n'],
    ['/explain/a%2Fb?format=json', 200, 'text/plain; charset=utf-8', 'a/b json\n'],
    ['/throws', 500, 'text/plain; charset=utf-8', 'Error: it throws\n'],
    ['/rejects', 500, 'text/plain; charset=utf-8', 'Error: it rejects\n'],
  ])('at %s is %i %s, by GET with its body and by HEAD without', async (path, status, type, body) => {
    const answer = await ask(path);
    expect(answer).toMatchObject({ status, type, body });
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(await ask(path, 'HEAD')).toMatchObject({ status, type, body: '' });
  });

  test('that throws does not affect the other pages', async () => {
    await ask('/throws');
    expect(await ask('/livez')).toMatchObject({ status: 200, body: 'ok\n' });
  });

  test('is made again for each request', async () => {
    await ask('/status');
    await ask('/status');
    expect(calls).toEqual(['status', 'status']);
  });
});

test.each([
  '/',
  '/statu',
  '/status/',
  '/STATUS',
  '/__proto__',
  '/constructor',
  '//status',
  '/status%3F',
  '/explain',
  '/explain/',
  '/explain/a/b',
  '/explain/%zz',
])('%s is 404 and lists the existing pages', async (path) => {
  expect(await ask(path)).toMatchObject({
    status: 404,
    type: 'text/plain; charset=utf-8',
    body: 'there are: /livez /readyz /metrics /status /explain/<cluster> /throws /rejects\n',
  });
  expect(calls).toEqual([]);
});

test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is 405 and renders no page', async (method) => {
  const answer = await ask('/status', method, method === 'POST' ? 'x'.repeat(100_000) : undefined);
  expect(answer).toMatchObject({ status: 405, body: 'only GET\n' });
  expect(answer.headers.allow).toBe('GET, HEAD');
  expect(calls).toEqual([]);
});

test('input that is not HTTP is refused, and the server continues', async () => {
  const client = await tcpClient(port);
  client.end('\x16\x03\x01 hello\r\n\r\n');
  expect((await readAll(client)).bytes.toString()).toMatch(/^HTTP\/1\.1 400 /);
  expect(await ask('/livez')).toMatchObject({ status: 200 });
});

describe('listening', () => {
  test('on a port that is taken is refused with its code', async () => {
    const other = await tcpServer();
    const second = new AdminServer({});
    await expect(second.listen({ host: '127.0.0.1', port: other.port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
    await second.close();
    await other.close();
  });

  test('without a host is on all addresses', async () => {
    const everywhere = new AdminServer({ '/': () => ({ status: 200, type: 'text', body: 'here' }) });
    const { address, port: free } = await everywhere.listen({ host: undefined, port: 0 });
    expect(['::', '0.0.0.0']).toContain(address);
    expect(free).toBeGreaterThan(0);
    const client = await tcpClient(free, '127.0.0.1');
    client.destroy();
    await everywhere.close();
  });

  test('ends with close, whatever state its connections are in', async () => {
    const silent = connect({ port, host: '127.0.0.1' });
    const half = connect({ port, host: '127.0.0.1' });
    half.write('GET /sta');
    const answered = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    answered.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await within(WAIT_MS, 'an answer', once(answered, 'data')); // the client does not close it
    const ends = [silent, half, answered].map((client) =>
      once(
        client.on('error', () => {}).on('end', () => client.end()),
        'close',
      ),
    );
    await within(WAIT_MS, 'close', server.close());
    await within(WAIT_MS, 'the end of the clients', Promise.all(ends));
    await expect(ask('/livez')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('bytes after a request', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A request of another address. When it is answered, the server has read what it reads without a timer. */
  async function answeredMeanwhile(): Promise<void> {
    const client = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    client.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    client.resume();
    await once(client, 'end');
    client.destroy();
  }

  test('are read in batches, and not without end, if their address has many connections', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const others = Array.from({ length: 5 }, () => connect({ port, host: '127.0.0.1' }));
    await Promise.all(others.map((each) => once(each, 'connect')));
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
    let isClosed = false;
    client.on('close', () => {
      isClosed = true;
    });
    let isAnswered = false;
    client.once('data', () => {
      isAnswered = true;
    });
    client.write(`GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n${'x'.repeat(2 ** 20)}`);
    for (let turn = 0; turn < 1000 && !isAnswered; turn += 1) {
      await answeredMeanwhile();
      if (!isAnswered) vi.advanceTimersByTime(50);
    }
    expect(isAnswered).toBe(true);
    // Only a write shows the client that the server has closed the connection.
    for (let times = 0; times < 20 && !isClosed; times += 1) {
      await answeredMeanwhile();
      client.write('x');
    }
    expect(isClosed).toBe(false);
    for (let turn = 0; turn < 1000 && !isClosed; turn += 1) {
      vi.advanceTimersByTime(50);
      await answeredMeanwhile();
      client.write('x');
    }
    expect(isClosed).toBe(true);
    for (const each of others) each.destroy();
  });
});
