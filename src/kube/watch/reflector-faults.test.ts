import { afterEach, describe, expect, test } from 'vitest';
import { fakeError } from '../../../test/kube/fake-collection.ts';
import { VirtualReflector } from '../../../test/kube/virtual-reflector.ts';
import type { KubeErrorCode } from '../kube-error.ts';
import type { KubeObject } from '../kube-object.ts';
import type { ReflectorOptions } from './reflector.ts';

const made: VirtualReflector<unknown>[] = [];
function virtual(
  options: Partial<ReflectorOptions<unknown>> = {},
  project = ({ spec }: KubeObject): unknown => spec,
) {
  const one = new VirtualReflector<unknown>(project, options);
  made.push(one);
  return one;
}
afterEach(async () => {
  for (const each of made.splice(0)) {
    await each.reflector.stop();
    expect(each.api.watchers.size).toBe(0);
  }
});

/** The list requests, without those that only read the current version. */
const listsOf = (one: VirtualReflector<unknown>) =>
  one.api.requests.filter(({ query }) => query?.limit !== 1);

/** Delays in the middle of their jitter. */
const steps = (...ms: number[]) => ms.map((each) => each * 0.75);

describe('while the server does not answer', () => {
  test('the last content stays, and the snapshot reports since when it is stale', async () => {
    const one = virtual();
    one.api.put('a', 1);
    await one.watching();
    one.nowMs += 60_000;
    const cutAtMs = one.nowMs;
    one.api.watchFaults.push(...Array(20).fill(fakeError('unreachable', 'watch')));
    one.passes = false;
    one.api.send(fakeError('unreachable', 'watch'));
    await one.until(() => one.snapshot.problem !== null);
    expect(one.snapshot).toMatchObject({
      synced: true,
      staleSinceMs: cutAtMs,
      problem: { code: 'unreachable', message: 'unreachable: cannot watch things: as scripted' },
    });
    expect([...one.snapshot.items]).toEqual([['ns/a', 1]]);
    one.passes = true;
    one.api.put('b', 2);
    await one.until(() => one.api.watchers.size === 1);
    await one.settle();
    expect(one.snapshot).toMatchObject({ staleSinceMs: null, problem: null });
    expect([...one.snapshot.items.keys()].sort()).toEqual(['ns/a', 'ns/b']);
    expect(listsOf(one)).toHaveLength(1); // the position was still valid
    expect(one.api.requests).toHaveLength(2); // the version was read after the server returned, not before
  });

  test('after a silent watch the content is stale since the last event', async () => {
    const one = await virtual().watching();
    one.nowMs += 10_000;
    one.api.bookmark();
    await one.settle();
    const heardAtMs = one.nowMs;
    one.nowMs += 150_000;
    one.passes = false;
    one.api.send(fakeError('timeout', 'watch'));
    await one.until(() => one.snapshot.problem !== null);
    expect(one.snapshot.staleSinceMs).toBe(heardAtMs);
  });

  test('the reflector backs off up to ten seconds, and resets the backoff after a successful watch', async () => {
    const one = virtual();
    one.api.listFaults.push(...Array(10).fill(fakeError('unreachable', 'list')));
    await one.watching();
    expect(one.sleeps).toEqual(steps(200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000));
    one.nowMs += 60_000;
    one.api.send(fakeError('unreachable', 'watch'));
    await one.until(() => one.api.watches.length === 2);
    expect(one.sleeps.at(-1)).toBe(150);
  });

  test('a watch that opens and breaks at once does not reset the backoff', async () => {
    const one = await virtual().watching();
    for (let each = 0; each < 5; each++) {
      one.api.send(fakeError('unreachable', 'watch'));
      await one.until(() => one.api.watches.length === each + 2 && one.api.watchers.size === 1);
    }
    expect(one.sleeps).toEqual(steps(200, 400, 800, 1600, 3200));
  });

  test('a watch that the server ends cleanly but at once does not reset the backoff', async () => {
    const one = await virtual().watching();
    for (let each = 0; each < 5; each++) {
      one.api.put('a', each);
      one.api.send('end');
      await one.until(() => one.api.watches.length === each + 2 && one.api.watchers.size === 1);
    }
    expect(one.sleeps).toEqual(steps(200, 400, 800, 1600, 3200));
  });

  test('the reflector waits as long as the server requests', async () => {
    const one = virtual();
    one.api.listFaults.push(fakeError('too-many-requests', 'list', 7000));
    await one.watching();
    expect(one.sleeps).toEqual([7000 * 1.05]);
  });

  test('the reflector does not list from an overloaded server that rejects its watch', async () => {
    const one = await virtual().watching();
    one.api.watchFaults.push(...Array(5).fill(fakeError('too-many-requests', 'watch')));
    one.api.send(fakeError('unreachable', 'watch'));
    await one.until(() => one.api.watches.length === 7 && one.api.watchers.size === 1);
    expect(listsOf(one)).toHaveLength(1);
    expect(one.api.requests.length).toBeLessThanOrEqual(2);
  });
});

