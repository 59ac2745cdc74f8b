// The conformance suite for pressure: which connection the engine evicts when slots run out, and how many slots each group of shares keeps.
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Decision, Engine, EngineLimits, Listener } from '../../src/proxy/engine.ts';
import { readAll, readBytes, type TestServer, tcpClient, tcpServer, until } from '../support/tcp.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from './engine.ts';

export function enginePressureConformance(
  name: string,
  create: (limits: EngineLimits) => Engine,
  /** With several threads, each thread evicts from its own connections first. */
  oneThread: boolean,
): void {
  describe(`engine ${name} under pressure`, () => {
    let engine: Engine;
    let backend: TestServer;
    let clients: Socket[];
    /** A closed socket no longer has its local port. */
    const portOf = new Map<Socket, number | undefined>();

    beforeEach(async () => {
      backend = await tcpServer();
      clients = [];
    });
    afterEach(async () => {
      await engine.close();
      await backend.close();
      for (const client of clients) client.destroy();
    });

    const start = async (policy: RecordingPolicy, limits: Partial<EngineLimits>): Promise<Listener> => {
      engine = create({ ...TEST_LIMITS, ...limits });
      return engine.openListener({ name: 'test', host: '127.0.0.1', port: 0, mode: 'hello', policy });
    };
    const connect = async (listener: Listener, from = '127.0.0.1'): Promise<Socket> => {
      const before = engine.stats().connections;
      const socket = await tcpClient(listener.port, '127.0.0.1', from);
      clients.push(socket);
      portOf.set(socket, socket.localPort);
      // At the bound the count does not change, because the engine evicts another connection.
      await until('the connection is accepted', () => {
        const { connections } = engine.stats();
        return connections > before || connections >= 4;
      });
      return socket;
    };
    const sayTo = async (listener: Listener, hello: string): Promise<Socket> => {
      const socket = await tcpClient(listener.port);
      clients.push(socket);
      socket.write(hello);
      return socket;
    };
    const routed = (): Decision => candidates(backendOf(backend));
    const served = async (socket: Socket): Promise<void> => {
      socket.write('hello');
      const backendSocket = await backend.nextSocket();
      expect((await readBytes(backendSocket, 5)).toString()).toBe('hello');
    };

    test('accepts a newcomer as long as any connection is silent', async () => {
      const policy = new RecordingPolicy(routed);
      const listener = await start(policy, { maxConnections: 4 });
      for (let i = 0; i < 4; i += 1) await connect(listener);
      for (let i = 0; i < 4; i += 1) await served(await connect(listener, '127.0.0.9'));
      await policy.nextReport(4);
      expect(policy.reports.map(({ outcome }) => outcome)).toEqual(Array(4).fill('evicted-hello'));
    });

    test.runIf(oneThread)(
      'evicts the oldest silent connection of the address that holds most of them',
      async () => {
        const policy = new RecordingPolicy(routed);
        const listener = await start(policy, { maxConnections: 4 });
        const other = await connect(listener, '127.0.0.9');
        const [oldest, second, third] = [
          await connect(listener),
          await connect(listener),
          await connect(listener),
        ];
        const newcomer = await connect(listener, '127.0.0.8');
        await readAll(oldest);
        const { outcome, client } = await policy.nextReport();
        expect([outcome, client.port]).toEqual(['evicted-hello', portOf.get(oldest)]);
        for (const socket of [other, second, third, newcomer]) await served(socket);
      },
    );

    test('evicts a refused client that does not close, and reports the outcome of the refusal', async () => {
      const policy = new RecordingPolicy(({ bytes }) =>
        bytes[0] === 0x78 ? { kind: 'alert', bytes: Buffer.from('no'), note: null } : routed(),
      );
      const listener = await start(policy, { maxConnections: 2, lingerMs: 60_000 });
      const refused = await connect(listener, '127.0.0.9');
      refused.write('x');
      expect((await readBytes(refused, 2)).toString()).toBe('no');
      await served(await connect(listener));
      const newcomer = await tcpClient(listener.port);
      clients.push(newcomer);
      await served(newcomer);
      expect((await policy.nextReport()).outcome).toBe('alert-sent');
    });

    test('never evicts a routed connection, and refuses the newcomer when all connections are routed', async () => {
      const policy = new RecordingPolicy(routed);
      const listener = await start(policy, { maxConnections: 2 });
      const [one, two] = [await connect(listener), await connect(listener)];
      await served(one);
      await served(two);
      await tcpClient(listener.port).then(readAll, () => {}); // the reset may be faster than the connect event
      expect((await policy.nextReport()).outcome).toBe('refused-connections');
      expect(engine.stats().connections).toBe(2);
    });

    test('reserves slots for each group of shares, whatever the others hold, and reports when none is left', async () => {
      const policy = new RecordingPolicy(({ bytes }) => {
        const [group = ''] = Buffer.from(bytes).toString();
        const share = { key: Buffer.from(bytes).toString(), limit: 10, group };
        return { ...candidates(backendOf(backend)), share } as Decision;
      });
      const listener = await start(policy, { maxConnections: 10 });
      engine.shareSlots({ reserved: 2, common: 1, groups: new Set(['a', 'b']) });
      const say = (hello: string) => sayTo(listener, hello);
      const isServed = async (hello: string): Promise<Socket> => {
        const socket = await say(hello);
        expect((await readBytes(await backend.nextSocket(), hello.length)).toString()).toBe(hello);
        return socket;
      };
      // Two shares of one group can use its two reserved slots and the common slot.
      const first = await isServed('a1');
      await isServed('a2');
      await isServed('a2');
      const over = await say('a1');
      expect((await readAll(over)).bytes.toString()).toBe('sorry');
      over.end();
      expect((await policy.nextReport()).outcome).toBe('refused-slots');
      await isServed('b');
      await isServed('b');
      expect((await readAll(await say('b'))).bytes.toString()).toBe('sorry');
      // The group can use a slot again after it comes free.
      first.resetAndDestroy();
      await until('it has ended', () => !engine.shares().has('a1'));
      await isServed('a1');
    });

    test('counts the slots of removed groups as common slots until they come free', async () => {
      const policy = new RecordingPolicy(({ bytes }) => {
        const key = Buffer.from(bytes).toString();
        return { ...candidates(backendOf(backend)), share: { key, limit: 10 } } as Decision;
      });
      const listener = await start(policy, { maxConnections: 10 });
      engine.shareSlots({ reserved: 2, common: 1, groups: new Set(['former', 'b']) });
      const say = (hello: string) => sayTo(listener, hello);
      const formers = [await say('former'), await say('former')];
      for (const _ of formers)
        expect((await readBytes(await backend.nextSocket(), 6)).toString()).toBe('former');
      // One group remains. Its reserve and the two held slots leave one of the five slots.
      const now = { reserved: 2, common: 3, groups: new Set(['b']) };
      engine.shareSlots(now);
      for (const _ of [1, 2, 3]) {
        await say('b');
        expect((await readBytes(await backend.nextSocket(), 1)).toString()).toBe('b');
      }
      expect((await readAll(await say('b'))).bytes.toString()).toBe('sorry');
      for (const socket of formers) socket.resetAndDestroy();
      await until('they have ended', () => !engine.shares().has('former'));
      engine.shareSlots(now);
      await say('b');
      expect((await readBytes(await backend.nextSocket(), 1)).toString()).toBe('b');
    });
  });
}
