// Listeners open and close for months. After the last report of a closed listener's connections, the engine and the addon keep nothing of
// it. Until then they keep everything, because the report needs it.
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { native } from '../../src/netns/native.ts';
import { NativeEngine } from '../../src/proxy/native/native-engine.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from '../conformance/engine.ts';
import { longForm } from '../support/long-form.ts';
import { openDescriptors } from '../support/process.ts';
import { readBytes, type TestServer, tcpClient, tcpServer, until } from '../support/tcp.ts';

const LISTENERS = longForm ? 2000 : 400;
const AT_ONCE = 8;

describe.each([1, 3])('closed listeners, %i threads', (threads) => {
  let engine: NativeEngine;
  let backend: TestServer;
  const cleanups: (() => unknown)[] = [];

  beforeEach(async () => {
    engine = new NativeEngine(TEST_LIMITS, native, threads);
    backend = await tcpServer();
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup();
    await engine.close();
    await backend.close();
  });

  const routed = () => new RecordingPolicy(() => candidates(backendOf(backend)));
  const open = (policy: RecordingPolicy, mode: 'hello' | 'immediate' = 'hello') =>
    engine.openListener({ name: 'test', host: '127.0.0.1', port: 0, mode, policy });
  const visit = async (port: number): Promise<Socket> => {
    const clientSocket = await tcpClient(port);
    cleanups.push(() => clientSocket.destroy());
    clientSocket.write('hello');
    return clientSocket;
  };
  const nothingKnown = () =>
    until('no listener is known', () => {
      const { here, inAddon } = engine.knownListeners();
      return here === 0 && inAddon === 0;
    });

  test('are forgotten one after the other, with their descriptors, and each policy gets the report of its connection', {
    timeout: 300_000,
  }, async () => {
    const before = openDescriptors();
    let most = 0;
    /** Closes the listener while its connection waits for an answer, is being closed, or has been reported. */
    const comeAndGo = async (turn: number): Promise<void> => {
      const policy = new RecordingPolicy(() => ({ kind: 'close', note: turn }));
      const listener = await open(policy, turn % 2 === 0 ? 'hello' : 'immediate');
      const clientSocket = await tcpClient(listener.port);
      clientSocket.on('end', () => clientSocket.destroy()).resume();
      if (turn % 2 === 0) clientSocket.write('hello');
      if (turn % 3 === 0) await policy.nextReport();
      await listener.close();
      expect(await policy.nextReport()).toMatchObject({ outcome: 'closed', note: turn });
      most = Math.max(most, engine.knownListeners().here, engine.knownListeners().inAddon);
    };
    for (let turn = 0; turn < LISTENERS; turn += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => comeAndGo(turn + index)));
    await nothingKnown();
    expect(most).toBeLessThanOrEqual(2 * AT_ONCE);
    await until('their descriptors are closed', () => openDescriptors() <= before + AT_ONCE);
  });

  test('are remembered until their last connection has ended and its policy has the report', async () => {
    const policy = routed();
    const listener = await open(policy);
    const first = await visit(listener.port);
    const second = await visit(listener.port);
    for (const backendSocket of [await backend.nextSocket(), await backend.nextSocket()]) {
      expect((await readBytes(backendSocket, 5)).toString()).toBe('hello');
      backendSocket.on('end', () => backendSocket.end()).resume();
    }
    await listener.close();
    first.end();
    await policy.nextReport();
    expect(engine.knownListeners()).toEqual({ here: 1, inAddon: 1 });
    second.end();
    expect(await policy.nextReport(2)).toMatchObject({ outcome: 'finished', note: 'routed' });
    await nothingKnown();
  });

  test('are forgotten at once when they have no connection, and never before they are closed', async () => {
    const policy = new RecordingPolicy(() => ({ kind: 'close', note: null }));
    const [first, second] = [await open(policy), await open(policy)];
    const clientSocket = await visit(first.port);
    await policy.nextReport();
    clientSocket.destroy();
    expect(engine.knownListeners()).toEqual({ here: 2, inAddon: 2 });
    await first.close();
    await until('one is known', () => engine.knownListeners().here === 1);
    await second.close({ leaveOpen: true });
    await nothingKnown();
  });
});
