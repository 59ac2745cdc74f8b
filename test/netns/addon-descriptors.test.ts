// No descriptor leaks and no thread stays in a foreign netns: counted over ten thousand calls of each kind, and at the descriptor limit.
import { closeSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { native } from '../../src/netns/native.ts';
import { makeNetns } from '../support/network/netns.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';
import { type Caught, reportOf, runNode } from './addon-process.ts';

const ROUNDS = 10_000;

describe(`over ${ROUNDS} calls`, () => {
  const { path } = makeNetns();
  const netns = native.openNetns(path);
  const failing = (work: () => unknown) => () => {
    try {
      work();
    } catch {
      return;
    }
    throw new Error('it should have failed');
  };

  test.each<[string, () => void]>([
    ['createTcpSocket and close', () => closeSync(netns.createTcpSocket(4))],
    ['openNetns and close', () => native.openNetns(path).close()],
    ['openNetns of a missing path', failing(() => native.openNetns('/run/netns/missing'))],
    ['openNetns of a regular file', failing(() => native.openNetns('/etc/passwd'))],
    ['openNetns of another kind of namespace', failing(() => native.openNetns('/proc/self/ns/mnt'))],
    ['createTcpSocket of a bad family', failing(() => netns.createTcpSocket(5 as 4))],
    ['ownIdentity', () => native.ownIdentity()],
  ])('%s leaves the descriptors and the netns of every thread as they were', (_title, work) => {
    const identity = native.ownIdentity();
    const threads = threadNetns();
    const before = openDescriptors();
    for (let round = 0; round < ROUNDS; round++) work();
    expect(openDescriptors()).toBe(before);
    expect(threadNetns()).toEqual(threads);
    expect(threads).toHaveLength(1);
    expect(native.ownIdentity()).toBe(identity);
  });
});

test('without a free descriptor each failing system call gives a clean EMFILE', () => {
  const { path } = makeNetns();
  const script = `
    const path = ${JSON.stringify(path)};
    const netns = native.openNetns(path);
    const own = native.ownIdentity();
    const before = descriptors();
    const taken = [];
    let error = null;
    while (error === null && taken.length < 1000) error = caught(() => taken.push(netns.createTcpSocket(4)));
    const errors = { socket: error, open: caught(() => native.openNetns(path)), own: caught(() => native.ownIdentity()) };
    const same = [];
    for (let round = 0; round < 2000; round++) {
      same.push(caught(() => netns.createTcpSocket(6))?.code, caught(() => native.openNetns(path))?.code);
    }
    fs.closeSync(taken.pop());
    errors.identity = caught(() => native.openNetns(path)); // open() gets its descriptor, the socket inside gets none
    const stillFree = caught(() => taken.push(netns.createTcpSocket(4)));
    for (const fd of taken) fs.closeSync(fd);
    report({ errors, same: [...new Set(same)], stillFree, leaked: descriptors() - before,
      threads: threadNetns().length, own: native.ownIdentity() === own });`;
  const result = reportOf<{ errors: Record<string, Caught>; [key: string]: unknown }>(
    runNode(script, { wrap: ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'] }),
  );
  const emfile = { code: 'EMFILE', errno: -24 };
  expect(result.errors.socket).toMatchObject({ ...emfile, syscall: 'socket', path });
  expect(result.errors.open).toMatchObject({
    ...emfile,
    syscall: 'open',
    path,
    message: `EMFILE: too many open files, open '${path}'`,
  });
  expect(result.errors.own).toMatchObject({ ...emfile, syscall: 'socket' });
  expect(result.errors.identity).toMatchObject({ ...emfile, syscall: 'socket', path });
  expect(result).toMatchObject({ same: ['EMFILE'], stillFree: null, leaked: 0, threads: 1, own: true });
});
