import { afterEach, describe, expect, test } from 'vitest';
import { fakeError } from '../../../test/kube/fake-collection.ts';
import { VirtualReflector } from '../../../test/kube/virtual-reflector.ts';
import type { KubeObject } from '../kube-object.ts';
import type { ReflectorOptions } from './reflector.ts';

interface Seen {
  readonly spec: unknown;
}

const made: VirtualReflector<Seen>[] = [];
function virtual(options: Partial<ReflectorOptions<Seen>> = {}): VirtualReflector<Seen> {
  const one = new VirtualReflector<Seen>(({ spec }: KubeObject) => ({ spec }), options);
  made.push(one);
  return one;
}
afterEach(async () => {
  for (const each of made.splice(0)) {
    await each.reflector.stop();
    expect(each.api.watchers.size).toBe(0);
  }
});

const specs = (of: VirtualReflector<Seen>) =>
  Object.fromEntries([...of.snapshot.items].map(([key, { spec }]) => [key, spec]));

describe('a reflector', () => {
  test('is empty and not synced before its first list', async () => {
    const one = virtual();
    expect(one.snapshot).toMatchObject({ synced: false, staleSinceMs: 1_000_000, problem: null });
    one.api.put('a', 1);
    one.reflector.start();
    await one.reflector.ready();
    expect(one.snapshot.synced).toBe(true);
    expect(specs(one)).toEqual({ 'ns/a': 1 });
  });

  test('lists the most recent state, then watches from there with bookmarks and a random timeout', async () => {
    const one = virtual({ labelSelector: 'a=b', fieldSelector: 'c=d' });
    one.api.put('a');
    await one.watching();
    expect(one.api.requests[0]?.query).toMatchObject({
      limit: 500,
      labelSelector: 'a=b',
      fieldSelector: 'c=d',
    });
    expect(one.api.requests[0]?.query?.resourceVersion).toBeUndefined();
    const [watch] = one.api.watches;
    expect(watch?.query).toEqual({
      labelSelector: 'a=b',
      fieldSelector: 'c=d',
      resourceVersion: '1',
      allowWatchBookmarks: true,
      timeoutSeconds: 450,
    });
    expect(watch?.idleTimeoutMs).toBe(150_000);
    expect(one.snapshot).toMatchObject({ staleSinceMs: null, problem: null });
  });

  test('requests only metadata if configured', async () => {
    const one = await virtual({ metadataOnly: true }).watching();
    expect(one.api.requests[0]?.accept).toMatch(
      /^application\/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1/,
    );
    expect(one.api.watches[0]?.accept).toMatch(
      /^application\/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1/,
    );
  });

  test('follows creations, changes and deletions, and reports each of them', async () => {
    const one = await virtual().watching();
    const before = one.changes;
    one.api.put('a', 1);
    one.api.put('b', 1);
    one.api.put('a', 2);
    one.api.delete('b');
    await one.settle();
    expect(specs(one)).toEqual({ 'ns/a': 2 });
    expect(one.changes).toBe(before + 4);
  });

  test('returns the same snapshot while nothing changes, and keeps the projections of unchanged objects', async () => {
    const one = virtual();
    one.api.put('a', 1);
    one.api.put('b', 1);
    await one.watching();
    const before = one.snapshot;
    one.api.bookmark();
    await one.settle();
    expect(one.snapshot).toBe(before);
    one.api.put('b', 2);
    await one.settle();
    expect(one.snapshot).not.toBe(before);
    expect(before.items.get('ns/b')).toEqual({ spec: 1 });
    expect(one.snapshot.items.get('ns/a')).toBe(before.items.get('ns/a'));
  });

  test('reports no change if the projections are equal', async () => {
    const one = virtual({ equal: (a, b) => a.spec === b.spec });
    one.api.put('a', 1);
    await one.watching();
    const [before, changes] = [one.snapshot, one.changes];
    one.api.put('a', 1);
    await one.settle();
    expect(one.snapshot).toBe(before);
    expect(one.changes).toBe(changes);
  });

  test('keeps a new object when the deletion of the old one with the same name arrives late', async () => {
    const one = await virtual().watching();
    one.api.put('a', 1);
    const old = one.api.objects.get('a');
    one.api.delete('a');
    one.api.put('a', 2);
    one.api.send({ type: 'DELETED', object: old });
    await one.settle();
    expect(specs(one)).toEqual({ 'ns/a': 2 });
  });

  test('reports whether it has reached a version: by an event, by a bookmark, or by a later list', async () => {
    const one = await virtual().watching();
    const { reflector } = one;
    const listsBegun = reflector.listsBegun();
    expect(reflector.hasReached('1', listsBegun)).toBe(false);
    one.api.put('a', 1);
    await one.settle();
    expect([reflector.hasReached('1', listsBegun), reflector.hasReached('2', listsBegun)]).toEqual([
      true,
      false,
    ]);
    one.api.bookmark(7);
    await one.settle();
    expect([reflector.hasReached('7', listsBegun), reflector.hasReached('10', listsBegun)]).toEqual([
      true,
      false,
    ]);
    // For an unknown version, or one that cannot be compared, only a list helps.
    expect([reflector.hasReached(null, listsBegun), reflector.hasReached('x', listsBegun)]).toEqual([
      false,
      false,
    ]);
    one.nowMs += 5000;
    reflector.relist();
    await one.until(() => one.api.requests.length === 2 && one.api.watchers.size === 1);
    for (const version of ['10', 'x', null]) expect(reflector.hasReached(version, listsBegun)).toBe(true);
    expect(reflector.hasReached('10', reflector.listsBegun())).toBe(false);
  });

  test('continues the watch from its position when the server ends it by its timeout', async () => {
    const one = await virtual().watching();
    one.api.put('a');
    one.api.bookmark(7);
    await one.settle();
    one.nowMs += 450_000;
    one.api.send('end');
    await one.until(() => one.api.watches.length === 2 && one.api.watchers.size === 1);
    expect(one.api.watches[1]?.query.resourceVersion).toBe('7');
    expect(one.sleeps).toEqual([]);
    expect(one.api.requests).toHaveLength(1);
    expect(one.snapshot.problem).toBeNull();
  });

  test('lists again after an hour, and removes objects whose deletion it missed', async () => {
    const one = virtual();
    one.api.put('a', 1);
    one.api.put('b', 1);
    await one.watching();
    const kept = one.snapshot.items.get('ns/a');
    one.api.objects.delete('b');
    one.nowMs += 4_000_000;
    one.api.send('end');
    await one.until(() => one.api.requests.length === 2 && one.api.watchers.size === 1);
    expect([...one.snapshot.items]).toEqual([['ns/a', kept]]);
    expect(one.snapshot.items.get('ns/a')).toBe(kept);
  });

  test('continues to watch when only the hourly list fails', async () => {
    const one = virtual();
    one.api.put('a', 1);
    await one.watching();
    one.api.listFaults.push(fakeError('server-error', 'list'));
    one.nowMs += 4_000_000;
    one.api.send('end');
    await one.until(() => one.api.watches.length === 2 && one.api.watchers.size === 1);
    expect(one.snapshot).toMatchObject({ staleSinceMs: null, problem: null });
    one.nowMs += 400_000;
    one.api.send('end');
    await one.until(() => one.api.requests.length === 3);
  });

  test('lists on request, also during a long wait, but at most once a second', async () => {
    const one = await virtual().watching();
    one.passes = false;
    one.nowMs += 5000;
    one.reflector.relist();
    await one.until(() => one.api.requests.length === 2 && one.api.watchers.size === 1);
    one.api.send(fakeError('unreachable', 'watch'));
    await one.settle();
    expect(one.snapshot.problem?.code).toBe('unreachable');
    one.nowMs += 5000;
    one.reflector.relist();
    await one.until(() => one.api.requests.length === 3 && one.snapshot.problem === null);
    const [lists, sleeps] = [one.api.requests.length, one.sleeps.length];
    one.passes = true;
    one.reflector.relist();
    one.reflector.relist();
    await one.until(() => one.api.requests.length === lists + 1 && one.api.watchers.size === 1);
    expect(one.sleeps.slice(sleeps)).toContain(1000);
  });

  test('reads a long list page by page, and changes nothing before the last page', async () => {
    const one = virtual({ pageSize: 10 });
    for (let each = 0; each < 35; each++) one.api.put(`o${each}`, each);
    one.api.listFaults.push(null, null, fakeError('server-error', 'list'));
    one.reflector.start();
    await one.reflector.ready();
    expect(one.snapshot).toMatchObject({ synced: false, problem: { code: 'server-error' } });
    expect(one.snapshot.items.size).toBe(0);
    await one.until(() => one.snapshot.synced);
    expect(one.snapshot.items.size).toBe(35);
    expect(one.api.requests).toHaveLength(3 + 4);
  });

  test('restarts a list that expired, and requests it in one piece after the second time', async () => {
    const one = virtual({ pageSize: 10 });
    for (let each = 0; each < 25; each++) one.api.put(`o${each}`, each);
    const gone = fakeError('gone', 'list');
    one.api.listFaults.push(null, gone, null, null, gone);
    await one.watching();
    expect(one.snapshot.items.size).toBe(25);
    expect(one.api.requests.map(({ query }) => query?.limit)).toEqual([10, 10, 10, 10, 10, undefined]);
    expect(one.sleeps).toEqual([]);
  });

  test('uses smaller pages after a page was too large', async () => {
    const one = virtual();
    const error = Object.assign(fakeError('bad-answer', 'list'), { reason: 'AnswerTooLarge' });
    one.api.listFaults.push(error, error);
    await one.watching();
    expect(one.api.requests.map(({ query }) => query?.limit)).toEqual([500, 100, 20]);
  });

  test('requests the path before each list, and projects all objects again after a change of the path', async () => {
    let version = 'v1';
    const one = virtual({ path: async () => `/apis/x.io/${version}/things` });
    one.api.put('a', 1);
    await one.watching();
    const before = one.snapshot.items.get('ns/a');
    version = 'v2';
    one.api.send(fakeError('not-found', 'watch'));
    await one.until(() => one.api.requests.length === 2 && one.api.watchers.size === 1);
    expect(one.api.requests[1]?.path).toBe('/apis/x.io/v2/things');
    expect(one.api.watches[1]?.path).toBe('/apis/x.io/v2/things');
    expect(one.snapshot.items.get('ns/a')).toEqual(before);
    expect(one.snapshot.items.get('ns/a')).not.toBe(before);
  });
});
