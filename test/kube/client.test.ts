import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HttpKubeClient, openKubeClient } from '../../src/kube/kube-client.ts';
import { KubeError } from '../../src/kube/kube-error.ts';
import { json, ScriptedApi } from './scripted-api.ts';

const SERVICES = '/api/v1/namespaces/magnum-system/services';

let api: ScriptedApi;
let client: HttpKubeClient;

const open = (kubeconfig: string) => openKubeClient({ kubeconfig, environment: {}, userAgent: 'test/1' });
const failure = async (work: Promise<unknown>): Promise<KubeError> => {
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(KubeError);
  return error as KubeError;
};

beforeEach(async () => {
  api = await new ScriptedApi().start();
  client = await open(api.kubeconfig());
});
afterEach(async () => {
  await client.close();
  await api.end();
});

describe('a request', () => {
  test('sends token, query and user agent, and returns the object', async () => {
    api.handler = (_, response) => json(response, { kind: 'Service' });
    const answer = await client.request({
      method: 'GET',
      path: `${SERVICES}/a`,
      query: { limit: 5, labelSelector: 'a=b,c', none: undefined },
    });
    expect(answer).toEqual({ kind: 'Service' });
    const [asked] = api.asked;
    expect(asked).toMatchObject({ method: 'GET', path: `${SERVICES}/a` });
    expect(Object.fromEntries(asked!.query)).toEqual({ limit: '5', labelSelector: 'a=b,c' });
    expect(asked!.headers).toMatchObject({
      authorization: 'Bearer a-token',
      'user-agent': 'test/1',
      accept: 'application/json',
      'accept-encoding': 'gzip',
    });
    expect(client.callCounts()).toEqual(new Map([['get', 1]]));
  });

  test('with a merge patch has its content type', async () => {
    api.handler = (_, response) => json(response, {});
    await client.request({ method: 'PATCH', path: `${SERVICES}/a`, patch: 'merge', body: { spec: 'ü' } });
    expect(api.asked[0]).toMatchObject({
      method: 'PATCH',
      body: '{"spec":"ü"}',
      headers: { 'content-type': 'application/merge-patch+json' },
    });
  });

  test('shares at most eight connections with any number of other requests', async () => {
    api.handler = (_, response) => json(response, {});
    for (let each = 0; each < 100; each++) await client.request({ method: 'GET', path: `${SERVICES}/a` });
    expect(api.connections).toBe(1);
    await Promise.all(
      Array.from({ length: 200 }, () => client.request({ method: 'GET', path: `${SERVICES}/a` })),
    );
    expect(api.connections).toBeLessThanOrEqual(8);
  });

  test('that is urgent does not wait for other requests that hang', async () => {
    api.handler = ({ method }, response) => {
      if (method !== 'POST') json(response, {});
    };
    const hanging = Array.from({ length: 20 }, () =>
      client.request({ method: 'POST', path: SERVICES, body: {}, timeoutMs: 120_000 }).catch(() => {}),
    );
    await client.request({ method: 'DELETE', path: `${SERVICES}/a`, urgent: true, timeoutMs: 60_000 });
    const hung = () => api.asked.filter(({ method }) => method === 'POST').length;
    await expect.poll(hung).toBeGreaterThanOrEqual(8);
    expect(hung()).toBe(8); // the other requests wait for these
    await client.close();
    await Promise.all(hanging);
  });

  test('reads a compressed list, and rejects a list that is too large after decompression', async () => {
    const body = gzipSync(JSON.stringify({ items: ['x'.repeat(1_000_000)] }));
    api.handler = (_, response) =>
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(body);
    const whole = await client.request<{ items: string[] }>({ method: 'GET', path: SERVICES });
    expect(whole.items[0]).toHaveLength(1_000_000);
    const error = await failure(client.request({ method: 'GET', path: SERVICES, maxBytes: 500_000 }));
    expect(error).toMatchObject({ code: 'bad-answer', verb: 'list', path: SERVICES });
    expect(body.length).toBeLessThan(10_000);
  });
});
