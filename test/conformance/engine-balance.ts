// The conformance suite for balancing over equal backends. Each test runs three times: the policy is asked about the first bytes, the
// answer is prepared, or the decision comes before any byte is read.
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  ConnectionReport,
  Decision,
  Engine,
  EngineLimits,
  Listener,
  PreparedAnswer,
} from '../../src/proxy/engine.ts';
import type { Backend } from '../../src/routing/route-table.ts';
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
import { backendOf, RecordingPolicy, TEST_LIMITS } from './engine.ts';
import { backendIn } from './engine-netns.ts';
import { helloFor, NAME } from './engine-prepared.ts';

const HELLO = helloFor(NAME);
/**
 * How long a member that could not be reached is tried last: AVOID_MS in src/proxy/streams/loads.ts and kAvoidNs in native/engine/tuning.h.
 */
const AVOID_MS = 5000;

export function engineBalanceConformance(name: string, create: (limits: EngineLimits) => Engine): void {
  describe.each(['asked', 'prepared', 'immediate'] as const)(`balance of engine ${name}, %s`, (mode) => {
    let engine: Engine;
    let listener: Listener;
    let policy: RecordingPolicy;
    let answer: PreparedAnswer;
    let servers: TestServer[];
    const cleanups: (() => unknown)[] = [];

    const open = async (limits: Partial<EngineLimits> = {}) => {
      engine = create({ ...TEST_LIMITS, maxPendingDials: 200, maxPendingDialsPerBackend: 200, ...limits });
      policy = new RecordingPolicy(() => ({ kind: 'candidates', skipBytes: 0, ...answer }) as Decision);
      listener = await engine.openListener({
        name: 'pool',
        host: '127.0.0.1',
        port: 0,
        mode: mode === 'immediate' ? 'immediate' : 'hello',
        policy,
      });
    };
    /** Publishes these backends as equals. */
    const publish = (backends: readonly Backend[]) => {
      answer = {
        backends: Object.freeze([...backends]),
        balance: 'least-connections',
        farewell: Buffer.from('sorry'),
        share: null,
        note: 'routed',
      };
      if (mode === 'prepared') listener.prepare(new Map([[NAME, answer]]));
    };
    const server = async (host?: string): Promise<TestServer> => {
      const started = await tcpServer((socket) => socket.write('welcome'), host);
      cleanups.push(() => started.close());
      return started;
    };
    const closed = async (): Promise<Backend> => backendOf({ address: '127.0.0.1', port: await freePort() });
    const dial = async (): Promise<Socket> => {
      const socket = await tcpClient(listener.port);
      cleanups.push(() => socket.destroy());
      socket.write(HELLO);
      return socket;
    };
    const served = async (): Promise<Socket> => {
      const socket = await dial();
      expect((await readBytes(socket, 7)).toString()).toBe('welcome');
      return socket;
    };
    const serve = async (count: number) => {
      for (let i = 0; i < count; i += 1) await served();
    };
    /** How many connections each server has had so far. */
    const counts = () => servers.map(({ sockets }) => sockets.length);
    /** Ends a connection from the backend side, so the test selects which connection ends. */
    const end = async (backendSocket: Socket) => {
      const before = policy.reports.length;
      backendSocket.resetAndDestroy();
      await policy.nextReport(before + 1);
    };
    const failuresOf = ({ attempts }: ConnectionReport) => attempts.filter(({ error }) => error !== null);

    beforeEach(async () => {
      servers = [await server(), await server(), await server()];
      await open();
      publish(servers.map(backendOf));
    });
    afterEach(async () => {
      await engine.close();
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    });

    test('gives each of three members the same number of connections, in sequence and in parallel', async () => {
      await serve(6);
      expect(counts()).toEqual([2, 2, 2]);
      await Promise.all(Array.from({ length: 60 }, () => served()));
      expect(counts()).toEqual([22, 22, 22]);
      if (mode === 'prepared' && name !== 'streams') expect(policy.questions).toHaveLength(0);
    });

    test('takes turns while no connection stays open', async () => {
      for (let i = 0; i < 9; i += 1) {
        await served();
        await end(servers.flatMap(({ sockets }) => sockets).find(({ destroyed }) => !destroyed)!);
      }
      expect(counts()).toEqual([3, 3, 3]);
    });

    test('prefers the member whose connections have ended', async () => {
      await serve(9);
      const [, second] = servers as [TestServer, TestServer, TestServer];
      await end(second.sockets[0]!);
      await end(second.sockets[1]!);
      await serve(2);
      expect(counts()).toEqual([3, 5, 3]);
    });

    test('reports the member that it connected to', async () => {
      await serve(3);
      for (const [index, { sockets }] of servers.entries()) {
        await end(sockets[0]!);
        const report = await policy.nextReport(index + 1);
        expect(report.backend).toEqual(backendOf(servers[index]!));
        expect(report.attempts).toEqual([
          { backend: report.backend, durationMs: expect.any(Number), error: null },
        ]);
      }
    });

    test('gives the next connections to a new member until it has as many as the others', async () => {
      const two = servers.slice(0, 2);
      publish(two.map(backendOf));
      await serve(6);
      expect(counts()).toEqual([3, 3, 0]);
      publish(servers.map(backendOf));
      await serve(3);
      expect(counts()).toEqual([3, 3, 3]);
      await serve(3);
      expect(counts()).toEqual([4, 4, 4]);
    });

    test('keeps the connections of a member that leaves, and still counts them when it comes back', async () => {
      await serve(6);
      const [first, ...others] = servers as [TestServer, TestServer, TestServer];
      publish(others.map(backendOf));
      engine.retainNetns([]);
      engine.retainNetns([]);
      await serve(4);
      expect(counts()).toEqual([2, 4, 4]);
      first.sockets[0]!.write('still here');
      publish(servers.map(backendOf));
      await serve(2);
      expect(counts()).toEqual([4, 4, 4]);
    });

    test('tries the next member when one cannot be reached, reports the failure, and then tries that member last', async () => {
      const gone = await closed();
      publish([gone, ...servers.map(backendOf)]);
      const begunMs = performance.now();
      await serve(9);
      // One failure, plus one for each AVOID_MS that passes on a slow machine, because the member is then tried first again.
      const most = 1 + Math.floor((performance.now() - begunMs) / AVOID_MS);
      expect(counts()).toEqual([3, 3, 3]);
      expect(new Set(await policy.nextDialFailures(1))).toEqual(new Set(['ECONNREFUSED']));
      for (const { sockets } of servers) for (const socket of sockets) socket.resetAndDestroy();
      await policy.nextReport(9);
      const failed = policy.reports.flatMap(failuresOf);
      expect(failed.length).toBeLessThanOrEqual(most);
      for (const each of failed)
        expect(each).toEqual({ backend: gone, durationMs: expect.any(Number), error: 'ECONNREFUSED' });
      expect(policy.dialFailures).toHaveLength(failed.length);
    });

    test('sends the farewell after it has tried each member once, and counts no connection for it', async () => {
      const gone = [await closed(), await closed(), await closed()];
      publish([...gone]);
      for (const round of [1, 2]) {
        const clientSocket = await dial();
        expect((await readAll(clientSocket)).bytes.toString()).toBe('sorry');
        clientSocket.end();
        const report = await policy.nextReport(round);
        expect(report.outcome).toBe('dial-failed');
        expect(report.attempts.map(({ backend }) => backend.key).sort()).toEqual(
          gone.map(({ key }) => key).sort(),
        );
      }
    });

    test('uses the only member, and refuses the client when there is no member', async () => {
      publish([backendOf(servers[2]!)]);
      await serve(3);
      expect(counts()).toEqual([0, 0, 3]);
      publish([]);
      const clientSocket = await dial();
      expect((await readAll(clientSocket)).bytes.toString()).toBe('sorry');
      clientSocket.end();
      expect((await policy.nextReport()).outcome).toBe('refused-dials');
    });

    test('passes over a member that has reached its bound of pending dials', async () => {
      await engine.close();
      await open({ maxPendingDialsPerBackend: 0 });
      publish(servers.map(backendOf));
      const clientSocket = await dial();
      expect((await readAll(clientSocket)).bytes.toString()).toBe('sorry');
      clientSocket.end();
      expect(await policy.nextReport()).toMatchObject({ outcome: 'refused-dials', attempts: [] });
    });

    test('balances IPv6 and IPv4 members together', async () => {
      servers = [await server('::1'), await server('127.0.0.1')];
      publish(servers.map(backendOf));
      await serve(4);
      expect(counts()).toEqual([2, 2]);
    });

    test('spreads over thousands of members, and the last connection takes no longer than the first', async () => {
      const wide = await server('0.0.0.0');
      const members = Array.from({ length: 5000 }, (_, i) =>
        backendOf({ address: `127.1.${i >> 8}.${i & 255}`, port: wide.port }),
      );
      publish(members);
      await Promise.all(Array.from({ length: 100 }, () => served()));
      const reached = new Set(wide.sockets.map(({ localAddress }) => localAddress));
      expect(reached.size).toBe(100);
    });

    test('reaches members inside a netns, and fails over when the netns is gone', async () => {
      const netns = makeNetns({ addresses: ['10.0.0.5/32'] });
      cleanups.push(() => ip('netns', 'delete', netns.name));
      const inside = await NetnsServer.start(netns.name, 'source', '10.0.0.5', '6443', '7');
      cleanups.push(() => inside.stop());
      const member = backendIn(netns.path);
      publish([member]);
      expect((await readAll(await dial())).bytes).toHaveLength(7);
      const stale = { ...member, netns: { path: netns.path, identity: 'cookie:1' }, key: 'stale' };
      servers = servers.slice(0, 1);
      publish([stale, ...servers.map(backendOf)]);
      await serve(2);
      expect(counts()).toEqual([2]);
      await until('the policy receives the failed dial', () => policy.dialFailures.includes('ENETNSCHANGED'));
    });
  });
}
