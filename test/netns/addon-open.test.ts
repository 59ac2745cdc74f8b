// Opening a netns: its identity, the rejected paths with their errors, and the behaviour of a closed handle.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Netns, native } from '../../src/netns/native.ts';
import { makeNetns } from '../support/network/netns.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-addon-'));
const opened: Netns[] = [];
afterEach(() => {
  for (const netns of opened.splice(0)) netns.close();
});
afterAll(() => rmSync(directory, { recursive: true }));

function open(path: string): Netns {
  const netns = native.openNetns(path);
  opened.push(netns);
  return netns;
}

function errorOf(work: () => unknown): NodeJS.ErrnoException {
  try {
    work();
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
  throw new Error('nothing was thrown');
}

const shapeOf = ({ message, code, errno, syscall, path }: NodeJS.ErrnoException) => ({
  message,
  code,
  errno,
  syscall,
  path,
});

describe('the identity of a netns', () => {
  test('differs between two netns, and from that of our own', () => {
    const identities = [
      open(makeNetns().path).identity,
      open(makeNetns().path).identity,
      native.ownIdentity(),
    ];
    expect(new Set(identities).size).toBe(3);
    for (const identity of identities) expect(identity).toMatch(/^cookie:[1-9]\d*$/);
  });

  test('is the same for two handles of one netns, by any path', () => {
    const { path } = makeNetns();
    const link = join(directory, 'link');
    symlinkSync(path, link);
    expect(open(path).identity).toBe(open(path).identity);
    expect(open(link).identity).toBe(open(path).identity);
    expect(open('/proc/self/ns/net').identity).toBe(native.ownIdentity());
  });

  test('changes when a netns is deleted and recreated under its name, even if the inode stays the same', () => {
    const seen = new Set<string>();
    const inodes: number[] = [];
    for (let round = 0; round < 5; round++) {
      const { path, remove } = makeNetns({ name: 'recreated' });
      const netns = native.openNetns(path);
      seen.add(netns.identity);
      inodes.push(statSync(path).ino);
      netns.close();
      remove();
    }
    console.log(`inodes of five netns made one after the other under one name: ${inodes.join(' ')}`);
    expect(seen.size).toBe(5);
  });

  test('stays, and the handle stays usable, when the name is deleted while it is open', () => {
    const { path, remove } = makeNetns();
    const netns = open(path);
    const { identity } = netns;
    remove();
    expect(netns.identity).toBe(identity);
    expect(netns.closed).toBe(false);
    expect(errorOf(() => native.openNetns(path)).code).toBe('ENOENT');
  });
});

describe('a path that is not a netns', () => {
  const at = (name: string) => join(directory, name);
  writeFileSync(at('file'), 'x');
  writeFileSync(at('empty'), '', { mode: 0 });
  execFileSync('mkfifo', [at('fifo')]);
  symlinkSync(at('loop'), at('loop'));

  test.each([
    ['a regular file', at('file'), 'a regular file'],
    [
      'the empty file that `ip netns add` mounts upon',
      at('empty'),
      'an empty regular file on which nothing is mounted',
    ],
    ['a directory', directory, 'a directory'],
    ['a FIFO without a writer, which does not block', at('fifo'), 'a FIFO'],
    ['a character device', '/dev/null', 'a character device'],
    ['a mount namespace', '/proc/self/ns/mnt', 'a mount namespace'],
    ['a user namespace', '/proc/self/ns/user', 'a user namespace'],
    ['a PID namespace', '/proc/self/ns/pid', 'a PID namespace'],
    ['a UTS namespace', '/proc/self/ns/uts', 'a UTS namespace'],
    ['an IPC namespace', '/proc/self/ns/ipc', 'an IPC namespace'],
    ['a cgroup namespace', '/proc/self/ns/cgroup', 'a cgroup namespace'],
    ['a time namespace', '/proc/self/ns/time', 'a time namespace'],
  ])('%s is ENOTNETNS', (_title, path, what) => {
    expect(shapeOf(errorOf(() => native.openNetns(path)))).toEqual({
      message: `ENOTNETNS: not a network namespace: ${what}, open '${path}'`,
      code: 'ENOTNETNS',
      errno: -22,
      syscall: 'open',
      path,
    });
  });

  test.each([
    ['a missing path', at('missing'), 'ENOENT'],
    ['an empty path', '', 'ENOENT'],
    ['a path below a file', at('file/x'), 'ENOTDIR'],
    ['a loop of symbolic links', at('loop'), 'ELOOP'],
    ['a name that is too long', at('n'.repeat(256)), 'ENAMETOOLONG'],
    ['a path that is too long', `/${'n/'.repeat(3000)}`, 'ENAMETOOLONG'],
    ['a path with letters beyond ASCII', at('netz-ä-\u{1F600}'), 'ENOENT'],
  ])('%s gives the same error as fs.openSync', (_title, path, code) => {
    const ours = errorOf(() => native.openNetns(path));
    expect(ours).toBeInstanceOf(Error);
    expect(ours.code).toBe(code);
    expect(shapeOf(ours)).toEqual(shapeOf(errorOf(() => openSync(path, 'r'))));
    expect(ours.stack).toContain('addon-open.test.ts');
  });

  test.each([
    [[undefined], 'ERR_INVALID_ARG_TYPE'],
    [[], 'ERR_INVALID_ARG_TYPE'],
    [[null], 'ERR_INVALID_ARG_TYPE'],
    [[7], 'ERR_INVALID_ARG_TYPE'],
    [[Buffer.from('/proc/self/ns/net')], 'ERR_INVALID_ARG_TYPE'],
    [['/proc/self/ns/net\0.txt'], 'ERR_INVALID_ARG_VALUE'],
  ])('the arguments %j are a TypeError', (args, code) => {
    const error = errorOf(() => native.openNetns(...(args as [string])));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toBe(code);
  });
});

describe('a handle', () => {
  test('names its path and identity as constants', () => {
    const { path } = makeNetns();
    const netns = open(path);
    expect({ ...netns }).toEqual({ path, identity: netns.identity });
    expect(() => Object.assign(netns, { path: '/elsewhere' })).toThrow(TypeError);
    expect(netns.path).toBe(path);
  });

  test('closes once, a second close does no harm, and a closed handle creates no sockets', () => {
    const { path } = makeNetns();
    const netns = open(path);
    expect(netns.closed).toBe(false);
    netns.close();
    netns.close();
    expect(netns.closed).toBe(true);
    const error = errorOf(() => netns.createTcpSocket(4));
    expect(error).toMatchObject({ code: 'ERR_NETNS_CLOSED', path });
    expect(error.message).toBe(`The handle of network namespace '${path}' is closed`);
  });

  test.each([undefined, null, 0, 5, 4.5, Number.NaN, 2 ** 32 + 4, '4', 4n, {}])(
    'makes no socket of family %s',
    (family) => {
      const netns = open(makeNetns().path);
      const error = errorOf(() => netns.createTcpSocket(family as 4));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.code).toBe('ERR_INVALID_ARG_VALUE');
    },
  );

  test('does not work on an object that is not a handle', () => {
    const netns = open(makeNetns().path);
    const { prototype } = netns.constructor as { prototype: object };
    const closed = Object.getOwnPropertyDescriptor(prototype, 'closed')!.get!;
    const forged = Reflect.construct(netns.constructor as new () => Netns, []) as Netns;
    for (const self of [{}, Object.create(netns), forged, null, 7]) {
      expect(() => netns.createTcpSocket.call(self as Netns, 4)).toThrow(TypeError);
      expect(() => netns.close.call(self as Netns)).toThrow(TypeError);
      expect(() => closed.call(self)).toThrow(TypeError);
    }
    expect(netns.closed).toBe(false);
  });
});
