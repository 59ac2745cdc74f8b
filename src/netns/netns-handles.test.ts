import { beforeEach, describe, expect, test } from 'vitest';
import type { Netns } from './native.ts';
import { NetnsChangedError, NetnsHandles } from './netns-handles.ts';
import type { NetnsRef } from './netns-ref.ts';

const A: NetnsRef = { path: '/run/netns/a', identity: 'cookie:1' };
const B: NetnsRef = { path: '/run/netns/b', identity: 'cookie:2' };

/** The current netns at each path, and the log of all operations. */
let disk: Map<string, string>;
let done: string[];
let handles: NetnsHandles;

beforeEach(() => {
  disk = new Map([A, B].map(({ path, identity }) => [path, identity]));
  done = [];
  handles = new NetnsHandles({ openNetns }, 10);
});

function openNetns(path: string): Netns {
  const identity = disk.get(path);
  if (identity === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
  done.push(`open ${identity}`);
  return {
    identity,
    path,
    closed: false,
    createTcpSocket: (family) => {
      done.push(`socket ${family} in ${identity}`);
      return 42;
    },
    close: () => done.push(`close ${identity}`),
  };
}

test('a netns is opened once for many sockets', () => {
  expect([handles.createTcpSocket(A, 4), handles.createTcpSocket(A, 6)]).toEqual([42, 42]);
  expect(done).toEqual(['open cookie:1', 'socket 4 in cookie:1', 'socket 6 in cookie:1']);
  expect(handles.size).toBe(1);
});

describe('a path that now names another netns', () => {
  test('is opened and closed again, without a socket in it', () => {
    disk.set(A.path, 'cookie:9');
    const error = expect.objectContaining({
      code: 'ENETNSCHANGED',
      message: '/run/netns/a is now another network namespace (expected cookie:1, found cookie:9)',
    });
    expect(() => handles.createTcpSocket(A, 4)).toThrow(NetnsChangedError);
    expect(() => handles.createTcpSocket(A, 4)).toThrow(error);
    expect(done).toEqual(['open cookie:9', 'close cookie:9', 'open cookie:9', 'close cookie:9']);
    expect(handles.size).toBe(0);
  });

  test('does not replace the open handle of the netns that a route still names', () => {
    handles.createTcpSocket(A, 4);
    disk.set(A.path, 'cookie:9');
    handles.createTcpSocket({ path: A.path, identity: 'cookie:9' }, 4);
    handles.createTcpSocket(A, 4);
    expect(done.filter((each) => each.startsWith('socket'))).toEqual([
      'socket 4 in cookie:1',
      'socket 4 in cookie:9',
      'socket 4 in cookie:1',
    ]);
    expect(handles.size).toBe(2);
  });
});

test('a netns that cannot be opened is tried again at the next socket', () => {
  disk.delete(A.path);
  expect(() => handles.createTcpSocket(A, 4)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  expect(handles.size).toBe(0);
  disk.set(A.path, A.identity);
  expect(handles.createTcpSocket(A, 4)).toBe(42);
});

describe('retain', () => {
  beforeEach(() => {
    handles.createTcpSocket(A, 4);
    handles.createTcpSocket(B, 4);
    done.length = 0;
  });

  test.each<[title: string, refs: NetnsRef[], closed: string[]]>([
    ['keeps the named handles, in any order', [B, A], []],
    ['closes the handles that are not named', [B], ['close cookie:1']],
    ['closes all handles for an empty list', [], ['close cookie:1', 'close cookie:2']],
    ['compares the identity and the path', [B, { path: A.path, identity: 'cookie:9' }], ['close cookie:1']],
    ['opens no handle', [A, B, { path: '/run/netns/c', identity: 'cookie:3' }], []],
  ])('%s', (_title, refs, closed) => {
    handles.retain(refs);
    expect(done).toEqual(closed);
    expect(handles.size).toBe(2 - closed.length);
  });

  test('takes any iterable', () => {
    handles.retain(new Set([A]).values());
    expect(done).toEqual(['close cookie:2']);
  });

  test('lets a closed netns be opened again', () => {
    handles.retain([]);
    done.length = 0;
    handles.createTcpSocket(A, 4);
    expect(done).toEqual(['open cookie:1', 'socket 4 in cookie:1']);
  });
});

test('close closes every handle once', () => {
  handles.createTcpSocket(A, 4);
  handles.createTcpSocket(B, 4);
  done.length = 0;
  handles.close();
  handles.close();
  expect(done).toEqual(['close cookie:1', 'close cookie:2']);
  expect(handles.size).toBe(0);
});

test('over the limit, a handle is opened for each socket and closed at once', () => {
  handles = new NetnsHandles({ openNetns }, 1);
  handles.createTcpSocket(A, 4);
  handles.createTcpSocket(B, 4);
  handles.createTcpSocket(B, 4);
  expect(handles.size).toBe(1);
  expect(done.filter((step) => step.startsWith('open'))).toEqual([
    `open ${A.identity}`,
    `open ${B.identity}`,
    `open ${B.identity}`,
  ]);
  expect(done.filter((step) => step.startsWith('close'))).toEqual([
    `close ${B.identity}`,
    `close ${B.identity}`,
  ]);
});