describe('when the position of the watch is invalid', () => {
  test('because the server no longer keeps it, the reflector lists and removes deleted objects', async () => {
    const one = virtual();
    one.api.put('a', 1);
    one.api.put('b', 1);
    await one.watching();
    const kept = one.snapshot.items.get('ns/b');
    one.passes = false;
    one.api.send(fakeError('unreachable', 'watch'));
    await one.settle();
    one.api.delete('a');
    one.api.put('c', 1);
    one.api.forget();
    one.passes = true;
    await one.until(() => one.api.requests.length === 2 && one.api.watchers.size === 1);
    expect([...one.snapshot.items.keys()]).toEqual(['ns/b', 'ns/c']);
    expect(one.snapshot.items.get('ns/b')).toBe(kept);
  });

  test('the first gone error resets the backoff, and repeated ones increase it', async () => {
    const one = await virtual().watching();
    const gone = fakeError('gone', 'watch');
    one.api.watchFaults.push(...Array(6).fill(fakeError('unreachable', 'watch')), gone, gone, gone);
    one.api.send(fakeError('unreachable', 'watch'));
    await one.until(() => one.api.watches.length === 11 && one.api.watchers.size === 1);
    expect(one.sleeps).toEqual(steps(200, 400, 800, 1600, 3200, 6400, 10_000, 200, 400, 800));
  });

  test.each<[code: KubeErrorCode, lists: number]>([
    ['gone', 2],
    ['forbidden', 2],
    ['not-found', 2],
    ['invalid', 2],
    ['server-error', 1],
    ['unauthorized', 1],
    ['bad-answer', 1],
  ])('a watch that ends with %s leads to a total of %i lists', async (code, lists) => {
    const one = await virtual().watching();
    one.api.send(fakeError(code, 'watch'));
    await one.until(() => one.api.watches.length === 2 && one.api.watchers.size === 1);
    expect(one.api.requests).toHaveLength(lists);
  });

  test.each<KubeErrorCode>(['server-error', 'bad-answer'])(
    '%s twice without a valid event in between leads to a list',
    async (code) => {
      const one = await virtual().watching();
      one.api.watchFaults.push(fakeError(code, 'watch'));
      one.api.send(fakeError(code, 'watch'));
      await one.until(() => one.api.watches.length === 3 && one.api.watchers.size === 1);
      expect(one.api.requests).toHaveLength(2);
    },
  );

  test('a watch without any event leads to a list after its timeout, and a watch with events continues', async () => {
    const one = await virtual().watching();
    one.api.bookmark();
    await one.settle();
    one.nowMs += 150_000;
    one.api.send(fakeError('timeout', 'watch'));
    await one.until(() => one.api.watches.length === 2 && one.api.watchers.size === 1);
    expect(one.api.requests).toHaveLength(1);
    one.nowMs += 150_000;
    one.api.send(fakeError('timeout', 'watch'));
    await one.until(() => one.api.watches.length === 3 && one.api.watchers.size === 1);
    expect(one.api.requests).toHaveLength(2);
    one.api.watchFaults.push(fakeError('timeout', 'watch'));
    one.nowMs += 400_000;
    one.api.send('end');
    await one.until(() => one.api.watches.length === 5 && one.api.watchers.size === 1);
    expect(one.api.requests).toHaveLength(2); // the watch did not open: the server is unreachable, not silent
  });

  test('because the server was restored from a backup, its next bookmark leads to a list', async () => {
    const one = virtual();
    one.api.put('a', 1);
    for (let each = 0; each < 20; each++) one.api.put('b', each);
    await one.watching();
    const before = one.snapshot.items.get('ns/a');
    expect(before).toBe(1);
    one.api.objects.delete('b');
    one.api.goBackTo(5);
    one.api.bookmark();
    await one.until(() => one.api.requests.length === 2 && one.api.watchers.size === 1);
    expect([...one.snapshot.items.keys()]).toEqual(['ns/a']);
    expect(one.api.watches.at(-1)?.query.resourceVersion).toBe('5');
  });

  test('because an unreachable server was restored from a backup, the reflector lists at once: the watch stays silent', async () => {
    const one = virtual();
    one.api.put('a', 1);
    for (let each = 0; each < 20; each++) one.api.put('b', each);
    await one.watching();
    one.passes = false;
    one.api.send(fakeError('unreachable', 'watch'));
    await one.settle();
    one.api.objects.delete('b');
    one.api.goBackTo(5);
    one.passes = true;
    await one.until(() => listsOf(one).length === 2 && one.api.watchers.size === 1);
    expect([...one.snapshot.items.keys()]).toEqual(['ns/a']);
    expect(one.api.watches.at(-1)?.query.resourceVersion).toBe('5');
    await one.settle();
    expect(one.api.requests).toHaveLength(3); // the version is read only once
  });

  test('with the right to list but not to watch, the reflector lists repeatedly and reports the problem', async () => {
    const one = virtual();
    one.api.watchFaults.push(...Array(12).fill(fakeError('forbidden', 'watch')));
    one.reflector.start();
    await one.until(() => one.api.requests.length === 10);
    expect(one.snapshot).toMatchObject({ synced: true, problem: { code: 'forbidden' } });
    expect(one.nowMs - (one.snapshot.staleSinceMs as number)).toBeLessThanOrEqual(60_000);
    expect(one.sleeps.at(-1)).toBe(10_000 * 0.75);
  });
});

