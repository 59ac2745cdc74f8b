// The conformance suite of the engine interface: every engine passes it, on real sockets. The policies here are plain functions of bytes,
// so a failure is a fault of the engine.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import { native } from '../../src/netns/native.ts';
import type {
  ConnectionReport,
  Decision,
  Engine,
  EngineLimits,
  Listener,
  ListenerSpec,
  Policy,
  Question,
} from '../../src/proxy/engine.ts';
import { type Backend, backendKey } from '../../src/routing/route-table.ts';
import { endOfStalledPair, STALLS_WITHIN_MS } from '../support/stalled-pair.ts';
import {
  freePort,
  readAll,
  readBytes,
  type TestServer,
  tcpClient,
  tcpServer,
  until,
  within,
} from '../support/tcp.ts';

/** Deadlines that no test reaches unless it sets its own: the machine can be slow. */
export const TEST_LIMITS: EngineLimits = {
  maxConnections: 200,
  maxPendingDials: 50,
  maxPendingDialsPerBackend: 50,
  reservedDialsPerBackend: 0,
  helloTimeoutMs: 30_000,
  maxHelloBytes: 64 * 1024,
  maxHelloMemoryBytes: 1024 * 1024,
  connectTimeoutMs: 30_000,
  deadPeerTimeoutMs: 60_000,
  maxNetnsHandles: 100,
  maxPipes: 16,
  lingerMs: 500,
};

export class RecordingPolicy implements Policy {
  readonly questions: { bytes: string; note: unknown }[] = [];
  readonly reports: ConnectionReport[] = [];
  readonly dialFailures: string[] = [];
  readonly #answer: (question: Question) => Decision;

  constructor(answer: (question: Question) => Decision) {
    this.#answer = answer;
  }

  decide(question: Question): Decision {
    this.questions.push({ bytes: Buffer.from(question.bytes).toString('latin1'), note: question.note });
    return this.#answer(question);
  }

  dialFailed(_backend: Backend, error: string): void {
    this.dialFailures.push(error);
  }

  ended(report: ConnectionReport): void {
    this.reports.push(report);
  }

  /** All failed dials so far, once there are `count` of them. An engine may report them a little later than the client notices. */
  async nextDialFailures(count: number): Promise<readonly string[]> {
    await until(`${count} failed dials`, () => this.dialFailures.length >= count);
    return this.dialFailures;
  }

  async nextReport(count = 1): Promise<ConnectionReport> {
    await until(`report ${count}`, () => this.reports.length >= count);
    return this.reports[count - 1] as ConnectionReport;
  }
}

export function backendOf(server: { address: string; port: number }): Backend {
  const plain = { address: server.address, port: server.port, netns: null };
  return { ...plain, key: backendKey(plain) };
}

export const candidates = (...backends: Backend[]): Decision => ({
  kind: 'candidates',
  backends,
  skipBytes: 0,
  farewell: Buffer.from('sorry'),
  share: null,
  note: 'routed',
});

