// The two ends of a hand-over in one process, over a real unix socket: many sockets, and peers that do not keep to the protocol.
import { once } from 'node:events';
import { closeSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import { native } from '../../src/netns/native.ts';
import { meetingPath } from '../../src/service/handover-directory.ts';
import { HandoverServer, type Successor } from '../../src/service/handover-server.ts';
import { Predecessor } from '../../src/service/predecessor.ts';
import { openDescriptors } from '../support/process.ts';
import { tcpServer, until } from '../support/tcp.ts';

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

const ask = (deadlineMs = 20_000) =>
  Predecessor.ask({ directory, addon: native, uid, version: '2', deadlineMs });

async function serve(
  sockets: () => readonly { name: string; fd: number; pinned: boolean }[],
): Promise<(Successor | null)[]> {
  const successors: (Successor | null)[] = [];
  const server = new HandoverServer({
    directory,
    addon: native,
    uid,
    version: '1',
    sockets,
    release: async () => {},
    upgrade: async () => ({ kind: 'failed', reason: 'not here' }),
    onSuccessor: (successor) => successors.push(successor),
    onStranger: () => {},
  });
  await server.open();
  cleanups.push(() => server.close());
  return successors;
}

it('more sockets than the kernel takes at once go over, each by its name', { timeout: 60_000 }, async () => {
  const tcp = await tcpServer();
  cleanups.push(() => tcp.close());
  const fd = descriptorOf(tcp.server);
  const names = Array.from({ length: 1500 }, (_, index) => `listener/${'n'.repeat(200)}/${index}`);
  const successors = await serve(() => names.map((name) => ({ name, fd, pinned: false })));
  const before = openDescriptors();
  const predecessor = await ask();
  expect(predecessor?.sockets.map(({ name }) => name)).toEqual(names);
  expect(new Set(predecessor?.sockets.map(({ port }) => port))).toEqual(new Set([tcp.port]));
  for (const handed of predecessor?.sockets ?? []) closeSync(handed.fd);
  expect(successors).toMatchObject([{ version: '2' }]);
  await predecessor?.serving();
  await until('nothing is left open', () => openDescriptors() <= before);
});

it('a socket that closes while the others go over is not replaced by what gets its number', async () => {
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

describe('a predecessor that does not keep to the protocol gets nobody to wait for it', () => {
  const endless = async (chunk: string): Promise<void> => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      const talk = () => {
        while (chunk !== '' && socket.writable && socket.write(chunk));
      };
      socket.on('drain', talk);
      talk();
    }).listen(meetingPath(directory));
    await once(server, 'listening');
    cleanups.push(() => server.close());
  };

  it.each<[title: string, chunk: string, message: RegExp]>([
    ['a line without an end', 'x'.repeat(50_000), /has no end/],
    [
      'lines without an end',
      `${JSON.stringify({ kind: 'sockets', version: '1', sockets: [], more: true })}\n`,
      /does not answer/,
    ],
    ['nothing', '', /does not answer/],
  ])('%s', async (_title, chunk, message) => {
    await endless(chunk);
    const before = openDescriptors();
    await expect(ask(500)).rejects.toThrow(message);
    await until('nothing is left open', () => openDescriptors() <= before);
  });
});

it('one that asks and never reads the answers is sent away', async () => {
  await serve(() => []);
  const asker: Socket = connect(meetingPath(directory)).pause();
  cleanups.push(() => asker.destroy());
  let isAway = false;
  asker.on('error', () => {
    isAway = true;
  });
  await once(asker, 'connect');
  await until('it is sent away', () => {
    if (!isAway) asker.write('\n'.repeat(1000));
    return isAway;
  });
  // Others are still heard.
  const predecessor = await ask();
  expect(predecessor?.version).toBe('1');
  await predecessor?.serving();
});
