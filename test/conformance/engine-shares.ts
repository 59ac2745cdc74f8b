// The conformance suite for shares: connections that a policy counts together and bounds.
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Decision, Engine, EngineLimits, Listener, Share } from '../../src/proxy/engine.ts';
import {
  freePort,
  readAll,
  readBytes,
  type TestServer,
  tcpClient,
  tcpServer,
  until,
} from '../support/tcp.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from './engine.ts';

export function engineSharesConformance(name: string, create: (limits: EngineLimits) => Engine): void {
  describe(`shares of engine ${name}`, () => {
    let engine: Engine;
    let backend: TestServer;
    let clients: Socket[];

    beforeEach(async () => {
      engine = create(TEST_LIMITS);
      backend = await tcpServer();
      clients = [];
    });
    afterEach(async () => {
      await engine.close();
      await backend.close();
      for (const client of clients) client.destroy();
    });

    const of = (share: Share | null, to = backendOf(backend)) => ({ ...candidates(to), share }) as Decision;
    /** The client's first bytes name the share. */
    const byHello = (limit: number) =>
      new RecordingPolicy(({ bytes }) => of({ key: Buffer.from(bytes).toString(), limit }));
    const open = (policy: RecordingPolicy): Promise<Listener> =>
      engine.openListener({ name: 'test', host: '127.0.0.1', port: 0, mode: 'hello', policy });
    const say = async (listener: Listener, hello: string): Promise<Socket> => {
      const socket = await tcpClient(listener.port);
      clients.push(socket);
      socket.write(hello);
      return socket;
    };
    const served = async (listener: Listener, hello: string) => {
      const clientSocket = await say(listener, hello);
      const backendSocket = await backend.nextSocket();
      expect((await readBytes(backendSocket, Buffer.byteLength(hello))).toString()).toBe(hello);
      return { clientSocket, backendSocket };
    };
    const counts = () => Object.fromEntries(engine.shares());

    test('counts a connection from the decision to its end, whichever side ends it, and each share separately', async () => {
      const policy = byHello(10);
      const listener = await open(policy);
      const [one, two, other] = [
        await served(listener, 'a'),
        await served(listener, 'a'),
        await served(listener, 'b'),
      ];
      expect(counts()).toEqual({ a: 2, b: 1 });
      one.clientSocket.resetAndDestroy();
      await until('one has gone', () => engine.shares().get('a') === 1);
      two.clientSocket.end();
      two.backendSocket.end();
      await until('both have gone', () => !engine.shares().has('a'));
      expect(counts()).toEqual({ b: 1 });
      other.backendSocket.resetAndDestroy();
      await until('all have gone', () => engine.shares().size === 0);
    });

    test('refuses a connection over the limit with the farewell, and serves the next one when a place is free', async () => {
      const policy = byHello(1);
      const listener = await open(policy);
      const first = await served(listener, 'a');
      const second = await say(listener, 'a');
      expect(await readAll(second)).toEqual({ bytes: Buffer.from('sorry'), reset: false });
      second.end();
      expect(await policy.nextReport()).toMatchObject({
        outcome: 'refused-share',
        note: 'routed',
        attempts: [],
        backend: null,
      });
      expect(counts()).toEqual({ a: 1 }); // the end of a refused connection frees no place
      await served(listener, 'b');
      first.clientSocket.resetAndDestroy();
      await until('there is room', () => !engine.shares().has('a'));
      await served(listener, 'a');
    });

    test('closes without a byte when the share has no farewell', async () => {
      const policy = new RecordingPolicy(
        () =>
          ({
            ...candidates(backendOf(backend)),
            share: { key: 'none', limit: 0 },
            farewell: null,
          }) as Decision,
      );
      const clientSocket = await say(await open(policy), 'hello');
      expect(await readAll(clientSocket)).toEqual({ bytes: Buffer.alloc(0), reset: false });
      clientSocket.end();
      expect((await policy.nextReport()).outcome).toBe('refused-share');
    });

    test('applies the limit of each decision: a lowered limit refuses newcomers and cuts no connection', async () => {
      let limit = 2;
      const policy = new RecordingPolicy(() => of({ key: 'a', limit }));
      const listener = await open(policy);
      const { clientSocket, backendSocket } = await served(listener, 'x');
      limit = 1;
      const refused = await say(listener, 'x');
      expect((await readAll(refused)).bytes.toString()).toBe('sorry');
      clientSocket.write('still here');
      expect((await readBytes(backendSocket, 10)).toString()).toBe('still here');
    });

    test('frees the place when no candidate can be reached', async () => {
      const gone = backendOf({ address: '127.0.0.1', port: await freePort() });
      const policy = new RecordingPolicy(() => of({ key: 'a', limit: 1 }, gone));
      const listener = await open(policy);
      for (const count of [1, 2]) {
        const clientSocket = await say(listener, 'x');
        await readAll(clientSocket);
        clientSocket.end();
        expect((await policy.nextReport(count)).outcome).toBe('dial-failed');
      }
      expect(counts()).toEqual({});
    });

    test('counts under any key, and forgets keys without connections', async () => {
      const policy = byHello(1);
      const listener = await open(policy);
      for (const key of [
        '__proto__',
        'constructor',
        'ü/ß',
        ...Array.from({ length: 150 }, (_, i) => `k${i}`),
      ]) {
        const { clientSocket } = await served(listener, key);
        expect([...engine.shares()]).toEqual([[key, 1]]);
        clientSocket.resetAndDestroy();
        await until('it has gone', () => engine.shares().size === 0);
      }
    });

    test('counts nothing when the policy names no share', async () => {
      const policy = new RecordingPolicy(() => of(null));
      await served(await open(policy), 'hello');
      expect(counts()).toEqual({});
    });
  });
}
