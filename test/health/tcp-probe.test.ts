// The TCP check against real kernels: what it says, and that the server behind it never hears of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProbe, type Probe } from '../../src/health/probe.ts';
import { native } from '../../src/netns/native.ts';
import type { NetnsRef } from '../../src/netns/netns-ref.ts';
import { ip, makeNetns } from '../support/netns.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';
import { fullListener } from './full-listener.ts';
import { buildGoBackend, startGoBackend } from './go-backend.ts';
import { netnsRefOf } from './netns-ref-of.ts';
import { startNodeBackend, type TlsBackend } from './tls-backend.ts';

const never = new AbortController().signal;

/** Call right after a probe was started: node:net connects in the next tick, this one blocks in the tick after. */
function blockAfterConnect(ms: number): void {
  process.nextTick(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms));
}

describe('the TCP check', () => {
  const netns = makeNetns({ addresses: ['10.6.0.1/32', 'fd00:6::1/128'] });
  // Loopback hands a packet for somebody else straight back, and a host that does not forward drops it without a word.
  ip('-n', netns.name, 'route', 'add', '10.7.0.0/24', 'dev', 'lo');
  const ref = netnsRefOf(netns.path);
  let backend: TlsBackend;
  let probe: Probe;
  const target = (address: string, port: number, where: NetnsRef | null = ref) => ({
    key: 'k',
    address,
    port,
    netns: where,
    serverName: 'a.magnum-system',
  });
  const run = (address: string, port: number, where?: NetnsRef) =>
    probe.run(target(address, port, where), never);

  beforeAll(async () => {
    backend = await startNodeBackend(netns.name, '::');
    probe = createProbe({ addon: native, kind: 'tcp', timeoutMs: 300 });
  });
  afterAll(async () => {
    await backend.stop();
    netns.remove();
  });

  it('passes 200 times without one accept() on a TLS server, over IPv4 and IPv6', async () => {
    const durations: number[] = [];
    for (let round = 0; round < 100; round++) {
      for (const address of ['10.6.0.1', 'fd00:6::1']) {
        const outcome = await run(address, backend.port);
        expect(outcome).toMatchObject({ ok: true, error: null });
        durations.push(outcome.durationMs);
      }
    }
    // The held-back ACK would escape after 200 ms at the latest.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(backend.events).toEqual([{ event: 'listening', port: backend.port }]);
    durations.sort((a, b) => a - b);
    console.log(
      `TCP check: median ${durations[100]!.toFixed(2)} ms, slowest ${durations.at(-1)!.toFixed(2)} ms, 0 accepted`,
    );
  });

  it('passes 50 at the same time, and the server accepts none', async () => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => run('10.6.0.1', backend.port)));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(backend.count('connection')).toBe(0);
  });

  it('is heard by the server when the ACK is not held back: the test above can fail', async () => {
    const loud = createProbe({
      addon: { openNetns: native.openNetns, setQuickAck: () => {} },
      kind: 'tcp',
      timeoutMs: 300,
    });
    const before = backend.count('connection');
    expect(await loud.run(target('10.6.0.1', backend.port), never)).toMatchObject({ ok: true });
    await expect.poll(() => backend.count('connection')).toBe(before + 1);
  });

  it('still passes when the held-back ACK escapes', async () => {
    const before = backend.count('connection');
    // 400 ms in which we do not look: twice what the kernel waits.
    const running = probe.run(target('10.6.0.1', backend.port), never);
    blockAfterConnect(400);
    expect(await running).toMatchObject({ ok: true, error: null });
    await expect.poll(() => backend.count('connection')).toBe(before + 1);
  });

  it('still passes when setting the option fails', async () => {
    const setQuickAck = () => {
      throw new Error('no such option');
    };
    const other = createProbe({
      addon: { openNetns: native.openNetns, setQuickAck },
      kind: 'tcp',
      timeoutMs: 300,
    });
    expect(await other.run(target('10.6.0.1', backend.port), never)).toMatchObject({ ok: true });
  });

  it('does not call a backend dead because our own event loop was blocked beyond the timeout', async () => {
    const running = run('10.6.0.1', backend.port);
    blockAfterConnect(1000);
    expect(await running).toMatchObject({ ok: true, error: null });
  });

  it('fails with ECONNREFUSED where nobody listens', async () => {
    const outcome = await run('10.6.0.1', 1);
    expect(outcome).toMatchObject({ ok: false, error: 'ECONNREFUSED' });
    expect(outcome.durationMs).toBeLessThan(100);
  });

  it('fails with ENETUNREACH where no route leads', async () => {
    expect(await run('192.0.2.1', 6443)).toMatchObject({ ok: false, error: 'ENETUNREACH' });
  });

  it('fails with EHOSTUNREACH where a route says unreachable', async () => {
    ip('-n', netns.name, 'route', 'add', 'unreachable', '198.51.100.0/24');
    expect(await run('198.51.100.1', 6443)).toMatchObject({ ok: false, error: 'EHOSTUNREACH' });
  });

  it('fails with ETIMEDOUT, at the timeout, where nobody answers', async () => {
    const outcome = await run('10.7.0.2', 6443);
    expect(outcome).toMatchObject({ ok: false, error: 'ETIMEDOUT' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(295);
    expect(outcome.durationMs).toBeLessThan(600);
  });

  it('fails with ETIMEDOUT when the accept queue is full', async () => {
    const full = await fullListener(netns.name, '10.6.0.1');
    expect(await run('10.6.0.1', full.port)).toMatchObject({ ok: false, error: 'ETIMEDOUT' });
    await full.stop();
  });

  it('fails with ENOENT when the netns is gone', async () => {
    const gone = makeNetns();
    const old = netnsRefOf(gone.path);
    gone.remove();
    expect(await run('10.6.0.1', backend.port, old)).toMatchObject({ ok: false, error: 'ENOENT' });
  });

  it('fails with ENETNSCHANGED when another netns has its name', async () => {
    const other = { path: netns.path, identity: 'cookie:1' };
    expect(await run('10.6.0.1', backend.port, other)).toMatchObject({ ok: false, error: 'ENETNSCHANGED' });
  });

  it('fails with EINVAL for an address that is none', async () => {
    expect(await run('api.example.org', 6443)).toMatchObject({ ok: false, error: 'EINVAL' });
  });

  it('ends with ECANCELED when it is aborted, before or meanwhile', async () => {
    expect(await probe.run(target('10.7.0.2', 6443), AbortSignal.abort())).toMatchObject({
      error: 'ECANCELED',
    });
    const controller = new AbortController();
    const running = probe.run(target('10.7.0.2', 6443), controller.signal);
    setTimeout(() => controller.abort(), 20);
    const outcome = await running;
    expect(outcome).toMatchObject({ ok: false, error: 'ECANCELED' });
    expect(outcome.durationMs).toBeLessThan(200);
  });

  it('leaves no descriptor behind, however it ends, and no thread in another netns', async () => {
    await run('10.6.0.1', backend.port);
    const before = openDescriptors();
    const controller = new AbortController();
    const ends = Array.from({ length: 20 }, () => [
      run('10.6.0.1', backend.port),
      run('10.6.0.1', 1),
      run('192.0.2.1', 6443),
      run('10.7.0.2', 6443),
      probe.run(target('10.7.0.2', 6443), controller.signal),
    ]).flat();
    controller.abort();
    await Promise.all(ends);
    expect(openDescriptors()).toBe(before); // not even a handle on the netns is kept
    expect(threadNetns()).toHaveLength(1);
  });
});

