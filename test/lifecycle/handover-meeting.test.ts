// Both ends of a handover in one process, over a real unix socket: many sockets, and peers that break the protocol.
import { once } from 'node:events';
import { closeSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { meetingPath } from '../../src/lifecycle/handover-directory.ts';
import { HandoverServer, type SuccessorChange } from '../../src/lifecycle/handover-server.ts';
import { Predecessor, type PredecessorOptions } from '../../src/lifecycle/predecessor.ts';
import { type Served, Service, type ServiceOptions } from '../../src/lifecycle/service.ts';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import { native } from '../../src/netns/native.ts';
import { openDescriptors } from '../support/process.ts';
import { tcpServer, until, WAIT_MS, within } from '../support/tcp.ts';

const uid = process.getuid?.() ?? 0;
const cleanups: (() => unknown)[] = [];
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'isthmus-meeting-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const ask = (deadlineMs = 20_000, version = '2', pod: Partial<PredecessorOptions> = {}) =>
  Predecessor.ask({
    ...{ directory, addon: native, uid, version, deadlineMs, daemonSet: null, takeOver: false },
    ...pod,
  });

async function serve(
  sockets: () => readonly { name: string; fd: number; pinned: boolean }[],
): Promise<SuccessorChange[]> {
  const changes: SuccessorChange[] = [];
  const server = new HandoverServer({
    directory,
    addon: native,
    uid,
    version: '1',
    processId: 'a1',
    sockets,
    refusal: () => null,
    release: async () => {},
    upgrade: async () => ({ kind: 'failed', reason: 'not here' }),
    startLimitMs: 60_000,
    onSuccessor: (change) => changes.push(change),
    onRejectedPeer: () => {},
  });
  await server.open();
  cleanups.push(() => server.close());
  return changes;
}

test('more sockets than the kernel accepts in one message are handed over, each by its name', async () => {
  const tcp = await tcpServer();
  cleanups.push(() => tcp.close());
  const fd = descriptorOf(tcp.server);
  const names = Array.from({ length: 1500 }, (_, index) => `listener/${'n'.repeat(200)}/${index}`);
  const changes = await serve(() => names.map((name) => ({ name, fd, pinned: false })));
  const before = openDescriptors();
  const predecessor = await ask();
  expect(predecessor?.sockets.map(({ name }) => name)).toEqual(names);
  expect(new Set(predecessor?.sockets.map(({ port }) => port))).toEqual(new Set([tcp.port]));
  for (const handed of predecessor?.sockets ?? []) closeSync(handed.fd);
  expect(changes).toMatchObject([{ kind: 'starts', successor: { version: '2' } }]);
  await predecessor?.serving();
  await until('nothing is left open', () => openDescriptors() <= before);
});

test('a socket that closes during the handover is not replaced by another file with the same descriptor number', async () => {
  const tcp = await tcpServer();
  cleanups.push(() => tcp.close());
  const fd = descriptorOf(tcp.server);
  const names = Array.from({ length: 1500 }, (_, index) => `listener/${'n'.repeat(200)}/${index}`);
  let asked = 0;
  await serve(() => {
    asked += 1;
    return (asked === 1 ? names : names.slice(0, 150)).map((name) => ({ name, fd, pinned: false }));
  });
  const predecessor = await ask();
  expect(predecessor?.sockets.map(({ name }) => name)).toEqual(names.slice(0, 150));
  for (const handed of predecessor?.sockets ?? []) closeSync(handed.fd);
  await predecessor?.serving();
});

describe('a successor does not wait for a predecessor that breaks the protocol with', () => {
  const endless = async (chunk: string): Promise<void> => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      const talk = () => {
        while (chunk !== '' && socket.writable && socket.write(chunk));
      };
      socket.on('drain', talk);
      talk();
    }).listen(meetingPath(directory));
    await within(WAIT_MS, 'the server to listen', once(server, 'listening'));
    cleanups.push(() => server.close());
  };

  /** Only for rows that end by this deadline. */
  const SOON_MS = 500;
  test.each<[title: string, chunk: string, message: RegExp, deadlineMs?: number]>([
    ['a line without an end', 'x'.repeat(50_000), /has no end/],
    [
      'lines without an end',
      `${JSON.stringify({ kind: 'sockets', version: '1', sockets: [], more: true })}\n`,
      /does not answer/,
      SOON_MS,
    ],
    ['silence', '', /does not answer/, SOON_MS],
  ])('%s', async (_title, chunk, message, deadlineMs) => {
    await endless(chunk);
    const before = openDescriptors();
    await expect(ask(deadlineMs)).rejects.toThrow(message);
    await until('nothing is left open', () => openDescriptors() <= before);
  });
});

test('a peer that asks and never reads the answers is disconnected', async () => {
  await serve(() => []);
  const asker: Socket = connect(meetingPath(directory)).pause();
  cleanups.push(() => asker.destroy());
  let isAway = false;
  asker.on('error', () => {
    isAway = true;
  });
  await within(WAIT_MS, 'the connection of the asker', once(asker, 'connect'));
  await until('it is sent away', () => {
    if (!isAway) asker.write('\n'.repeat(1000));
    return isAway;
  });
  // Other peers are still answered.
  const predecessor = await ask();
  expect(predecessor?.version).toBe('1');
  await predecessor?.serving();
});

