import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TestServer, tcpServer } from '../../../test/support/tcp.ts';
import type { NativeAddon } from '../../netns/native.ts';
import { NetnsHandles } from '../../netns/netns-handles.ts';
import type { Backend } from '../../routing/route-table.ts';
import type { EngineLimits } from '../engine.ts';
import { type DialContext, dialBackend, PendingDials } from './dial-backend.ts';

describe('pending dials', () => {
  test('are limited in total', () => {
    const dials = new PendingDials({
      maxPendingDials: 2,
      maxPendingDialsPerBackend: 2,
      reservedDialsPerBackend: 0,
    });
    expect([dials.enter('a'), dials.enter('b'), dials.enter('c')]).toEqual([true, true, false]);
    expect(dials.total).toBe(2);
    dials.leave('a');
    expect(dials.enter('c')).toBe(true);
    expect(dials.enter('a')).toBe(false);
  });

  test('are limited per backend, so one unresponsive backend does not block others', () => {
    const dials = new PendingDials({
      maxPendingDials: 100,
      maxPendingDialsPerBackend: 2,
      reservedDialsPerBackend: 0,
    });
    expect([dials.enter('hole'), dials.enter('hole'), dials.enter('hole')]).toEqual([true, true, false]);
    expect(dials.enter('other')).toBe(true);
    expect(dials.total).toBe(3);
    dials.leave('other');
    expect(dials.enter('hole')).toBe(false); // a dial that ended on another backend does not help
    dials.leave('hole');
    expect([dials.enter('hole'), dials.enter('hole')]).toEqual([true, false]);
  });

  test('that were rejected are not counted, and the total is zero after all others have left', () => {
    const dials = new PendingDials({
      maxPendingDials: 3,
      maxPendingDialsPerBackend: 2,
      reservedDialsPerBackend: 0,
    });
    for (let round = 0; round < 3; round += 1) {
      const entered = ['a', 'a', 'a', 'b', 'b'].filter((key) => dials.enter(key));
      expect(entered).toEqual(['a', 'a', 'b']);
      for (const key of entered) dials.leave(key);
      expect(dials.total).toBe(0);
    }
  });
});

describe('one dial', () => {
  const userTimeouts: number[] = [];
  const addon = {
    openNetns: () => ({
      identity: 'cookie:2',
      path: '',
      closed: false,
      createTcpSocket: () => expect.fail('a socket was made in the wrong netns'),
      close: () => {},
    }),
    setUserTimeout: (_fd: number, milliseconds: number) => userTimeouts.push(milliseconds),
  } as unknown as NativeAddon;
  const context: DialContext = {
    limits: { connectTimeoutMs: 1000, deadPeerTimeoutMs: 60_000 } as EngineLimits,
    addon,
    handles: new NetnsHandles(addon, 10),
  };
  let server: TestServer;
  beforeEach(async () => {
    server = await tcpServer();
    userTimeouts.length = 0;
  });
  afterEach(() => server.close());

  const backend = (parts: Partial<Backend> = {}): Backend => ({
    key: 'k',
    address: '127.0.0.1',
    port: server.port,
    netns: null,
    ...parts,
  });

  test('that connects gives the socket, with the dead-peer timeout armed', async () => {
    const dialled = await dialBackend(backend(), context, () => {});
    expect(dialled).toMatchObject({ error: null, durationMs: expect.any(Number) });
    expect(dialled.socket?.remotePort).toBe(server.port);
    expect(dialled.socket?.allowHalfOpen).toBe(true);
    expect(userTimeouts).toEqual([60_000]);
    expect(['error', 'close'].map((name) => dialled.socket?.listenerCount(name))).toEqual([1, 0]);
    dialled.socket?.destroy();
  });

  test.each<[title: string, parts: Partial<Backend>, error: string]>([
    ['to a closed port fails with the code of the kernel', { address: '127.0.0.2' }, 'ECONNREFUSED'],
    [
      'to a replaced netns fails with our own code',
      { netns: { path: '/x', identity: 'cookie:1' } },
      'ENETNSCHANGED',
    ],
    [
      'to an invalid address fails with the text of the error',
      { address: 'example.org' },
      'Error: not an IP address: example.org',
    ],
  ])('%s', async (_title, parts, error) => {
    expect(await dialBackend(backend(parts), context, () => {})).toEqual({
      socket: null,
      error,
      durationMs: expect.any(Number),
    });
    expect(server.sockets).toHaveLength(0);
  });

  test('can be cancelled while it is connecting', async () => {
    const dialled = await dialBackend(backend(), context, (socket) => {
      expect(socket.connecting).toBe(true);
      socket.destroy();
    });
    expect(dialled).toMatchObject({ socket: null, error: 'ECANCELED' });
  });
});
