// Much data and slow readers: every byte arrives once and in order, and memory stays bounded.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus, manifest } from '../support/isthmus.ts';
import { makeNetns } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { patternChunks, patternHash } from '../support/pattern.ts';
import { openSocketsAndPipes } from '../support/process.ts';
import { tcpClient, until, WAIT_MS, within } from '../support/tcp.ts';

const GIB = 1024 ** 3;
/** kMostFree of native/engine/resources/pipe_pool.h. */
const PIPES_KEPT = 32;
const NETWORK = '11111111-2222-4333-8444-555555555555';
const isthmus = new Isthmus();
const servers: NetnsServer[] = [];
const netns = makeNetns({ name: `qdhcp-${NETWORK}`, addresses: ['10.9.9.9/32'] });

beforeAll(async () => {
  servers.push(await NetnsServer.start(netns.name, 'hash', '10.9.9.9', '6443'));
  servers.push(await NetnsServer.start(netns.name, 'source', '10.9.9.9', '6444', String(GIB)));
  isthmus.writeManifest('hash.yaml', manifest({ name: 'hash', networkId: NETWORK, address: '10.9.9.9' }));
  isthmus.writeManifest(
    'source.yaml',
    manifest({ name: 'source', networkId: NETWORK, address: '10.9.9.9', port: 6444 }),
  );
  await isthmus.start();
});
afterAll(async () => {
  await isthmus.stop();
  for (const server of servers) await server.stop();
  netns.remove();
});

async function routed(cluster: string): Promise<{ socket: Socket; hello: Buffer }> {
  const socket = await tcpClient(isthmus.port);
  const hello = await clientHello(`${cluster}.magnum-system`);
  socket.write(hello);
  return { socket, hello };
}

function residentBytes(): number {
  const match = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${isthmus.pid}/status`, 'utf8'));
  return Number(match?.[1]) * 1024;
}

test('1 GiB from client to backend arrives byte for byte', { timeout: 400_000 }, async () => {
  const { socket, hello } = await routed('hash');
  const expected = createHash('sha256').update(hello);
  for (const chunk of patternChunks(GIB)) {
    expected.update(chunk);
    if (!socket.write(chunk)) await once(socket, 'drain');
  }
  socket.end();
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  expect(answer).toBe(expected.digest('hex'));
});

test('1 GiB from backend to client arrives byte for byte', { timeout: 400_000 }, async () => {
  const { socket } = await routed('source');
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of socket) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  expect(bytes).toBe(GIB);
  expect(hash.digest('hex')).toBe(patternHash(GIB));
});

test('a hundred stalled readers with a GiB waiting for each use bounded memory, and affect no other client', async () => {
  const before = { resident: residentBytes(), open: openSocketsAndPipes(isthmus.pid) };
  const stalled = await Promise.all(Array.from({ length: 100 }, () => routed('source')));
  for (const { socket } of stalled) socket.pause();
  // While one reader gets this much, a proxy that buffers without bound takes as much for each of the others.
  const { socket: reading } = await routed('source');
  let read = 0;
  for await (const chunk of reading) {
    read += (chunk as Buffer).length;
    if (read > GIB / 8) break;
  }
  // 100 GiB wait to be sent. The proxy may hold a few socket buffers for each reader.
  expect(residentBytes() - before.resident).toBeLessThan(100 * 1024 * 1024);

  const { socket } = await routed('hash');
  socket.end('while the others stall');
  const [answer] = (await within(WAIT_MS, 'an answer', once(socket, 'data'))) as [Buffer];
  expect(answer.length).toBe(64);

  for (const each of stalled) each.socket.destroy();
  // Two more for a health check. Empty pipes stay in the pool for later connections; their number depends on each reader's progress.
  await until('all sockets back', () => openSocketsAndPipes(isthmus.pid).sockets <= before.open.sockets + 2);
  expect(openSocketsAndPipes(isthmus.pid).pipes).toBeLessThanOrEqual(before.open.pipes + PIPES_KEPT * 2);
});