describe('a resource that does not exist', () => {
  test('is reported as a problem, checked at least every ten seconds, and found when it is installed', async () => {
    const one = virtual();
    one.api.listFaults.push(...Array(15).fill(fakeError('not-found', 'list')));
    one.reflector.start();
    await one.reflector.ready();
    expect(one.snapshot).toMatchObject({ synced: false, problem: { code: 'not-found' } });
    one.api.put('a', 1);
    await one.watching();
    expect(Math.max(...one.sleeps)).toBeLessThanOrEqual(10_000);
    expect(one.snapshot).toMatchObject({ synced: true, problem: null });
  });

  test('can also be reported by the path function', async () => {
    let installed = false;
    const one = virtual({
      path: async () => {
        if (!installed) throw fakeError('not-found', 'get');
        return '/apis/x.io/v1/things';
      },
    });
    one.reflector.start();
    await one.until(() => one.sleeps.length > 3);
    expect(one.snapshot.problem?.code).toBe('not-found');
    installed = true;
    await one.watching();
  });
});

describe('an invalid event in a watch', () => {
  const object = { metadata: { name: 'x', resourceVersion: '9' } };
  test.each<[title: string, type: string, object: unknown]>([
    ['an unknown type', 'EXPLODED', object],
    ['an object without a name', 'ADDED', { metadata: { resourceVersion: '9' } }],
    ['an object without a version', 'MODIFIED', { metadata: { name: 'x' } }],
    ['a deletion without an object', 'DELETED', null],
    ['a bookmark without a version', 'BOOKMARK', {}],
    ['a list', 'ADDED', []],
    ['metadata that is text', 'ADDED', { metadata: 'x' }],
  ])('%s is reported, and the watch restarts', async (_title, type, what) => {
    const one = virtual();
    one.api.put('a', 1);
    await one.watching();
    one.api.send({ type, object: what });
    await one.until(() => one.api.watches.length === 2 && one.api.watchers.size === 1);
    expect(one.api.requests).toHaveLength(1);
    expect(one.problems).toEqual([{ code: 'bad-answer', message: expect.any(String) }]);
    expect(one.sleeps).toEqual([150]);
    expect([...one.snapshot.items]).toEqual([['ns/a', 1]]);
    expect(one.snapshot.problem).toBeNull();
  });
});