const go = buildGoBackend();
if ('missing' in go)
  console.warn(`SKIPPED: the checks against Go's net/http, as in kube-apiserver: ${go.missing}`);

describe.skipIf('missing' in go)('a Go server such as kube-apiserver', () => {
  const netns = makeNetns({ addresses: ['10.6.0.1/32'] });
  const ref = netnsRefOf(netns.path);
  let backend: TlsBackend;
  const target = () => ({
    key: 'k',
    address: '10.6.0.1',
    port: backend.port,
    netns: ref,
    serverName: 'a.magnum-system',
  });

  beforeAll(async () => {
    backend = await startGoBackend((go as { binary: string }).binary, netns.name, '10.6.0.1:0');
  });
  afterAll(async () => {
    await backend.stop();
    netns.remove();
  });

  it('logs nothing of 200 TCP checks and accepts none', async () => {
    const probe = createProbe({ addon: native, kind: 'tcp', timeoutMs: 1000 });
    for (let round = 0; round < 200; round++)
      expect(await probe.run(target(), never)).toMatchObject({ ok: true });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(backend.events).toHaveLength(1);
  });

  it('logs nothing of 50 TLS checks', async () => {
    const probe = createProbe({ addon: native, kind: 'tls', timeoutMs: 1000 });
    for (let round = 0; round < 50; round++)
      expect(await probe.run(target(), never)).toMatchObject({ ok: true });
    await expect.poll(() => backend.count('connection')).toBe(50);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(backend.events.filter(({ event }) => event === 'log')).toEqual([]);
  });

  it('does log a connection that is just closed: the tests above can fail', async () => {
    const addon = { openNetns: native.openNetns, setQuickAck: () => {} };
    const probe = createProbe({ addon, kind: 'tcp', timeoutMs: 1000 });
    await probe.run(target(), never);
    await expect.poll(() => backend.events.at(-1)?.line ?? '').toContain('TLS handshake error');
  });
});
