import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { target, targets } from '../../test/health/fake-probe.ts';
import type { Handshake, HandshakeResult } from './certificate-handshake.ts';
import { CertificateReader } from './certificate-reader.ts';
import type { ProbeTarget } from './probe.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const END_MS = 1_700_000_000_000 + 365 * DAY_MS;

/** Answers after 5 ms; a silent target never answers by itself. */
class FakeHandshake implements Handshake {
  readonly starts: { key: string; atMs: number }[] = [];
  readonly silent = new Set<string>();
  readonly errors = new Map<string, string>();
  names: readonly string[] = ['a.ns'];
  notAfterMs = END_MS;
  running = 0;

  start({ key }: ProbeTarget, ended: (result: HandshakeResult) => void): () => void {
    this.starts.push({ key, atMs: performance.now() });
    this.running += 1;
    const end = (result: HandshakeResult) => {
      this.running -= 1;
      ended(result);
    };
    const error = this.silent.has(key) ? 'ETIMEDOUT' : this.errors.get(key);
    const certificate = { names: this.names, omitted: 0, notAfterMs: this.notAfterMs };
    const timer = setTimeout(
      () => end(error === undefined ? { certificate } : { error }),
      this.silent.has(key) ? 3000 : 5,
    );
    return () => {
      clearTimeout(timer);
      queueMicrotask(() => end({ error: 'ECANCELED' }));
    };
  }

  startsOf(key: string): number {
    return this.starts.filter((each) => each.key === key).length;
  }
}

describe('the certificate of a backend', () => {
  let handshake: FakeHandshake;
  let reader: CertificateReader;
  let changes: number;
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 });
    handshake = new FakeHandshake();
    changes = 0;
    reader = new CertificateReader({
      handshake,
      onChange: () => {
        changes += 1;
      },
      random: () => 0.5,
    });
  });
  afterEach(async () => {
    await reader.stop();
    expect([vi.getTimerCount(), handshake.running]).toEqual([0, 0]);
    vi.useRealTimers();
  });

  test('is not read before it answers a health check, then once, and then once a day', async () => {
    reader.setTargets([target('a')]);
    await pass(DAY_MS);
    expect(handshake.starts).toEqual([]);
    reader.answered('a');
    await pass(10);
    expect(reader.snapshot().get('a')).toEqual({
      certificate: { names: ['a.ns'], omitted: 0, notAfterMs: END_MS },
      expiry: 'valid',
      error: null,
    });
    // A check that passes later, and a target that stays, cause no further handshake.
    reader.answered('a');
    reader.setTargets([target('a')]);
    await pass(DAY_MS - 1000);
    expect(handshake.startsOf('a')).toBe(1);
    await pass(2000);
    expect(handshake.startsOf('a')).toBe(2);
    expect(changes).toBe(1);
  });

  test('is read again when the backend comes up again, at most once a minute', async () => {
    reader.setTargets([target('a')]);
    reader.answered('a');
    await pass(10);
    handshake.names = ['b.ns'];
    for (let round = 0; round < 20; round += 1) {
      reader.lost('a');
      await pass(500);
      reader.answered('a');
      await pass(500);
    }
    expect(handshake.startsOf('a')).toBe(1);
    await pass(60_000);
    expect(handshake.startsOf('a')).toBe(2);
    expect(reader.snapshot().get('a')?.certificate?.names).toEqual(['b.ns']);
    expect(changes).toBe(2);
  });

  test('is read again after the backend went down and up during the handshake', async () => {
    handshake.silent.add('a');
    reader.setTargets([target('a')]);
    reader.answered('a');
    await pass(1000);
    reader.lost('a');
    reader.answered('a');
    handshake.silent.clear();
    await pass(64_000);
    expect(handshake.startsOf('a')).toBe(2);
  });

  test('is not read while the backend is down', async () => {
    reader.setTargets([target('a')]);
    reader.answered('a');
    await pass(10);
    reader.lost('a');
    await pass(10 * DAY_MS);
    expect(handshake.startsOf('a')).toBe(1);
    // What is known stays.
    expect(reader.snapshot().get('a')?.certificate).not.toBeNull();
  });

  test('that cannot be read is tried again, after longer and longer waits up to five minutes, and one change is reported', async () => {
    handshake.errors.set('a', 'ERR_SSL_WRONG_VERSION_NUMBER');
    reader.setTargets([target('a')]);
    reader.answered('a');
    await pass(10 * 60_000);
    expect(reader.snapshot().get('a')).toMatchObject({
      certificate: null,
      error: 'ERR_SSL_WRONG_VERSION_NUMBER',
    });
    const gaps = handshake.starts.map(({ atMs }, i) => atMs - (handshake.starts[i - 1]?.atMs ?? atMs));
    expect(gaps.map((ms) => Math.round(ms / 10_000))).toEqual([0, 1, 2, 4, 8, 16]);
    await pass(DAY_MS);
    // 288 waits of five minutes, each up to a tenth shorter or longer.
    expect(handshake.starts.length).toBeGreaterThan(260);
    expect(handshake.starts.length).toBeLessThan(330);
    expect(changes).toBe(1);
    handshake.errors.clear();
    await pass(DAY_MS);
    expect(reader.snapshot().get('a')).toMatchObject({ error: null });
  });

  test('expires while it is known, and is read every hour then', async () => {
    handshake.notAfterMs = Date.now() + 31 * DAY_MS;
    reader.setTargets([target('a')]);
    reader.answered('a');
    await pass(10);
    expect(reader.snapshot().get('a')?.expiry).toBe('valid');
    await pass(2 * DAY_MS);
    expect(reader.snapshot().get('a')?.expiry).toBe('soon');
    await pass(30 * DAY_MS);
    expect(reader.snapshot().get('a')?.expiry).toBe('expired');
    const before = handshake.starts.length;
    await pass(DAY_MS);
    expect(handshake.starts.length - before).toBe(24);
  });

  test('of a machine of a listener is never read', async () => {
    reader.setTargets([{ ...target('a'), check: 'tcp' }]);
    reader.answered('a');
    await pass(DAY_MS);
    expect(handshake.starts).toEqual([]);
  });

  test('is forgotten with its backend, and a running handshake is cancelled', async () => {
    handshake.silent.add('b');
    reader.setTargets([target('a'), target('b')]);
    reader.answered('a');
    reader.answered('b');
    await pass(100);
    reader.setTargets([]);
    await pass(1);
    expect([...reader.snapshot().keys(), handshake.running]).toEqual([0]);
  });

  test('is read in time although hundreds of other backends never answer', async () => {
    const all = targets(500);
    for (const { key } of all) handshake.silent.add(key);
    reader.setTargets([...all, target('good')]);
    for (const { key } of all) reader.answered(key);
    await pass(15_000); // all silent ones had their first turn
    reader.answered('good');
    await pass(1500);
    expect(reader.snapshot().get('good')?.error).toBeNull();
    // The rate bounds the work in every second.
    const busiest = Math.max(
      ...handshake.starts.map(
        ({ atMs }) => handshake.starts.filter((s) => s.atMs >= atMs && s.atMs < atMs + 1000).length,
      ),
    );
    expect(busiest).toBeLessThanOrEqual(44);
  });
});