/** A serving process, with what it reports about its successors to the log and to its health port. */
async function service(startLimitMs: number, options: Partial<ServiceOptions> = {}) {
  const log: string[] = [];
  const successorVersions: (string | null)[] = [];
  let released = 0;
  const running = await Service.open({
    ...{ addon: native, directory, version: '1', processId: 'a1', environment: {}, uid, startLimitMs },
    ...{ pid: process.pid, daemonSet: null, takeOver: false },
    log: (_level, _facts, message) => log.push(message),
    command: [process.execPath, '-e', ''],
    ...options,
  });
  const served: Served = {
    sockets: () => [],
    release: async () => {
      released += 1;
    },
    ready: Promise.resolve(),
    summary: () => ({ listen: null, notReadyBecause: null, states: new Map(), staleSince: null }),
    isWell: () => true,
    successorStarts: (version) => successorVersions.push(version),
  };
  await running.serving(served);
  cleanups.push(() => running.stopping(0));
  return { running, log, successorVersions, released: () => released };
}

test('the first process of a container starts no successor, because it would end with the container, but accepts another', async () => {
  // The kernel shows a peer of another container with pid 0.
  const addon = { ...native, peerOf: () => ({ pid: 0, uid }) };
  const { running, log, released } = await service(60_000, { pid: 1, addon });
  expect(await running.upgrade(null)).toEqual({
    kind: 'failed',
    reason: expect.stringContaining('first of its container'),
  });
  expect(log).toEqual(['successor not started: this process continues to serve']);
  const next = await ask();
  await next?.serving();
  expect(released()).toBe(1);
});

test('the first process of a container gives its sockets to no process of the same container', async () => {
  const { log, released } = await service(60_000, { pid: 1 });
  await expect(ask()).rejects.toThrow(/first process of its container, .*: start the successor in a new Pod/);
  expect(log).toEqual(['handover rejected']);
  expect(released()).toBe(0);
});

test('a Pod gives its sockets only to a Pod of the same DaemonSet that is not older, or to one with --take-over', async () => {
  const { released } = await service(60_000, { daemonSet: 'ns/isthmus:8' });
  const pod = (daemonSet: string, takeOver = false) => ask(20_000, '2', { daemonSet, takeOver });
  await expect(pod('ns/isthmus:7')).rejects.toMatchObject({
    code: 'EHANDOVER',
    message: expect.stringContaining('newer Pod of DaemonSet ns/isthmus (generation 8, the successor has 7)'),
  });
  await expect(pod('ns/other:9')).rejects.toThrow('the successor is one of ns/other');
  expect(released()).toBe(0);
  const next = await pod('ns/isthmus:7', true);
  await next?.serving();
  expect(released()).toBe(1);
});

describe('a successor that takes the sockets and hangs', () => {
  /** Long enough for the steps before it, also on a slow machine. */
  const LIMIT_MS = 4000;

  const untilLogged = (log: readonly string[], what: RegExp, times = 1) =>
    until(String(what), () => log.filter((message) => what.test(message)).length === times);

  /** Asks for the sockets, then neither reads nor sends anything more. */
  async function hanging(): Promise<Socket> {
    const socket = connect(meetingPath(directory)).pause();
    cleanups.push(() => socket.destroy());
    socket.on('error', () => {});
    socket.write('{"kind":"take","version":"9"}\n');
    await within(WAIT_MS, 'the connection', once(socket, 'connect'));
    return socket;
  }

  test('is dismissed after the start limit, and the next successor is served', async () => {
    const { running, log, successorVersions, released } = await service(LIMIT_MS);
    await hanging();
    await untilLogged(log, /successor starting with our sockets/);
    await expect(ask()).rejects.toThrow('another successor was faster');
    await untilLogged(
      log,
      /did not start to serve within 4 s: this process continues to serve and accepts another attempt/,
    );
    expect(released()).toBe(0);
    const next = await ask(20_000, '3');
    await next?.serving();
    expect(released()).toBe(1);
    expect(await running.handedOver).toMatchObject({ version: '3' });
    expect(successorVersions).toEqual(['9', '9', '3']);
  });

  test('keeps the health port not ready while it lives, also after the next successor failed', async () => {
    const { log, successorVersions } = await service(LIMIT_MS);
    const first = await hanging();
    await untilLogged(log, /did not start to serve/);
    const next = await hanging();
    await untilLogged(log, /successor starting with our sockets/, 2);
    next.destroy();
    await untilLogged(log, /exited before it served/);
    expect(successorVersions.at(-1)).toBe('9');
    first.destroy();
    await untilLogged(log, /exited before it served/, 2);
    expect(successorVersions.at(-1)).toBeNull();
  });

  test('does not prevent an upgrade after the start limit', async () => {
    const { running, log } = await service(LIMIT_MS);
    await hanging();
    await untilLogged(log, /successor starting with our sockets/);
    expect(await running.upgrade(null)).toMatchObject({
      reason: expect.stringContaining('already under way'),
    });
    await untilLogged(log, /did not start to serve/);
    expect(await running.upgrade(null)).toMatchObject({
      reason: expect.stringMatching(/^it (ended|did not)/),
    });
  });

  test('gets an error when it continues, serves no client, and changes nothing', async () => {
    const { log, successorVersions, released } = await service(LIMIT_MS);
    const late = await ask();
    await untilLogged(log, /did not start to serve/);
    await expect(late?.dismissed).rejects.toThrow(
      'a successor must serve within 4 s, and this one is too late',
    );
    await expect(late?.serving()).rejects.toThrow('too late');
    await untilLogged(log, /exited before it served/);
    expect(successorVersions.at(-1)).toBeNull();
    expect(released()).toBe(0);
  });
});
