// The TCP check against real kernels: its results, and that the server behind the port never sees a connection.
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClosableProbe, ProbeOutcome } from '../../src/health/probe.ts';
import { createProbe } from '../../src/health/probe-kinds.ts';
import { type DialTarget, dial } from '../../src/netns/dial.ts';
import { native } from '../../src/netns/native.ts';
import { NetnsHandles } from '../../src/netns/netns-handles.ts';
import type { NetnsRef } from '../../src/netns/netns-ref.ts';
import { ip, makeNetns } from '../support/network/netns.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';
import { fullListener } from './full-listener.ts';
import { buildGoBackend, startGoBackend } from './go-backend.ts';
import { netnsRefOf } from './netns-ref-of.ts';
import { outcomeOf } from './probe-outcome.ts';
import { startNodeBackend, type TlsBackend } from './tls-backend.ts';

const SETTINGS = { kind: 'tcp', timeoutMs: 300, maxConcurrent: 200 } as const;

/** The kernel delays the last ACK by 200 ms. If the probe did not run for that long, the server may see it. */
const isHeardAtMost = (outcomes: readonly ProbeOutcome[]): number =>
  outcomes.filter(({ durationMs }) => durationMs >= 150).length;

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** What any other client does: connects and closes with a reset. */
async function connectAndReset(target: DialTarget): Promise<void> {
  const handles = new NetnsHandles(native, 0);
  const socket = dial(handles, target, { allowHalfOpen: false });
  await new Promise((resolve) => socket.on('connect', resolve));
  socket.resetAndDestroy();
}