export function engineConformance(name: string, create: (limits: EngineLimits) => Engine): void {
  describe(`engine ${name}`, () => {
    let engine: Engine;
    let backend: TestServer;
    const cleanups: (() => unknown)[] = [];

    beforeEach(async () => {
      engine = create(TEST_LIMITS);
      backend = await tcpServer();
    });
    afterEach(async () => {
      await engine.close();
      await backend.close();
      for (const cleanup of cleanups.splice(0)) await cleanup();
    });

    const open = (policy: Policy, spec: Partial<ListenerSpec> = {}): Promise<Listener> =>
      engine.openListener({ name: 'test', host: '127.0.0.1', port: 0, mode: 'hello', policy, ...spec });
    const client = async (listener: Listener): Promise<Socket & { errors: string[] }> => {
      const socket = await tcpClient(listener.port);
      cleanups.push(() => socket.destroy());
      return socket;
    };
    const withLimits = async (limits: Partial<EngineLimits>) => {
      await engine.close();
      engine = create({ ...TEST_LIMITS, ...limits });
    };
    /** A relayed connection, with both ends. */
    const established = async (policy = new RecordingPolicy(() => candidates(backendOf(backend)))) => {
      const listener = await open(policy);
      const clientSocket = await client(listener);
      clientSocket.write('hello');
      const backendSocket = await backend.nextSocket();
      expect((await readBytes(backendSocket, 5)).toString()).toBe('hello');
      return { listener, policy, clientSocket, backendSocket };
    };

    describe('asking', () => {
      test('asks once when the first bytes decide, and replays them exactly once before later bytes', async () => {
        const { policy, clientSocket, backendSocket } = await established();
        clientSocket.write('-more');
        expect((await readBytes(backendSocket, 5)).toString()).toBe('-more');
        expect(policy.questions).toEqual([{ bytes: 'hello', note: undefined }]);
      });

      test('asks again only once minBytes have arrived, with all bytes and the note of the last answer', async () => {
        const policy = new RecordingPolicy(({ bytes }) =>
          bytes.length < 10
            ? { kind: 'more', minBytes: 10, note: 'waiting' }
            : candidates(backendOf(backend)),
        );
        const clientSocket = await client(await open(policy));
        clientSocket.setNoDelay(true);
        clientSocket.write('a');
        await until('it was asked about the first byte', () => policy.questions.length === 1);
        for (const byte of 'bcdefghij') {
          clientSocket.write(byte);
          await new Promise((resolve) => setTimeout(resolve, 3));
        }
        const backendSocket = await backend.nextSocket();
        expect((await readBytes(backendSocket, 10)).toString()).toBe('abcdefghij');
        expect(policy.questions).toEqual([
          { bytes: 'a', note: undefined },
          { bytes: 'abcdefghij', note: 'waiting' },
        ]);
      });

      test('drops skipBytes from the replay and nothing else', async () => {
        const policy = new RecordingPolicy(() => ({
          kind: 'candidates',
          backends: [backendOf(backend)],
          skipBytes: 7,
          farewell: null,
          share: null,
          note: null,
        }));
        const clientSocket = await client(await open(policy));
        clientSocket.end('HEADER:payload');
        const backendSocket = await backend.nextSocket();
        expect((await readAll(backendSocket)).bytes.toString()).toBe('payload');
      });

      test('asks before it reads in immediate mode, so a backend that sends first is relayed', async () => {
        const policy = new RecordingPolicy(() => candidates(backendOf(backend)));
        const clientSocket = await client(await open(policy, { mode: 'immediate' }));
        const backendSocket = await backend.nextSocket();
        backendSocket.write('SSH-2.0-test\r\n');
        expect((await readBytes(clientSocket, 14)).toString()).toBe('SSH-2.0-test\r\n');
        clientSocket.write('SSH-2.0-client\r\n');
        expect((await readBytes(backendSocket, 16)).toString()).toBe('SSH-2.0-client\r\n');
        expect(policy.questions).toEqual([{ bytes: '', note: undefined }]);
      });

      test('limits a policy that throws to its own connection, and serves the next one', async () => {
        let thrown = false;
        const policy = new RecordingPolicy(() => {
          if (thrown) return candidates(backendOf(backend));
          thrown = true;
          throw new Error('a bug');
        });
        const listener = await open(policy);
        const first = await client(listener);
        first.write('hello');
        await readAll(first);
        expect((await policy.nextReport()).outcome).toBe('policy-error');
        const second = await client(listener);
        second.write('hello');
        expect((await readBytes(await backend.nextSocket(), 5)).toString()).toBe('hello');
      });
    });

    describe('refusing a client', () => {
      test('delivers the bytes of an alert before FIN although the client has sent more than the engine read', async () => {
        const policy = new RecordingPolicy(() => ({
          kind: 'alert',
          bytes: Buffer.from('alert!!'),
          note: 'n',
        }));
        const clientSocket = await client(await open(policy));
        clientSocket.write(Buffer.alloc(200_000, 'x'));
        const { bytes, reset } = await readAll(clientSocket);
        expect(bytes.toString()).toBe('alert!!');
        expect(reset).toBe(false);
        clientSocket.end();
        const report = await policy.nextReport();
        expect(report).toMatchObject({
          outcome: 'alert-sent',
          note: 'n',
          backend: null,
          bytesFromBackend: 0,
        });
      });

      test('closes without a byte when the policy decides so', async () => {
        const policy = new RecordingPolicy(() => ({ kind: 'close', note: 'not TLS' }));
        const clientSocket = await client(await open(policy));
        clientSocket.write('GET / HTTP/1.1\r\n\r\n');
        expect(await readAll(clientSocket)).toEqual({ bytes: Buffer.alloc(0), reset: false });
        clientSocket.end();
        expect(await policy.nextReport()).toMatchObject({ outcome: 'closed', note: 'not TLS' });
      });

      test('does not wait longer than the linger time for a client that never closes', async () => {
        await withLimits({ lingerMs: 100 });
        const policy = new RecordingPolicy(() => ({ kind: 'alert', bytes: Buffer.from('bye'), note: null }));
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        await readAll(clientSocket);
        expect((await policy.nextReport()).outcome).toBe('alert-sent');
      });
    });

    describe('bounds', () => {
      test('gives the whole hello one deadline, which single bytes cannot stretch', async () => {
        await withLimits({ helloTimeoutMs: 300 });
        const policy = new RecordingPolicy(() => ({ kind: 'more', minBytes: 1000, note: null }));
        const clientSocket = await client(await open(policy));
        const drip = setInterval(() => clientSocket.writable && clientSocket.write('x'), 20);
        cleanups.push(() => clearInterval(drip));
        await readAll(clientSocket);
        const report = await policy.nextReport();
        expect(report.outcome).toBe('hello-timeout');
        expect(report.durationMs).toBeLessThan(10_000); // at this rate the hello would take 20 s
      });

      test('ends a connection that never sends a byte at the same deadline', async () => {
        await withLimits({ helloTimeoutMs: 100 });
        const policy = new RecordingPolicy(() => ({ kind: 'more', minBytes: 1, note: null }));
        const clientSocket = await client(await open(policy));
        await readAll(clientSocket);
        expect(await policy.nextReport()).toMatchObject({ outcome: 'hello-timeout', note: undefined });
        expect(policy.questions).toEqual([]);
      });

      test('refuses a hello over its bound', async () => {
        await withLimits({ maxHelloBytes: 1000 });
        const policy = new RecordingPolicy(({ bytes }) => ({
          kind: 'more',
          minBytes: bytes.length + 1,
          note: null,
        }));
        const clientSocket = await client(await open(policy));
        clientSocket.write(Buffer.alloc(1001, 'x'));
        await readAll(clientSocket);
        expect((await policy.nextReport()).outcome).toBe('hello-too-large');
      });

      test('evicts the oldest long hello when the shared memory is used up, and still serves short hellos', async () => {
        await withLimits({ maxHelloMemoryBytes: 40_000 });
        const policy = new RecordingPolicy(({ bytes }) =>
          bytes[0] === 0x78 ? { kind: 'more', minBytes: 60_000, note: null } : candidates(backendOf(backend)),
        );
        const listener = await open(policy);
        const first = await client(listener);
        // The policy reads a hello that it was asked about, and such a hello is never evicted. So each client sends its first byte ahead.
        // The engine reads the other bytes after the answer, and does not ask again.
        first.write('x');
        await until('the policy was asked', () => policy.questions.length === 1);
        first.write(Buffer.alloc(30_000, 'x'));
        await until('the first hello is held', () => engine.stats().helloMemoryBytes >= 20_000);
        const second = await client(listener);
        second.write(Buffer.alloc(30_000, 'x'));
        await readAll(first);
        expect((await policy.nextReport()).outcome).toBe('evicted-hello');
        await until('the second hello is held', () => engine.stats().helloMemoryBytes >= 20_000);
        const short = await client(listener);
        short.write('hello');
        expect((await readBytes(await backend.nextSocket(), 5)).toString()).toBe('hello');
        second.destroy();
        await until('the memory is given back', () => engine.stats().helloMemoryBytes === 0);
      });

      test('refuses a hello that alone exceeds the shared memory', async () => {
        await withLimits({ maxHelloMemoryBytes: 10_000 });
        const policy = new RecordingPolicy(({ bytes }) => ({
          kind: 'more',
          minBytes: bytes.length + 1,
          note: null,
        }));
        const clientSocket = await client(await open(policy));
        clientSocket.write(Buffer.alloc(30_000, 'x'));
        await readAll(clientSocket);
        expect((await policy.nextReport()).outcome).toBe('refused-hello-memory');
      });

      test('asks about a hello of the maximum size before it calls it too large, and keeps the bytes that follow', async () => {
        await withLimits({ maxHelloBytes: 1000 });
        const policy = new RecordingPolicy(({ bytes }) =>
          bytes.length < 1000 ? { kind: 'more', minBytes: 1000, note: null } : candidates(backendOf(backend)),
        );
        const clientSocket = await client(await open(policy));
        clientSocket.end(Buffer.alloc(5000, 'y'));
        const backendSocket = await backend.nextSocket();
        expect((await readAll(backendSocket)).bytes.equals(Buffer.alloc(5000, 'y'))).toBe(true);
        backendSocket.end();
        expect((await policy.nextReport()).bytesFromClient).toBe(5000);
      });

      test('refuses a connection over the bound at once and does not disturb the served ones', async () => {
        await withLimits({ maxConnections: 1 });
        const { listener, policy, clientSocket, backendSocket } = await established();
        await tcpClient(listener.port).then(readAll, () => {}); // the reset may be faster than the connect event
        expect(await policy.nextReport()).toMatchObject({ outcome: 'refused-connections', note: undefined });
        clientSocket.write('still here');
        expect((await readBytes(backendSocket, 10)).toString()).toBe('still here');
        clientSocket.resetAndDestroy();
        await until('the place is free', () => engine.stats().connections === 0);
        const next = await client(listener);
        next.write('hello');
        expect((await readBytes(await backend.nextSocket(), 5)).toString()).toBe('hello');
      });

      test('reports a client that leaves before its hello is complete', async () => {
        const policy = new RecordingPolicy(({ bytes }) => ({
          kind: 'more',
          minBytes: bytes.length + 1,
          note: 'n',
        }));
        const listener = await open(policy);
        const polite = await client(listener);
        polite.end('hel');
        await readAll(polite);
        const rude = await client(listener);
        rude.write('hel');
        await until('both are heard', () => policy.questions.length === 2);
        rude.resetAndDestroy();
        const reports = [await policy.nextReport(1), await policy.nextReport(2)];
        expect(reports.map((report) => report.outcome)).toEqual(['client-left', 'client-left']);
      });
    });

    describe('dialling', () => {
      const refusedPort = async (): Promise<Backend> =>
        backendOf({ address: '127.0.0.1', port: await freePort() });

      test('tries the candidates in order and reports each attempt', async () => {
        const dead = await refusedPort();
        const policy = new RecordingPolicy(() => candidates(dead, backendOf(backend)));
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        const backendSocket = await backend.nextSocket();
        expect((await readBytes(backendSocket, 5)).toString()).toBe('hello');
        expect(await policy.nextDialFailures(1)).toEqual(['ECONNREFUSED']); // reported before the connection ends
        clientSocket.end();
        backendSocket.end();
        const report = await policy.nextReport();
        expect(report.attempts.map(({ error }) => error)).toEqual(['ECONNREFUSED', null]);
        expect(report.backend).toEqual(backendOf(backend));
      });

      test('sends the farewell when no candidate answers', async () => {
        const policy = new RecordingPolicy(() => candidates({ ...dead }, { ...dead }));
        const dead = await refusedPort();
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        expect(await readAll(clientSocket)).toEqual({ bytes: Buffer.from('sorry'), reset: false });
        clientSocket.end();
        const report = await policy.nextReport();
        expect(report).toMatchObject({ outcome: 'dial-failed', backend: null, bytesFromBackend: 0 });
        expect(await policy.nextDialFailures(2)).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
      });

      test('reports an invalid address, and tries the next candidate', async () => {
        const nonsense: Backend = { key: 'x', address: 'api.example', port: 1, netns: null };
        const policy = new RecordingPolicy(() => candidates(nonsense, backendOf(backend)));
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        expect((await readBytes(await backend.nextSocket(), 5)).toString()).toBe('hello');
        expect(await policy.nextDialFailures(1)).toHaveLength(1);
      });

      test('reports a missing netns, and tries the next candidate', async () => {
        const netns = { path: '/run/netns/there-is-no-such-netns', identity: 'cookie:1' };
        const lost = { ...backendOf(backend), netns, key: 'lost' };
        const policy = new RecordingPolicy(() => candidates(lost, backendOf(backend)));
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        expect((await readBytes(await backend.nextSocket(), 5)).toString()).toBe('hello');
        expect(await policy.nextDialFailures(1)).toEqual(['ENOENT']);
      });
    });

    describe('relaying', () => {
      test('passes a half-close of the client on and keeps the other direction open', async () => {
        const { policy, clientSocket, backendSocket } = await established();
        clientSocket.end('a question');
        expect((await readAll(backendSocket)).bytes.toString()).toBe('a question');
        backendSocket.end('the answer');
        expect((await readAll(clientSocket)).bytes.toString()).toBe('the answer');
        expect(await policy.nextReport()).toMatchObject({
          outcome: 'finished',
          bytesFromClient: 15,
          bytesFromBackend: 10,
        });
      });

      test('passes a half-close of the backend on and keeps the other direction open', async () => {
        const { policy, clientSocket, backendSocket } = await established();
        backendSocket.end('goodbye');
        expect((await readAll(clientSocket)).bytes.toString()).toBe('goodbye');
        clientSocket.end('thanks');
        expect((await readAll(backendSocket)).bytes.toString()).toBe('thanks');
        expect((await policy.nextReport()).outcome).toBe('finished');
      });

      test('passes a reset of the client on as a reset', async () => {
        const { policy, clientSocket, backendSocket } = await established();
        const end = readAll(backendSocket);
        clientSocket.resetAndDestroy();
        expect((await end).reset).toBe(true);
        expect((await policy.nextReport()).outcome).toBe('client-reset');
      });

      test('passes a reset of the backend on as a reset', async () => {
        const { policy, clientSocket, backendSocket } = await established();
        const end = readAll(clientSocket);
        backendSocket.resetAndDestroy();
        expect((await end).reset).toBe(true);
        expect((await policy.nextReport()).outcome).toBe('backend-reset');
      });

      test.each(['client', 'backend'] as const)(
        'passes on a reset that a %s sends after its FIN',
        async (who) => {
          const { policy, clientSocket, backendSocket } = await established();
          const [rude, other] =
            who === 'client' ? [clientSocket, backendSocket] : [backendSocket, clientSocket];
          rude.end();
          expect((await readAll(other)).reset).toBe(false);
          rude.resetAndDestroy();
          // A Node socket that has seen FIN notices a reset only when it writes.
          await until('the other side is reset', () => {
            if (!other.destroyed) other.write('still there?');
            return other.destroyed;
          });
          expect((await policy.nextReport()).outcome).toBe(`${who}-reset`);
          expect(engine.stats().connections).toBe(0);
        },
      );

      test('ends when a backend closes while its client is still sending', async () => {
        const { policy, clientSocket, backendSocket } = await established();
        backendSocket.end('no more, please');
        clientSocket.write(Buffer.alloc(100_000, 'x'));
        await readAll(clientSocket);
        const pushing = setInterval(
          () => clientSocket.writable && clientSocket.write(Buffer.alloc(10_000, 'x')),
          2,
        );
        cleanups.push(() => clearInterval(pushing));
        backendSocket.destroy(); // unread bytes: the kernel sends a reset
        expect((await policy.nextReport()).outcome).toBe('backend-reset');
        await until('it is not counted any more', () => engine.stats().connections === 0);
      });

      test('delivers the bytes that a backend sent before it reset the connection', async () => {
        const { clientSocket, backendSocket } = await established();
        const said = Buffer.alloc(100_000, 'w');
        const end = readAll(clientSocket);
        backendSocket.write(said);
        // A reset discards bytes that the kernel has not yet delivered, so the test waits for them.
        await until('it is said', () => {
          const queued = native.tcpState(descriptorOf(backendSocket))?.queuedBytes ?? 0;
          return queued + backendSocket.writableLength === 0;
        });
        backendSocket.resetAndDestroy();
        const { bytes, reset } = await end;
        expect([bytes.length, reset]).toEqual([said.length, true]);
      });

      test('does not treat a stalled reader as a dead peer', async () => {
        const deadPeerTimeoutMs = 1200;
        await withLimits({ deadPeerTimeoutMs });
        const { policy, clientSocket, backendSocket } = await established();
        clientSocket.pause();
        const sent = 8 * 1024 * 1024;
        backendSocket.write(Buffer.alloc(sent, 'v'));
        expect(await endOfStalledPair(deadPeerTimeoutMs + STALLS_WITHIN_MS)).toBe('ETIMEDOUT');
        expect(policy.reports).toEqual([]);
        backendSocket.end();
        expect((await readAll(clientSocket)).bytes.length).toBe(sent);
      });

      test('stops reading from a sender whose receiver stalls, and loses no byte when the receiver continues', async () => {
        const { clientSocket, backendSocket } = await established();
        clientSocket.pause();
        const chunk = Buffer.alloc(1024 * 1024, 'z');
        let sent = 0;
        let stalled = false;
        // A sender that can write 256 MiB without a pause is being buffered without bound.
        for (let i = 0; i < 256 && !stalled; i += 1) {
          sent += chunk.length;
          if (!backendSocket.write(chunk)) {
            stalled = await Promise.race([
              once(backendSocket, 'drain').then(() => false),
              new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 500)),
            ]);
          }
        }
        expect(stalled).toBe(true);
        backendSocket.end();
        const { bytes } = await readAll(clientSocket);
        expect(bytes.length).toBe(sent);
        expect(bytes.every((byte) => byte === 0x7a)).toBe(true);
      });

      test('carries a client that sends everything and half-closes before the backend is connected', async () => {
        const policy = new RecordingPolicy(() => candidates(backendOf(backend)));
        const clientSocket = await client(await open(policy));
        clientSocket.end('hello and goodbye');
        const backendSocket = await backend.nextSocket();
        expect((await readAll(backendSocket)).bytes.toString()).toBe('hello and goodbye');
        backendSocket.end('welcome');
        expect((await readAll(clientSocket)).bytes.toString()).toBe('welcome');
        expect((await policy.nextReport()).outcome).toBe('finished');
      });

      test('does not cut a silent connection', async () => {
        const ms = 600;
        await withLimits({ helloTimeoutMs: ms, connectTimeoutMs: ms, lingerMs: ms });
        const { listener, clientSocket, backendSocket } = await established();
        // Each of these two clients connects later and is cut at its own deadline. So every deadline of the first connection has passed.
        for (let i = 0; i < 2; i += 1) await readAll(await client(listener));
        backendSocket.write('an event, at last');
        expect((await readBytes(clientSocket, 17)).toString()).toBe('an event, at last');
      });
    });

    describe('listeners and shutdown', () => {
      test('opens and closes listeners while their connections go on', async () => {
        const { listener, clientSocket, backendSocket } = await established();
        const other = await open(new RecordingPolicy(() => candidates(backendOf(backend))));
        await listener.close();
        await expect(tcpClient(listener.port)).rejects.toThrow();
        clientSocket.write('still here');
        expect((await readBytes(backendSocket, 10)).toString()).toBe('still here');
        const second = await client(other);
        second.write('hello');
        expect((await readBytes(await backend.nextSocket(), 5)).toString()).toBe('hello');
      });

      test('names the busy address when a listener cannot open', async () => {
        const { listener, policy } = await established();
        await expect(open(policy, { port: listener.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
      });

      test('drains: it accepts no new connection, waits for the existing ones, and reports the result', async () => {
        const { listener, policy, clientSocket, backendSocket } = await established();
        const drained = engine.drain(60_000);
        await expect(tcpClient(listener.port)).rejects.toThrow();
        clientSocket.end('done');
        await readAll(backendSocket);
        backendSocket.end();
        expect(await within(30_000, 'the drain', drained)).toEqual({ finished: 1, reset: 0 });
        expect((await policy.nextReport()).outcome).toBe('finished');
      });

      test('resets the remaining connections when the drain time is over', async () => {
        const { policy, clientSocket, backendSocket } = await established();
        const [clientEnd, backendEnd] = [readAll(clientSocket), readAll(backendSocket)];
        expect(await engine.drain(100)).toEqual({ finished: 0, reset: 1 });
        expect([(await clientEnd).reset, (await backendEnd).reset]).toEqual([true, true]);
        expect((await policy.nextReport()).outcome).toBe('drain-expired');
      });

      test('ends at once when it is closed while it sends an alert', async () => {
        await withLimits({ lingerMs: 60_000 });
        const policy = new RecordingPolicy(() => ({ kind: 'alert', bytes: Buffer.from('bye'), note: null }));
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        await until('it was asked', () => policy.questions.length === 1);
        await within(30_000, 'close', engine.close());
        expect(engine.stats().connections).toBe(0);
        expect(policy.reports).toHaveLength(1);
      });

      test('opens no listener after it is closed', async () => {
        const policy = new RecordingPolicy(() => ({ kind: 'close', note: null }));
        const opening = open(policy).catch(() => null);
        const closing = engine.close();
        await expect(open(policy)).rejects.toMatchObject({ code: 'ERR_ENGINE_STOPPED' });
        await within(30_000, 'close', closing);
        await opening;
        expect(engine.listeners()).toEqual([]);
        await expect(open(policy)).rejects.toMatchObject({ code: 'ERR_ENGINE_STOPPED' });
      });

      test('ends at once when it is closed during a drain', async () => {
        const { policy } = await established();
        const drained = engine.drain(60_000);
        await within(30_000, 'close', engine.close());
        await within(30_000, 'the drain', drained);
        expect((await policy.nextReport()).outcome).toBe('stopped');
        expect(engine.stats().connections).toBe(0);
      });
    });
  });
}