describe('an invalid list', () => {
  test.each<[title: string, answer: unknown]>([
    ['nothing', undefined],
    ['text', 'x'],
    ['without a version', { items: [] }],
    ['with items that are not an array', { items: {}, metadata: { resourceVersion: '1' } }],
    ['that repeats its continue token', { items: [], metadata: { resourceVersion: '1', continue: 'x' } }],
  ])('%s is a bad answer', async (_title, answer) => {
    const one = virtual();
    const request = one.api.request.bind(one.api);
    let first = 2;
    one.api.request = async (question) => (first-- > 0 ? answer : request(question)) as never;
    one.reflector.start();
    await one.reflector.ready();
    expect(one.snapshot.problem?.code).toBe('bad-answer');
    await one.watching();
  });

  test('null in place of the items is an empty list, as Go writes it', async () => {
    const one = virtual();
    one.api.request = async () => ({ items: null, metadata: { resourceVersion: '1' } }) as never;
    await one.watching();
    expect(one.snapshot).toMatchObject({ synced: true, problem: null });
  });

  test('an item without a name is rejected, and the other items are kept', async () => {
    const one = virtual();
    one.api.put('a', 1);
    const items = [null, { metadata: {} }, one.api.objects.get('a')];
    one.api.request = async () => ({ items, metadata: { resourceVersion: '1' } }) as never;
    await one.watching();
    expect([...one.snapshot.items.keys()]).toEqual(['ns/a']);
    expect([...one.snapshot.rejected.keys()]).toEqual(['#1', '#2']);
  });
});

describe('callbacks that throw', () => {
  const odd = ({ spec }: KubeObject) => {
    if (spec === 'odd') throw new Error('cannot read this');
    return spec;
  };

  test('a projection that throws rejects the object with a reason, and keeps its last valid projection and the other objects', async () => {
    const one = virtual({}, odd);
    one.api.put('a', 'odd');
    one.api.put('b', 1);
    await one.watching();
    expect([...one.snapshot.items]).toEqual([['ns/b', 1]]);
    expect([...one.snapshot.rejected]).toEqual([['ns/a', 'cannot read this']]);
    one.api.put('b', 'odd');
    one.api.put('c', 1);
    await one.settle();
    expect([...one.snapshot.items]).toEqual([
      ['ns/b', 1],
      ['ns/c', 1],
    ]);
    expect([...one.snapshot.rejected.keys()]).toEqual(['ns/a', 'ns/b']);
    one.api.put('a', 2);
    one.api.delete('b');
    await one.settle();
    expect([...one.snapshot.items.keys()].sort()).toEqual(['ns/a', 'ns/c']);
    expect(one.snapshot.rejected.size).toBe(0);
  });

  test('a projection that throws for a new object of the same name does not keep the old object', async () => {
    const one = virtual({}, odd);
    one.api.put('a', 1);
    await one.watching();
    one.api.delete('a');
    one.api.put('a', 'odd');
    await one.settle();
    expect(one.snapshot.items.size).toBe(0);
    expect([...one.snapshot.rejected.keys()]).toEqual(['ns/a']);
  });

  test('the mirror continues when onChange throws', async () => {
    const one = virtual({
      onChange: () => {
        throw new Error('bug');
      },
    });
    await one.watching();
    one.api.put('a', 1);
    one.api.send(fakeError('unreachable', 'watch'));
    await one.until(() => one.api.watches.length === 2 && one.api.watchers.size === 1);
    expect([...one.snapshot.items.keys()]).toEqual(['ns/a']);
  });
});

test('a path function that never resolves does not prevent a stop', async () => {
  const one = virtual({ path: () => new Promise(() => {}) });
  one.reflector.start();
  await one.settle();
  await one.reflector.stop();
  await one.reflector.ready();
});
