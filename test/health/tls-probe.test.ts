// The TLS check against real servers in a real netns.
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClosableProbe } from '../../src/health/probe.ts';
import { createProbe } from '../../src/health/probe-kinds.ts';
import { native } from '../../src/netns/native.ts';
import { makeNetns } from '../support/network/netns.ts';
import { openDescriptors } from '../support/process.ts';
import { netnsRefOf } from './netns-ref-of.ts';
import { outcomeOf } from './probe-outcome.ts';
import { startNodeBackend, type TlsBackend } from './tls-backend.ts';

const never = new AbortController().signal;

describe('the TLS check', () => {
  const netns = makeNetns({ addresses: ['10.6.0.1/32'] });
  const ref = netnsRefOf(netns.path);
  const plain: Server[] = [];
  const accepted = new Set<Socket>();
  let backend: TlsBackend;
  let probe: ClosableProbe;
  /** For probes that never end by themselves. No probe that must pass uses this short timeout. */
  let hasty: ClosableProbe;
  const run = (port: number, signal = never, serverName = 'a.magnum-system') =>
    outcomeOf(probe, { key: 'k', address: '10.6.0.1', port, netns: ref, serverName }, signal);

  /** A server without TLS in the netns of the process; the check of a target without a netns is the same code. */
  async function plainServer(onConnection: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      accepted.add(socket.on('error', () => {}).on('close', () => accepted.delete(socket)));
      onConnection(socket);
      socket.resume(); // otherwise the server would never see the close
    });
    plain.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as { port: number }).port;
  }
  const runPlain = (port: number, by = probe) =>
    outcomeOf(
      by,
      { key: 'k', address: '127.0.0.1', port, netns: null, serverName: 'a.magnum-system' },
      never,
    );

  beforeAll(async () => {
    backend = await startNodeBackend(netns.name, '10.6.0.1');
    const settings = { kind: 'tls', timeoutMs: 30_000, maxConcurrent: 200 } as const;
    probe = createProbe({ addon: native, settings });
    hasty = createProbe({ addon: native, settings: { ...settings, timeoutMs: 500 } });
  });
  afterAll(async () => {
    for (const socket of accepted) socket.destroy();
    for (const server of plain) server.close();
    await backend.stop();
    probe.close();
    hasty.close();
    netns.remove();
  });

  test('passes, sends the cluster name and closes cleanly, although the certificate has an unknown issuer', async () => {
    expect(await run(backend.port)).toMatchObject({ ok: true, error: null });
    await expect.poll(() => backend.count('end')).toBe(1);
    expect(backend.events.slice(1)).toEqual([
      { event: 'connection' },
      { event: 'secure', servername: 'a.magnum-system' },
      { event: 'end' },
    ]);
  });

  test('sends no server name if the target has only an address', async () => {
    expect(await run(backend.port, never, '10.6.0.1')).toMatchObject({ ok: true });
    await expect
      .poll(() => backend.events.findLast(({ event }) => event === 'secure'))
      .toMatchObject({ servername: false });
  });

  test('passes a hundred times without a server error and without a leaked descriptor', async () => {
    await run(backend.port);
    const before = openDescriptors();
    const durations: number[] = [];
    for (let round = 0; round < 100; round++) {
      const outcome = await run(backend.port);
      expect(outcome.error).toBeNull();
      durations.push(outcome.durationMs);
    }
    expect(backend.count('error') + backend.count('tlsClientError')).toBe(0);
    await expect.poll(() => openDescriptors()).toBeLessThanOrEqual(before);
    console.log(`TLS check: median ${durations.sort((a, b) => a - b)[50]!.toFixed(2)} ms`);
  });

  test('fails with ECONNREFUSED if no server listens', async () => {
    expect(await run(1)).toMatchObject({ ok: false, error: 'ECONNREFUSED' });
  });

  test('fails if the server does not speak TLS', async () => {
    const port = await plainServer((socket) => socket.end('HTTP/1.0 400 Bad Request\r\n\r\n'));
    const outcome = await runPlain(port);
    expect(outcome.ok).toBe(false);
    expect(outcome.error).toMatch(/^ERR_SSL_/);
  });

  test('is not used for a target with the TCP check, because a machine of a listener may speak any protocol', async () => {
    const port = await plainServer(() => {});
    const target = { key: 'k', address: '127.0.0.1', port, netns: null, serverName: 'a' };
    expect(await outcomeOf(probe, { ...target, check: 'tcp' }, never)).toMatchObject({
      ok: true,
      error: null,
    });
    expect(await outcomeOf(probe, { ...target, port: 1, check: 'tcp' }, never)).toMatchObject({
      error: 'ECONNREFUSED',
    });
    expect(await outcomeOf(hasty, target, never)).toMatchObject({ error: 'ETIMEDOUT' });
  });

  test('fails with ECONNRESET if the server closes during the handshake', async () => {
    const port = await plainServer((socket) => socket.once('data', () => socket.destroy()));
    expect(await runPlain(port)).toMatchObject({ ok: false, error: 'ECONNRESET' });
  });

  test('fails with ETIMEDOUT if a server accepts and stays silent, which the TCP check cannot detect', async () => {
    const port = await plainServer(() => {});
    const before = openDescriptors();
    const outcome = await runPlain(port, hasty);
    expect(outcome).toMatchObject({ ok: false, error: 'ETIMEDOUT' });
    expect(outcome.durationMs).toBeLessThan(10_000);
    await expect.poll(() => accepted.size).toBe(0);
    await expect.poll(() => openDescriptors()).toBe(before);
  });

  test('ends with ECANCELED if it is aborted during the handshake', async () => {
    const controller = new AbortController();
    const port = await plainServer(() => setTimeout(() => controller.abort(), 20));
    const target = { key: 'k', address: '127.0.0.1', port, netns: null, serverName: 'a' };
    expect(await outcomeOf(probe, target, controller.signal)).toMatchObject({
      ok: false,
      error: 'ECANCELED',
    });
  });

  test('does not fail a healthy backend if the event loop was blocked longer than the timeout', async () => {
    const settings = { kind: 'tls', timeoutMs: 2000, maxConcurrent: 1 } as const;
    const own = createProbe({ addon: native, settings });
    const target = { key: 'k', address: '10.6.0.1', port: backend.port, netns: ref, serverName: 'a' };
    const running = outcomeOf(own, target, never);
    process.nextTick(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500)); // directly after connect()
    expect(await running).toMatchObject({ ok: true, error: null });
    own.close();
  });
});
