// Faults of a server, a network or a proxy during one request, and the error that the caller gets.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HttpKubeClient, type KubeRequest, openKubeClient } from '../../src/kube/kube-client.ts';
import { KubeError } from '../../src/kube/kube-error.ts';
import { json, refuse, ScriptedApi } from './scripted-api.ts';

const SERVICES = '/api/v1/namespaces/magnum-system/services';
const GET: KubeRequest = { method: 'GET', path: `${SERVICES}/a` };
const TOKEN = 'eyJhbGciOi.s3cret.signature';

let api: ScriptedApi;
let client: HttpKubeClient;

beforeEach(async () => {
  api = await new ScriptedApi().start();
  client = await openKubeClient({ kubeconfig: api.kubeconfig({ token: TOKEN }), environment: {} });
});
afterEach(async () => {
  await client.close();
  await expect.poll(() => api.openConnections).toBe(0);
  await api.end();
});

async function failure(request: KubeRequest = GET): Promise<KubeError> {
  const error: unknown = await client.request(request).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(KubeError);
  expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain('s3cret');
  expect((error as Error).cause).toBeUndefined();
  return error as KubeError;
}

describe('a request that fails', () => {
  test('is unreachable while no server listens, and works again when a server listens on the same port', async () => {
    api.handler = (_, response) => json(response, {});
    await client.request(GET);
    await api.stop();
    expect(await failure()).toMatchObject({ code: 'unreachable', status: null });
    expect((await failure()).message).toBe(
      `unreachable: cannot get services "a" in magnum-system: connect ECONNREFUSED 127.0.0.1:${api.port}`,
    );
    await api.start();
    expect(await client.request(GET)).toEqual({});
  });

  test('is a timeout if the server does not answer', async () => {
    api.handler = () => {};
    expect(await failure({ ...GET, timeoutMs: 50 })).toMatchObject({
      code: 'timeout',
      status: null,
    });
  });

  test('is a timeout if the answer stops half way', async () => {
    api.handler = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"half":');
    };
    expect(await failure({ ...GET, timeoutMs: 100 })).toMatchObject({ code: 'timeout' });
  });

  test('is unreachable if the connection is cut during the answer', async () => {
    api.handler = (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"half":', () => response.destroy());
    };
    expect(await failure()).toMatchObject({ code: 'unreachable' });
  });

  test.each([
    ['text', 'text/html', '<html>s3cret</html>'],
    ['half an object', 'application/json', '{"data":"s3cret'],
  ])('is a bad answer if the body is %s, and the error does not quote it', async (_title, type, body) => {
    api.handler = (_, response) => response.writeHead(200, { 'content-type': type }).end(body);
    expect(await failure()).toMatchObject({ code: 'bad-answer', status: 200 });
  });

  test('is a bad answer if the reply is not HTTP or not gzip', async () => {
    api.handler = (_, response) => response.socket?.end('s3cret s3cret\r\n\r\n');
    expect(await failure()).toMatchObject({ code: 'bad-answer' });
    api.handler = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('s3cret');
    expect(await failure()).toMatchObject({ code: 'bad-answer' });
  });

  test('does not show the token in the error message if the server sends it back', async () => {
    api.handler = ({ headers }, response) =>
      refuse(response, 403, 'Forbidden', `not with ${headers.authorization}`);
    expect((await failure()).message).toContain('not with Bearer …');
    api.handler = ({ headers }, response) =>
      response.writeHead(502).end(`proxy saw ${headers.authorization}`);
    expect((await failure()).message).toContain('proxy saw Bearer …');
  });

  test('reports the Retry-After time of the server', async () => {
    api.handler = (_, response) =>
      refuse(response, 429, 'TooManyRequests', 'slow down', { 'retry-after': '3' });
    expect(await failure()).toMatchObject({ code: 'too-many-requests', retryAfterMs: 3000, status: 429 });
    expect(api.asked).toHaveLength(1);
  });

  test('throws a TypeError if it cannot be written in HTTP', async () => {
    for (const path of ['services', '/a?b=c', '/a/../b', '/a b', '/ü'])
      await expect(client.request({ method: 'GET', path })).rejects.toThrow(TypeError);
    await expect(client.request({ method: 'PATCH', path: SERVICES, body: {} })).rejects.toThrow(TypeError);
    expect(api.asked).toHaveLength(0);
  });
});

describe('a request', () => {
  test('ends with the reason of its caller when the caller aborts it', async () => {
    const caller = new AbortController();
    api.handler = () => caller.abort(new Error('enough'));
    await expect(client.request({ ...GET, signal: caller.signal })).rejects.toThrow('enough');
    await expect(client.request({ ...GET, signal: caller.signal })).rejects.toThrow('enough');
    expect(api.asked).toHaveLength(1);
  });

  test('ends when the client closes, and the close waits for it', async () => {
    const arrived = new Promise<void>((resolve) => {
      api.handler = () => resolve();
    });
    const error = failure();
    await arrived;
    await client.close();
    expect(await error).toMatchObject({ code: 'unreachable' });
    expect((await failure()).message).toContain('the client was closed');
  });
});

describe('a connection that the server closed while it was idle', () => {
  /** The second request on each connection finds it closed. */
  const closing = () => {
    const used = new WeakSet<object>();
    api.handler = (_, response) => {
      const socket = response.socket as object;
      if (used.has(socket)) response.socket?.destroy();
      else json(response, {});
      used.add(socket);
    };
  };

  test('does not fail a read request', async () => {
    closing();
    for (let each = 0; each < 4; each++) expect(await client.request(GET)).toEqual({});
    expect(client.callCounts().get('get')).toBe(api.asked.length);
  });

  test('fails a write request, because the server may have processed it', async () => {
    closing();
    await client.request(GET);
    const error = await failure({
      method: 'PATCH',
      path: `${SERVICES}/a`,
      patch: 'merge',
      body: { s3cret: 1 },
    });
    expect(error).toMatchObject({ code: 'unreachable', verb: 'patch' });
    expect(api.asked.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
  });
});
