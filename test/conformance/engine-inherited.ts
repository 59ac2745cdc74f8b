// The conformance suite for listening sockets that more than one process holds: inherited from a process, handed over to a process, and
// left open for it. Two engines act as the two processes.
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import type { Engine, EngineLimits, Listener } from '../../src/proxy/engine.ts';
import { handedOver } from '../support/handed-over.ts';
import { openDescriptors } from '../support/process.ts';
import { endOfStalledPair, STALLS_WITHIN_MS } from '../support/stalled-pair.ts';
import { readBytes, type TestServer, tcpClient, tcpServer, until } from '../support/tcp.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from './engine.ts';

export function engineInheritedConformance(name: string, create: (limits: EngineLimits) => Engine): void {
  describe(`engine ${name}: listening sockets that another process also holds`, () => {
    let engine: Engine;
    let successor: Engine;
    let backend: TestServer;
    const cleanups: (() => unknown)[] = [];

    beforeEach(async () => {
      engine = create(TEST_LIMITS);
      successor = create(TEST_LIMITS);
      backend = await tcpServer();
    });
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0)) await cleanup();
      await engine.close();
      await successor.close();
      await backend.close();
    });

    const routed = () => new RecordingPolicy(() => candidates(backendOf(backend)));
    const open = (on: Engine, fd?: number): Promise<Listener> =>
      on.openListener({
        name: 'test',
        host: '127.0.0.1',
        port: 0,
        mode: 'hello',
        policy: routed(),
        ...(fd !== undefined && { fd }),
      });
    /** A connection through the engine that accepts on this port, with both ends. */
    const established = async (port: number): Promise<{ clientSocket: Socket; backendSocket: Socket }> => {
      const clientSocket = await tcpClient(port);
      cleanups.push(() => clientSocket.destroy());
      clientSocket.write('hello');
      const backendSocket = await backend.nextSocket();
      expect((await readBytes(backendSocket, 5)).toString()).toBe('hello');
      return { clientSocket, backendSocket };
    };
    const others = async (): Promise<{ server: Server; port: number; fd: number }> => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      cleanups.push(() => server.close());
      const [fd] = await handedOver(descriptorOf(server));
      const { port } = server.address() as { port: number };
      return { server, port, fd: fd as number };
    };

    test('serves on an inherited listening socket, and reports its address', async () => {
      const { server, port, fd } = await others();
      server.close();
      const listener = await open(engine, fd);
      expect(listener).toMatchObject({ address: '127.0.0.1', port });
      await established(port);
    });

    test('does not inherit the dead-peer timeout of the previous process: 0 means no timeout', async () => {
      const inheritedMs = 1000;
      const [before, after] = [inheritedMs, 0].map((deadPeerTimeoutMs) =>
        create({ ...TEST_LIMITS, deadPeerTimeoutMs }),
      );
      cleanups.push(
        () => before!.close(),
        () => after!.close(),
      );
      const first = await open(before!);
      const [fd] = await handedOver(first.fd);
      await open(after!, fd as number);
      await first.close({ leaveOpen: true });
      const { clientSocket, backendSocket } = await established(first.port);
      clientSocket.pause(); // its window closes, and stays closed for longer than the timeout
      let ended = false;
      backendSocket
        .on('error', () => {})
        .on('close', () => {
          ended = true;
        });
      backendSocket.write(Buffer.alloc(32 << 20));
      expect(await endOfStalledPair(inheritedMs + STALLS_WITHIN_MS)).toBe('ETIMEDOUT');
      expect(ended).toBe(false);
    });

    test('keeps a socket listening for the other process when it closes its own copy', async () => {
      const { server, port, fd } = await others();
      const listener = await open(engine, fd);
      await listener.close();
      const accepted = once(server, 'connection');
      const client = await tcpClient(port);
      cleanups.push(() => client.destroy());
      const [socket] = (await accepted) as [Socket];
      cleanups.push(() => socket.destroy());
    });

    test('hands its socket over: it keeps accepted connections, the successor gets later ones, and no client is refused', async () => {
      const listener = await open(engine);
      const before = await established(listener.port);
      const [fd] = await handedOver(listener.fd);
      const taken = await open(successor, fd);
      expect(taken.port).toBe(listener.port);
      await listener.close({ leaveOpen: true });
      expect(engine.listeners()).toEqual([]);
      expect(listener.fd).toBe(-1);
      const after = await established(listener.port);
      expect(successor.stats().connections).toBe(1);
      expect(engine.stats().connections).toBe(1);
      for (const { clientSocket, backendSocket } of [before, after]) {
        clientSocket.write('on');
        expect((await readBytes(backendSocket, 2)).toString()).toBe('on');
      }
      const drained = engine.drain(60_000);
      before.clientSocket.end();
      before.backendSocket.end();
      expect(await drained).toEqual({ finished: 1, reset: 0 });
    });

    test('closes its own copy of a socket that the successor also holds, and the successor keeps serving', async () => {
      const listener = await open(engine);
      const [fd] = await handedOver(listener.fd);
      await open(successor, fd);
      await listener.close();
      await established(listener.port);
      expect(successor.stats().connections).toBe(1);
    });

    test('loses no client of a crowd that connects during a handover', async () => {
      let listener = await open(engine);
      const { port } = listener;
      let visiting = true;
      const outcomes: string[] = [];
      const visitor = async () => {
        while (visiting) {
          const clientSocket = await tcpClient(port);
          clientSocket.write('hello');
          const [answer] = await Promise.race([
            once(clientSocket, 'data'),
            once(clientSocket, 'close').then(() => ['closed']),
          ]);
          outcomes.push(String(answer));
          clientSocket.destroy();
        }
      };
      backend.server.on('connection', (socket: Socket) => socket.pipe(socket));
      const visitors = Array.from({ length: 8 }, visitor);
      let [from, to] = [engine, successor];
      for (let turn = 0; turn < 10; turn += 1) {
        const seen = outcomes.length;
        await until('some came', () => outcomes.length > seen + 10);
        const [fd] = await handedOver(listener.fd);
        const next = await open(to, fd);
        await listener.close({ leaveOpen: true });
        [from, to, listener] = [to, from, next];
      }
      visiting = false;
      await Promise.all(visitors);
      expect(from.listeners()).toEqual([listener]);
      expect(outcomes.length).toBeGreaterThan(100);
      expect(new Set(outcomes)).toEqual(new Set(['hello']));
    });

    test('refuses a descriptor that is not a listening socket, and closes it', async () => {
      const idle = await tcpClient(backend.port);
      cleanups.push(() => idle.destroy());
      const [connected] = await handedOver(descriptorOf(idle));
      // The engine threads open descriptors when they start. After one closed listener they all run.
      for (const each of [engine, successor]) await (await open(each)).close();
      const open0 = openDescriptors();
      const file = openSync('/dev/null', 'r');
      for (const fd of [file, connected])
        await expect(open(engine, fd)).rejects.toMatchObject({ code: 'ENOTLISTENING' });
      await until('both are closed', () => openDescriptors() === open0 - 1);
    });
  });
}
