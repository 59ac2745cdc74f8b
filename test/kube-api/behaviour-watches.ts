// Watches: their initial events, later events, and end. The reflector depends on every test in this file.
import { expect, test } from 'vitest';
import type { Watch } from './raw-client.ts';
import { expectStatus, type Suite, secret, secrets, slice, slices } from './suite.ts';

export function watchBehaviour(suite: Suite): void {
  const at = (query = '') => `${slices(suite.namespace)}${query}`;
  const create = async (name: string, labels: Record<string, string>) =>
    expectStatus(await suite.client.post(slices(suite.namespace), slice(name, { labels })), 201).body;
  const versionNow = async (): Promise<string> =>
    expectStatus(await suite.client.get(at('?limit=1')), 200).body.metadata.resourceVersion;
  const summary = async (watch: Watch, count: number): Promise<string[]> => {
    const events: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const { type, object } = await watch.next();
      events.push(`${type} ${object.metadata.name}`);
    }
    return events;
  };

  test('a watch from a version sends all later events, in order, with complete objects', async () => {
    const version = await versionNow();
    const created = await create('watched', { a: '1' });
    const watch = await suite.client.watch(at(`?resourceVersion=${version}`));
    const path = slices(suite.namespace, 'watched');
    const { body: changed } = expectStatus(
      await suite.client.patch(path, { metadata: { labels: { a: '2' } } }),
      200,
    );
    expectStatus(await suite.client.delete(path), 200);
    const [added, modified, deleted] = [await watch.next(), await watch.next(), await watch.next()];
    watch.close();
    expect(added).toEqual({ type: 'ADDED', object: created });
    expect(modified).toEqual({ type: 'MODIFIED', object: changed });
    expect(deleted).toMatchObject({ type: 'DELETED', object: { metadata: { uid: created.metadata.uid } } });
    expect(added.object).toMatchObject({ kind: 'EndpointSlice', apiVersion: 'discovery.k8s.io/v1' });
    // The deletion has its own version, from which a client can continue.
    expect(Number(deleted.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(changed.metadata.resourceVersion),
    );
  });

  test('a watch without a version starts with the existing objects', async () => {
    await create('state-a', { state: 'x' });
    await create('state-b', { state: 'x' });
    const watch = await suite.client.watch(at('?labelSelector=state%3Dx'));
    expect((await summary(watch, 2)).sort()).toEqual(['ADDED state-a', 'ADDED state-b']);
    await create('state-c', { state: 'x' });
    expect(await summary(watch, 1)).toEqual(['ADDED state-c']);
    watch.close();
  });

  test('a watch with initial events gets a bookmark at their end', async () => {
    await create('initial-a', { initial: 'x' });
    const watch = await suite.client.watch(
      at(
        '?labelSelector=initial&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan',
      ),
    );
    const events = await watch.until(({ type }) => type === 'BOOKMARK');
    watch.close();
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
    expect(events.at(-1)?.object).toMatchObject({
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1',
      metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
    });
    expect(Number(events.at(-1)?.object.metadata.resourceVersion)).toBeGreaterThan(0);
  });

  test('initial events require the matching resourceVersionMatch', async () => {
    const answer = await suite.client.get(at('?watch=true&sendInitialEvents=true'));
    expectStatus(answer, 422, 'Invalid');
  });

  test('for a watch with a selector an object appears when it begins to match, and is deleted when it stops', async () => {
    const version = await versionNow();
    const watch = await suite.client.watch(at(`?labelSelector=phase%3Don&resourceVersion=${version}`));
    await create('phases', { phase: 'off' });
    const path = slices(suite.namespace, 'phases');
    const set = (labels: object) => suite.client.patch(path, { metadata: { labels } });
    await set({ phase: 'on' });
    await set({ other: '1' });
    const { body: left } = await set({ phase: 'off' });
    await set({ other: '2' });
    await set({ phase: 'on' });
    expectStatus(await suite.client.delete(path), 200);
    const events = [];
    for (let index = 0; index < 5; index += 1) events.push(await watch.next());
    watch.close();
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED', 'DELETED']);
    // The event has the object's last matching content, with the version in which it stopped matching.
    expect(events[2]?.object.metadata.labels.phase).toBe('on');
    expect(events[2]?.object.metadata.resourceVersion).toBe(left.metadata.resourceVersion);
  });

  test('one object can be watched by name', async () => {
    const version = await versionNow();
    const watch = await suite.client.watch(
      at(`?fieldSelector=metadata.name%3Dby-name&resourceVersion=${version}`),
    );
    await create('not-by-name', {});
    await create('by-name', {});
    expect(await summary(watch, 1)).toEqual(['ADDED by-name']);
    watch.close();
  });

  test('a watch of all namespaces sees objects of each namespace', async () => {
    const version = await versionNow();
    const watch = await suite.client.watch(
      `/apis/discovery.k8s.io/v1/endpointslices?labelSelector=everywhere&resourceVersion=${version}`,
    );
    expectStatus(
      await suite.client.post(slices('default'), slice('elsewhere', { labels: { everywhere: '' } })),
      201,
    );
    await create('here', { everywhere: '' });
    expect(await summary(watch, 2)).toEqual(['ADDED elsewhere', 'ADDED here']);
    watch.close();
    expectStatus(await suite.client.delete(slices('default', 'elsewhere')), 200);
  });

  test('a client can watch only the metadata, without secret data', async () => {
    const version = await versionNow();
    const watch = await suite.client.watch(`${secrets(suite.namespace)}?resourceVersion=${version}`, {
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    });
    expectStatus(await suite.client.post(secrets(suite.namespace), secret('watched-metadata')), 201);
    const { type, object } = await watch.next();
    watch.close();
    expect(type).toBe('ADDED');
    expect(object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'watched-metadata' } });
    expect(object.data).toBeUndefined();
  });

  test('a watch from a future version is silent until that version exists', async () => {
    const version = Number(await versionNow());
    const watch = await suite.client.watch(at(`?resourceVersion=${version + 2}&labelSelector=future`));
    for (const name of ['future-1', 'future-2', 'future-3', 'future-4']) await create(name, { future: '' });
    const { object } = await watch.next();
    watch.close();
    expect(Number(object.metadata.resourceVersion)).toBeGreaterThan(version + 2);
  });

  test('initial events of a future version end in an error', async () => {
    const late = Number(await versionNow()) + 1_000_000;
    const initial = 'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
    const watch = await suite.client.watch(at(`?resourceVersion=${late}&${initial}`));
    const { type, object } = await watch.next();
    expect(type).toBe('ERROR');
    expect(object).toMatchObject({ kind: 'Status', reason: 'Timeout', code: 504 });
    expect(object.details.causes[0].reason).toBe('ResourceVersionTooLarge');
  });

  test('a watch ends after its timeout, with a bookmark shortly before if requested', async () => {
    const version = await versionNow();
    const watch = await suite.client.watch(
      at(`?resourceVersion=${version}&timeoutSeconds=5&allowWatchBookmarks=true&labelSelector=nothing`),
    );
    await create('moves-the-version', {});
    const { type, object } = await watch.next();
    expect(type).toBe('BOOKMARK');
    expect(object).toMatchObject({ kind: 'EndpointSlice', apiVersion: 'discovery.k8s.io/v1' });
    expect(Number(object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(version));
    await watch.ended;
  });

  test('a watch without bookmarks is silent until its end', async () => {
    const watch = await suite.client.watch(at('?timeoutSeconds=1&labelSelector=nothing'));
    await watch.ended;
    await expect(Promise.race([watch.next(), Promise.resolve('quiet')])).resolves.toBe('quiet');
  });

  test('an invalid version or selector is rejected', async () => {
    // A real API server returns the raw parser error as 500. A client must not treat it as a temporary outage.
    expectStatus(await suite.client.get(at('?watch=true&resourceVersion=x')), 500);
    expectStatus(await suite.client.get(at('?watch=true&labelSelector=a%20b')), 400, 'BadRequest');
  });
}
