// The reflector on a real client and real HTTPS: cut connections, restarts, hangs, changing tokens.
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { abortableSleep } from '../../src/kube/abortable.ts';
import { type HttpKubeClient, openKubeClient } from '../../src/kube/kube-client.ts';
import type { KubeObject } from '../../src/kube/kube-object.ts';
import { Reflector, type ReflectorOptions } from '../../src/kube/watch/reflector.ts';
import { FakeCollection, fakeError } from './fake-collection.ts';
import { refuse, ScriptedApi } from './scripted-api.ts';
import { servedCollection } from './served-collection.ts';

let api: ScriptedApi;
let client: HttpKubeClient;
let collection: FakeCollection;
let open: Set<ServerResponse>;
const reflectors: Reflector<unknown>[] = [];

beforeEach(async () => {
  api = await new ScriptedApi().start();
  collection = new FakeCollection();
  open = new Set();
  api.handler = servedCollection(collection, open);
  const tokenFile = join(api.directory, 'token');
  writeFileSync(tokenFile, 'first');
  client = await openKubeClient({ kubeconfig: api.kubeconfig({ tokenFile }), environment: {} });
});
afterEach(async () => {
  await Promise.all(reflectors.splice(0).map((each) => each.stop()));
  await client.close();
  await eventually(() => api.openConnections).toBe(0);
  await api.end();
});

const eventually = <T>(look: () => T) => expect.poll(look, { interval: 10 });

function reflector(options: Partial<ReflectorOptions<unknown>> = {}): Reflector<unknown> {
  const made = new Reflector<unknown>({
    client,
    path: () => '/apis/x.io/v1/namespaces/ns/things',
    project: ({ spec }: KubeObject) => spec,
    onChange: () => {},
    // Other tests cover the waits.
    sleep: (ms, signal) => abortableSleep(ms / 20, signal),
    ...options,
  });
  reflectors.push(made);
  made.start();
  return made;
}

const known = (of: Reflector<unknown>) => Object.fromEntries(of.snapshot().items);
const there = () =>
  Object.fromEntries([...collection.objects].map(([name, { spec }]) => [`ns/${name}`, spec]));
const converged = async (of: Reflector<unknown>) => {
  const state = () => ({
    items: known(of),
    problem: of.snapshot().problem,
    staleSinceMs: of.snapshot().staleSinceMs,
  });
  await eventually(state).toEqual({ items: there(), problem: null, staleSinceMs: null });
};