describe('the TCP check', () => {
  const netns = makeNetns({ addresses: ['10.6.0.1/32', 'fd00:6::1/128'] });
  // Loopback returns a packet for a foreign address at once, and a host without forwarding drops it silently.
  ip('-n', netns.name, 'route', 'add', '10.7.0.0/24', 'dev', 'lo');
  const ref = netnsRefOf(netns.path);
  let backend: TlsBackend;
  let probe: ClosableProbe;
  const target = (address: string, port: number, where: NetnsRef | null = ref) => ({
    key: 'k',
    address,
    port,
    netns: where,
    serverName: 'a.magnum-system',
  });
  const run = (address: string, port: number, where?: NetnsRef) =>
    outcomeOf(probe, target(address, port, where));

  beforeAll(async () => {
    backend = await startNodeBackend(netns.name, '::');
    probe = createProbe({ addon: native, settings: SETTINGS });
  });
  afterAll(async () => {
    probe.close();
    await backend.stop();
    netns.remove();
  });

  test('passes 200 times without one accept() on a TLS server, over IPv4 and IPv6', async () => {
    const outcomes: ProbeOutcome[] = [];
    for (let round = 0; round < 100; round++) {
      for (const address of ['10.6.0.1', 'fd00:6::1']) {
        const outcome = await run(address, backend.port);
        expect(outcome).toMatchObject({ ok: true, error: null });
        outcomes.push(outcome);
      }
    }
    // The kernel would send the delayed ACK after at most 200 ms.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(backend.count('connection')).toBeLessThanOrEqual(isHeardAtMost(outcomes));
    const durations = outcomes.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
    console.log(
      `TCP check: median ${durations[100]!.toFixed(2)} ms, slowest ${durations.at(-1)!.toFixed(2)} ms, ` +
        `${backend.count('connection')} accepted`,
    );
  });

  test('passes 50 times in parallel, and the server accepts no connection', async () => {
    const before = backend.count('connection');
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => run('10.6.0.1', backend.port)));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    // Until a delayed ACK of the probes would have arrived.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(backend.count('connection') - before).toBeLessThanOrEqual(isHeardAtMost(outcomes));
  });

  test('differs from an ordinary connection, which the server accepts: this shows that the tests above can fail', async () => {
    const before = backend.count('connection');
    await connectAndReset(target('10.6.0.1', backend.port));
    await expect.poll(() => backend.count('connection')).toBe(before + 1);
  });

  test('is not accepted while the event loop is blocked, and does not time out because of it', async () => {
    const before = backend.count('connection');
    const running = run('10.6.0.1', backend.port);
    // The kernel delays the last ACK by 200 ms, and the deadline is at 300 ms.
    block(1000);
    const outcome = await running;
    expect(outcome).toMatchObject({ ok: true, error: null });
    expect(outcome.durationMs).toBeLessThan(1000);
    await connectAndReset(target('10.6.0.1', backend.port)); // the server accepts in order: the probe would come before this connection
    await expect.poll(() => backend.count('connection')).toBe(before + 1);
  });

  test('fails with ECONNREFUSED if no server listens', async () => {
    const outcome = await run('10.6.0.1', 1);
    expect(outcome).toMatchObject({ ok: false, error: 'ECONNREFUSED' });
  });

  test('fails with ENETUNREACH if there is no route', async () => {
    expect(await run('192.0.2.1', 6443)).toMatchObject({ ok: false, error: 'ENETUNREACH' });
  });

  test('fails with EHOSTUNREACH if the route is unreachable', async () => {
    ip('-n', netns.name, 'route', 'add', 'unreachable', '198.51.100.0/24');
    expect(await run('198.51.100.1', 6443)).toMatchObject({ ok: false, error: 'EHOSTUNREACH' });
  });

  test('fails with ETIMEDOUT at the timeout if no host answers', async () => {
    const outcome = await run('10.7.0.2', 6443);
    expect(outcome).toMatchObject({ ok: false, error: 'ETIMEDOUT' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(295);
    expect(outcome.durationMs).toBeLessThan(10_000); // the kernel's own timeout is over two minutes
  });

  test('fails with ETIMEDOUT if the accept queue is full', async () => {
    const full = await fullListener(netns.name, '10.6.0.1');
    expect(await run('10.6.0.1', full.port)).toMatchObject({ ok: false, error: 'ETIMEDOUT' });
    await full.stop();
  });

  test('fails with ENOENT if the netns no longer exists', async () => {
    const gone = makeNetns();
    const old = netnsRefOf(gone.path);
    gone.remove();
    expect(await run('10.6.0.1', backend.port, old)).toMatchObject({ ok: false, error: 'ENOENT' });
  });

  test('fails with ENETNSCHANGED if another netns has the name', async () => {
    const other = { path: netns.path, identity: 'cookie:1' };
    expect(await run('10.6.0.1', backend.port, other)).toMatchObject({ ok: false, error: 'ENETNSCHANGED' });
  });

  test.each([
    ['api.example.org', 6443],
    ['10.6.0', 6443],
    ['10.6.0.1\0', 6443],
    ['', 6443],
    ['10.6.0.1', 65_536 + 6443],
  ])('fails with EINVAL for an invalid address: %j port %i', async (address, port) => {
    expect(await run(address, port)).toMatchObject({ ok: false, error: 'EINVAL' });
  });

  test('dials in the netns of the process for a target without a netns', async () => {
    const server = createServer().listen(0, '::1');
    await new Promise((resolve) => server.on('listening', resolve));
    const { port } = server.address() as { port: number };
    expect(await outcomeOf(probe, target('::1', port, null))).toMatchObject({ ok: true });
    expect(await outcomeOf(probe, target('::1', 1, null))).toMatchObject({ error: 'ECONNREFUSED' });
    server.close();
  });

  test('ends with ECANCELED if it is aborted, at once or later', async () => {
    expect(await outcomeOf(probe, target('10.7.0.2', 6443), AbortSignal.abort())).toMatchObject({
      error: 'ECANCELED',
    });
    const patient = createProbe({ addon: native, settings: { ...SETTINGS, timeoutMs: 60_000 } });
    const controller = new AbortController();
    const running = outcomeOf(patient, target('10.7.0.2', 6443), controller.signal);
    setTimeout(() => controller.abort(), 20);
    const outcome = await running;
    patient.close();
    expect(outcome).toMatchObject({ ok: false, error: 'ECANCELED' });
    expect(outcome.durationMs).toBeLessThan(30_000);
  });

  test('runs the maximum number of probes in parallel, each with its own outcome, and rejects one more', async () => {
    const ends = Array.from({ length: 200 }, (_, index) =>
      index % 2 === 0 ? run('10.7.0.2', 6443) : run('10.6.0.1', backend.port),
    );
    expect(() => probe.start(target('10.6.0.1', 1), () => {})).toThrow('200 probes are under way already');
    const errors = (await Promise.all(ends)).map(({ error }) => error);
    expect(errors).toEqual(Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? 'ETIMEDOUT' : null)));
    expect(await run('10.6.0.1', backend.port)).toMatchObject({ ok: true });
  });

  test('leaves no open descriptor and no thread in another netns, whatever its outcome', async () => {
    await run('10.6.0.1', backend.port);
    const before = openDescriptors();
    const controller = new AbortController();
    const ends = Array.from({ length: 20 }, () => [
      run('10.6.0.1', backend.port),
      run('10.6.0.1', 1),
      run('192.0.2.1', 6443),
      run('10.7.0.2', 6443),
      outcomeOf(probe, target('10.7.0.2', 6443), controller.signal),
    ]).flat();
    controller.abort();
    await Promise.all(ends);
    await expect.poll(() => openDescriptors()).toBe(before); // the probe keeps no handle on the netns either
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

  test('logs nothing for 200 TCP checks and accepts none', async () => {
    const probe = createProbe({ addon: native, settings: { ...SETTINGS, timeoutMs: 30_000 } });
    const outcomes: ProbeOutcome[] = [];
    for (let round = 0; round < 200; round++) outcomes.push(await outcomeOf(probe, target()));
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
    probe.close();
    // Until a delayed ACK of the probes would have arrived.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const heard = backend.count('connection');
    expect(heard).toBeLessThanOrEqual(isHeardAtMost(outcomes));
    if (heard === 0) expect(backend.events).toHaveLength(1);
  });

  test('logs nothing for 50 TLS checks', async () => {
    const before = { connections: backend.count('connection'), logged: backend.count('log') };
    const settings = { kind: 'tls', timeoutMs: 30_000, maxConcurrent: 1 } as const;
    const probe = createProbe({ addon: native, settings });
    for (let round = 0; round < 50; round++)
      expect(await outcomeOf(probe, target())).toMatchObject({ ok: true });
    await expect.poll(() => backend.count('connection')).toBe(before.connections + 50);
    // The server logs this connection, as it would have logged the checks before it.
    await connectAndReset(target());
    await expect.poll(() => backend.events.at(-1)?.line ?? '').toContain('TLS handshake error');
    expect(backend.count('log')).toBe(before.logged + 1);
  });
});
