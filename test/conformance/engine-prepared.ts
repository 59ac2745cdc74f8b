// The conformance suite for prepared answers: a client sees no difference between an engine that asks the policy and one that answers by
// itself. Each test runs twice, the second time with the policy's answer prepared.
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  ConnectionReport,
  Decision,
  Engine,
  EngineLimits,
  Listener,
  PreparedAnswer,
  Question,
} from '../../src/proxy/engine.ts';
import type { Backend } from '../../src/routing/route-table.ts';
import { parseClientHello } from '../../src/tls/client-hello.ts';
import { ip, makeNetns } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import {
  freePort,
  readAll,
  readBytes,
  type TestServer,
  tcpClient,
  tcpServer,
  until,
} from '../support/tcp.ts';
import { helloMessage, hostNameExtension, records } from '../tls/hello-builder.ts';
import { backendOf, RecordingPolicy, TEST_LIMITS } from './engine.ts';
import { backendIn } from './engine-netns.ts';

export const NAME = 'demo-cluster.magnum-system';
export const helloFor = (name: string): Buffer =>
  Buffer.from(records(helloMessage({ extensions: [hostNameExtension(name)] })));
const HELLO = helloFor(NAME);

/** `answersUnasked`: whether the engine uses prepared answers. */
export function enginePreparedConformance(
  name: string,
  create: (limits: EngineLimits) => Engine,
  answersUnasked: boolean,
): void {
  describe.each([
    ['asked', false],
    ['prepared', true],
  ])(`engine ${name}, %s`, (_title, prepares) => {
    let engine: Engine;
    let backend: TestServer;
    let listener: Listener;
    let policy: RecordingPolicy;
    let answers: Map<string, PreparedAnswer>;
    const cleanups: (() => unknown)[] = [];
    const unasked = prepares && answersUnasked;

    const decide = ({ bytes }: Question): Decision => {
      const hello = parseClientHello(bytes);
      if (hello.kind === 'incomplete') return { kind: 'more', minBytes: hello.minBytes, note: 'waiting' };
      const answer = hello.kind === 'server-name' ? answers.get(hello.serverName) : undefined;
      if (answer === undefined) return { kind: 'alert', bytes: Buffer.from('alert'), note: 'refused' };
      return { kind: 'candidates', skipBytes: 0, ...answer };
    };
    const answer = (to: readonly Backend[], parts: Partial<PreparedAnswer> = {}): PreparedAnswer => ({
      backends: to,
      farewell: Buffer.from('sorry'),
      share: null,
      note: `to ${to.map(({ key }) => key)}`,
      ...parts,
    });
    /** Publishes these answers, as a new route table does. */
    const publish = (entries: Iterable<[string, PreparedAnswer]>) => {
      answers = new Map(entries);
      if (prepares) listener.prepare(answers);
    };
    const publishOne = (to: readonly Backend[], parts?: Partial<PreparedAnswer>) =>
      publish([[NAME, answer(to, parts)]]);
    const client = async (): Promise<Socket> => {
      const socket = await tcpClient(listener.port);
      socket.setNoDelay(true);
      cleanups.push(() => socket.destroy());
      return socket;
    };
    const served = async (hello = HELLO, at = backend) => {
      const clientSocket = await client();
      clientSocket.write(hello);
      const backendSocket = await at.nextSocket();
      expect((await readBytes(backendSocket, hello.length)).equals(hello)).toBe(true);
      return { clientSocket, backendSocket };
    };
    const closed = async (): Promise<Backend> => backendOf({ address: '127.0.0.1', port: await freePort() });
    const another = async (): Promise<TestServer> => {
      const server = await tcpServer();
      cleanups.push(() => server.close());
      return server;
    };
    const open = async (limits: Partial<EngineLimits> = {}) => {
      engine = create({ ...TEST_LIMITS, ...limits });
      policy = new RecordingPolicy(decide);
      listener = await engine.openListener({
        name: 'test',
        host: '127.0.0.1',
        port: 0,
        mode: 'hello',
        policy,
      });
    };

    beforeEach(async () => {
      backend = await tcpServer();
      await open();
      publishOne([backendOf(backend)]);
    });
    afterEach(async () => {
      await engine.close();
      await backend.close();
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    });

    test('serves a plain hello, and reports it in full', async () => {
      const { clientSocket, backendSocket } = await served();
      expect(policy.questions.length).toBe(unasked ? 0 : 1);
      clientSocket.end('question');
      expect((await readAll(backendSocket)).bytes.toString()).toBe('question');
      backendSocket.end('the answer');
      expect((await readAll(clientSocket)).bytes.toString()).toBe('the answer');
      const to = backendOf(backend);
      const report = await policy.nextReport();
      // An engine may format the address only on first access.
      const { address, port } = report.client;
      expect({ ...report, client: { address, port } }).toEqual({
        listener: 'test',
        client: { address: '127.0.0.1', port: expect.any(Number) },
        note: `to ${to.key}`,
        outcome: 'finished',
        attempts: [{ backend: to, durationMs: expect.any(Number), error: null }],
        backend: to,
        bytesFromClient: HELLO.length + 8,
        bytesFromBackend: 10,
        durationMs: expect.any(Number),
      } satisfies ConnectionReport);
    });

    test('serves a hello that arrives in two pieces, cut at any byte', async () => {
      for (let cut = 1; cut < HELLO.length; cut += 9) {
        const clientSocket = await client();
        clientSocket.write(HELLO.subarray(0, cut));
        await new Promise((resolve) => setTimeout(resolve, 3));
        clientSocket.write(HELLO.subarray(cut));
        const backendSocket = await backend.nextSocket();
        expect((await readBytes(backendSocket, HELLO.length)).equals(HELLO)).toBe(true);
        clientSocket.resetAndDestroy();
      }
      if (unasked) expect(policy.questions).toEqual([]);
    });

    test('serves a hello that arrives byte by byte, and the bytes that follow it', async () => {
      const clientSocket = await client();
      const bytes = Buffer.concat([HELLO, Buffer.from('early')]);
      for (const byte of bytes) {
        clientSocket.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const backendSocket = await backend.nextSocket();
      expect((await readBytes(backendSocket, bytes.length)).equals(bytes)).toBe(true);
    });

    test('serves a hello with bytes behind it, in another letter case, or in several records', async () => {
      await served(Buffer.concat([HELLO, Buffer.from('early data')]));
      await served(helloFor('Demo-Cluster.MAGNUM-system.'));
      await served(Buffer.from(records(helloMessage({ extensions: [hostNameExtension(NAME)] }), [20, 30])));
      expect(policy.questions.length).toBeGreaterThanOrEqual(3);
    });

    test("refuses a hello that the policy refuses, with the policy's answer", async () => {
      for (const bytes of [helloFor('other.magnum-system'), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
        const clientSocket = await client();
        clientSocket.write(bytes);
        expect((await readAll(clientSocket)).bytes.toString()).toBe('alert');
        clientSocket.end();
      }
      expect((await policy.nextReport(2)).outcome).toBe('alert-sent');
      expect(policy.reports.map(({ note }) => note)).toEqual(['refused', 'refused']);
    });

    test('has one deadline for the whole hello', async () => {
      await engine.close();
      await open({ helloTimeoutMs: 150 });
      publishOne([backendOf(backend)]);
      const clientSocket = await client();
      clientSocket.write(HELLO.subarray(0, 50));
      expect((await readAll(clientSocket)).bytes.length).toBe(0);
      expect((await policy.nextReport()).outcome).toBe('hello-timeout');
    });

    test('reports a client that leaves in the middle of its hello', async () => {
      const clientSocket = await client();
      clientSocket.end(HELLO.subarray(0, 50));
      await readAll(clientSocket);
      expect(await policy.nextReport()).toMatchObject({ outcome: 'client-left', bytesFromClient: 50 });
    });

    test('tries the candidates in order, reports a failed dial at once, and lists each attempt', async () => {
      const dead = await closed();
      publishOne([dead, dead, backendOf(backend)]);
      const { clientSocket, backendSocket } = await served();
      expect(await policy.nextDialFailures(2)).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
      clientSocket.end();
      backendSocket.end();
      const report = await policy.nextReport();
      expect(report.attempts.map(({ error }) => error)).toEqual(['ECONNREFUSED', 'ECONNREFUSED', null]);
      expect(report).toMatchObject({ outcome: 'finished', backend: backendOf(backend) });
    });

    test('sends the farewell when no candidate can be reached', async () => {
      const dead = await closed();
      publishOne([dead]);
      const clientSocket = await client();
      clientSocket.write(HELLO);
      expect(await readAll(clientSocket)).toEqual({ bytes: Buffer.from('sorry'), reset: false });
      clientSocket.end();
      expect(await policy.nextReport()).toMatchObject({
        outcome: 'dial-failed',
        note: `to ${dead.key}`,
        attempts: [{ backend: dead, error: 'ECONNREFUSED' }],
        backend: null,
      });
    });

    test('counts and bounds a share over prepared and asked answers together', async () => {
      const share = { key: 'demo', limit: 2 };
      publishOne([backendOf(backend)], { share, note: 'shared' });
      const first = await served();
      const second = await served(helloFor('DEMO-cluster.magnum-system')); // this spelling always goes to the policy
      expect([...engine.shares()]).toEqual([['demo', 2]]);
      for (const count of [1, 2]) {
        const third = await client();
        third.write(HELLO);
        expect(await readAll(third)).toEqual({ bytes: Buffer.from('sorry'), reset: false });
        third.end();
        expect(await policy.nextReport(count)).toMatchObject({ outcome: 'refused-share', note: 'shared' });
      }
      first.clientSocket.resetAndDestroy();
      await until('there is room', () => engine.shares().get('demo') === 1);
      const fourth = await served();
      for (const { clientSocket } of [second, fourth]) clientSocket.resetAndDestroy();
      await until('no connection is left', () => engine.shares().size === 0);
    });

    test('passes resets on from either side', async () => {
      const one = await served();
      const backendEnd = readAll(one.backendSocket);
      one.clientSocket.resetAndDestroy();
      expect((await backendEnd).reset).toBe(true);
      expect((await policy.nextReport(1)).outcome).toBe('client-reset');
      const two = await served();
      const clientEnd = readAll(two.clientSocket);
      two.backendSocket.resetAndDestroy();
      expect((await clientEnd).reset).toBe(true);
      expect((await policy.nextReport(2)).outcome).toBe('backend-reset');
    });

    test('follows each new table, while connections go on and are reported as they were decided', async () => {
      const old = await served();
      const moved = await another();
      publishOne([backendOf(moved)], { note: 'moved' });
      const fresh = await served(HELLO, moved);
      publish([]);
      const refused = await client();
      refused.write(HELLO);
      expect((await readAll(refused)).bytes.toString()).toBe('alert');
      // Their reports survive many later tables.
      for (let i = 0; i < 50; i += 1)
        publish([[NAME, answer([backendOf(i % 2 ? moved : backend)], { note: i })]]);
      for (const { clientSocket, backendSocket } of [old, fresh]) {
        clientSocket.end('still here');
        expect((await readAll(backendSocket)).bytes.toString()).toBe('still here');
        backendSocket.end();
        await readAll(clientSocket);
      }
      refused.end();
      await policy.nextReport(3);
      const reported = policy.reports.map(({ note, backend: to }) => [note, to?.port ?? null]);
      expect(new Map(reported as [unknown, unknown][])).toEqual(
        new Map<unknown, unknown>([
          [`to ${backendOf(backend).key}`, backend.port],
          ['moved', moved.port],
          ['refused', null],
        ]),
      );
    });

    test('never serves from a table that was replaced before the client connected', async () => {
      const [one, two] = [backend, await another()];
      for (let i = 0; i < 30; i += 1) {
        const at = i % 2 === 0 ? two : one;
        publishOne([backendOf(at)], { note: i });
        const { clientSocket } = await served(HELLO, at);
        clientSocket.resetAndDestroy();
      }
      await policy.nextReport(30);
      expect(policy.reports.map(({ note }) => note).sort((a, b) => Number(a) - Number(b))).toEqual(
        Array.from({ length: 30 }, (_, i) => i),
      );
    });

    test('drains its connections, and resets them when the drain time is over', async () => {
      const { clientSocket, backendSocket } = await served();
      const ends = [readAll(clientSocket), readAll(backendSocket)];
      expect(await engine.drain(50)).toEqual({ finished: 0, reset: 1 });
      expect((await Promise.all(ends)).map(({ reset }) => reset)).toEqual([true, true]);
      expect(await policy.nextReport()).toMatchObject({
        outcome: 'drain-expired',
        backend: backendOf(backend),
      });
    });

    test('accepts a table for a listener that is closed or closing', async () => {
      const { clientSocket, backendSocket } = await served();
      await listener.close();
      publishOne([backendOf(backend)], { note: 'too late' });
      clientSocket.write('x');
      expect((await readBytes(backendSocket, 1)).toString()).toBe('x');
    });

    test('keeps the handle on a retained netns, and no handle on another netns', async () => {
      const netns = makeNetns({ addresses: ['10.0.0.5/32'] });
      cleanups.push(() => ip('netns', 'delete', netns.name));
      const server = await NetnsServer.start(netns.name, 'source', '10.0.0.5', '6443', '7');
      cleanups.push(() => server.stop());
      const to = backendIn(netns.path);
      const fetched = async () => {
        const clientSocket = await client();
        clientSocket.write(HELLO);
        const { bytes } = await readAll(clientSocket);
        clientSocket.end();
        return bytes.length;
      };
      publishOne([to]);
      expect(await fetched()).toBe(7);
      for (let look = 0; look < 4; look += 1) {
        if (to.netns !== null) engine.retainNetns([to.netns]);
        expect(await fetched()).toBe(7);
        expect(engine.stats().netnsHandles).toBe(1);
      }
      engine.retainNetns([]);
      expect(engine.stats().netnsHandles).toBe(0);
      // A stale table still leads to the netns: the engine dials it but keeps no handle.
      if (unasked) {
        expect(await fetched()).toBe(7);
        expect(engine.stats().netnsHandles).toBe(0);
      }
      // A new route leads to the netns again: the engine dials it and keeps its handle, without a call of retainNetns.
      publishOne([to]);
      expect(await fetched()).toBe(7);
      expect(engine.stats().netnsHandles).toBe(1);
      if (!unasked || to.netns === null) return;
      for (let look = 0; look < 4; look += 1) engine.retainNetns([to.netns]);
      expect(engine.stats().netnsHandles).toBe(1);
    });
  });
}