describe('a reflector on a real connection', () => {
  test('keeps one watch open and uses one connection for its lists', async () => {
    for (let each = 0; each < 25; each++) collection.put(`o${each}`, each);
    const one = reflector({ pageSize: 5 });
    await converged(one);
    await eventually(() => api.asked.map(({ isWatch }) => isWatch)).toEqual([
      false,
      false,
      false,
      false,
      false,
      true,
    ]);
    await eventually(() => api.openConnections).toBe(2);
    collection.put('new', 1);
    await converged(one);
  });

  test('survives a restart of the server on its port, and a history lost in the meantime', async () => {
    collection.put('a', 1);
    const one = reflector();
    await converged(one);
    const before = one.snapshot();
    await api.stop();
    await eventually(() => one.snapshot().problem?.code).toBe('unreachable');
    expect(one.snapshot().items.get('ns/a')).toBe(before.items.get('ns/a'));
    expect(one.snapshot().staleSinceMs).toBeGreaterThan(0);
    collection.delete('a');
    collection.put('b', 2);
    collection.forget();
    await api.start();
    await converged(one);
    expect(api.asked.filter(({ isWatch }) => !isWatch)).toHaveLength(2);
  });

  test('survives garbage, half lines, cuts in a line, and invalid answers', async () => {
    collection.put('a', 1);
    const failures: string[] = [];
    const one = reflector({
      onChange: () => {
        const { problem } = one.snapshot();
        if (problem !== null) failures.push(problem.code);
      },
    });
    await converged(one);
    const faults: ((response: ServerResponse) => void)[] = [
      (response) => response.write('}{ no JSON\n'),
      (response) =>
        response.write('{"type":"STRANGE","object":{"metadata":{"name":"x","resourceVersion":"1"}}}\n'),
      (response) => response.end('{"type":"ADDED","object":{"meta'),
      (response) =>
        response.write('{"type":"ADDED","object":{"meta', () => setTimeout(() => response.destroy(), 5)),
      () => api.cut(),
    ];
    for (const [index, fault] of faults.entries()) {
      for (const response of open) fault(response);
      await eventually(() => failures).toHaveLength(index + 1);
      collection.put(`after-${index}`, index);
      await converged(one);
    }
    expect(failures.filter((code) => code === 'bad-answer')).toHaveLength(3);
  });

  test('uses a new token after a rejection, for lists and watches alike', async () => {
    let valid = 'first';
    const serve = api.handler;
    api.handler = (asked, response) =>
      asked.headers.authorization === `Bearer ${valid}`
        ? serve(asked, response)
        : refuse(response, 401, 'Unauthorized');
    const one = reflector();
    await converged(one);
    valid = 'second';
    api.cut();
    await eventually(() => one.snapshot().problem?.code).toBe('unauthorized');
    writeFileSync(join(api.directory, 'token'), 'second');
    collection.put('a', 1);
    await converged(one);
  });

  test('waits as long as the server asks, and lists again after an error that means "too old"', async () => {
    collection.put('a', 1);
    const sleeps: number[] = [];
    const one = reflector({
      sleep: async (ms, signal) => {
        sleeps.push(ms);
        await abortableSleep(1, signal);
      },
    });
    await converged(one);
    const serve = api.handler;
    let refusals = 2;
    api.handler = (asked, response) =>
      refusals-- > 0
        ? refuse(response, 429, 'TooManyRequests', '', { 'retry-after': '2' })
        : serve(asked, response);
    collection.send(fakeError('gone', 'watch'));
    collection.put('b', 1);
    await converged(one);
    expect(sleeps.filter((ms) => ms >= 2000)).toHaveLength(2);
  });

  test('detects a silent watch', async () => {
    collection.put('a', 1);
    // The limit of minutes is a constant of the reflector; in this test the client shortens it.
    const impatient = Object.create(client, {
      watch: {
        value: (request: Parameters<HttpKubeClient['watch']>[0]) =>
          client.watch({ ...request, idleTimeoutMs: 300 }),
      },
      request: { value: client.request.bind(client) },
    }) as HttpKubeClient;
    const one = reflector({ client: impatient });
    await converged(one);
    await eventually(() => api.asked.filter(({ isWatch }) => isWatch).length).toBeGreaterThan(3);
    expect(one.snapshot().items.get('ns/a')).toBe(1);
    collection.put('b', 1);
    await converged(one);
  });

  test('stops at once during a list that hangs and during a watch', async () => {
    api.handler = () => {};
    const one = reflector();
    await eventually(() => api.asked.length).toBe(1);
    await one.stop();
    await eventually(() => api.openConnections).toBe(0);
  });

  test('ends with the objects of the server after any cuts at any time', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.oneof(
      fc.record({ do: fc.constantFrom('put', 'delete'), name }),
      fc.record({ do: fc.constantFrom('cut', 'half', 'garbage', 'end', 'forget', 'relist', 'wait'), name }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const one = reflector({ pageSize: 2 });
        for (const [index, each] of steps.entries()) {
          if (each.do === 'put') collection.put(each.name, index);
          else if (each.do === 'delete') collection.delete(each.name);
          else if (each.do === 'cut') api.cut();
          else if (each.do === 'half')
            for (const response of open) response.write('{"type":', () => response.destroy());
          else if (each.do === 'garbage') for (const response of open) response.write('garbage\n');
          else if (each.do === 'end') collection.send('end');
          else if (each.do === 'forget') collection.forget();
          else if (each.do === 'relist') one.relist();
          else await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await converged(one);
        await one.stop();
      }),
      { numRuns: 15 },
    );
  });
});
