// Tests when the directory is scanned, with fakes for inotify and the addon. test/netns/netns-directory.test.ts tests scans of
// real namespaces.
import { EventEmitter } from 'node:events';
import { type FSWatcher, mkdtempSync, rmSync, type watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Netns } from './native.ts';
import { NetnsDirectory } from './netns-directory.ts';

describe('the netns directory', () => {
  let directory: string;
  let watched: NetnsDirectory;
  let raise: (name: string) => void;
  let watchers: EventEmitter[];
  let looks: number[];
  let changes: number;
  let problems: string[];
  let identity: string;
  let costMs: number;

  const fakeWatch = ((_path: string, listener: (event: string, name: string) => void) => {
    raise = (name) => listener('rename', name);
    const watcher = Object.assign(new EventEmitter(), { close: () => {} });
    watchers.push(watcher);
    return watcher as unknown as FSWatcher;
  }) as unknown as typeof watch;

  function openNetns(path: string): Netns {
    if (path.endsWith('/first')) looks.push(performance.now());
    for (const untilMs = performance.now() + costMs; performance.now() < untilMs; );
    return { path, identity, close: () => {} } as unknown as Netns;
  }

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'isthmus-directory-'));
    writeFileSync(join(directory, 'first'), '');
    looks = [];
    watchers = [];
    changes = 0;
    problems = [];
    identity = 'cookie:1';
    costMs = 0;
    watched = new NetnsDirectory({
      directory,
      addon: { openNetns },
      onChange: () => changes++,
      onProblem: (message) => problems.push(message),
      watch: fakeWatch,
    });
  });
  afterEach(() => {
    watched.stop();
    vi.useRealTimers();
    rmSync(directory, { recursive: true });
  });

  /** Starts it on fake timers. `looks` counts the scans after that. */
  async function startAtZero(): Promise<void> {
    vi.useFakeTimers();
    await watched.start();
    await vi.advanceTimersByTimeAsync(10_000);
    looks.length = 0;
  }
  const looksSince = (ms: number) => looks.map((atMs) => Math.round(atMs - ms));

  test('is scanned 5, 20, 100 and 500 ms after an event', async () => {
    await startAtZero();
    const eventMs = performance.now();
    raise('x');
    await vi.advanceTimersByTimeAsync(5000);
    expect(looksSince(eventMs)).toEqual([5, 20, 100, 500]);
    expect(changes).toBe(1);
  });

  test('is scanned at all intervals after the last of several events, and not once for each event', async () => {
    await startAtZero();
    const eventMs = performance.now();
    for (let event = 0; event < 100; event++) raise('x');
    await vi.advanceTimersByTimeAsync(50);
    raise('y');
    await vi.advanceTimersByTimeAsync(5000);
    expect(looksSince(eventMs)).toEqual([5, 20, 55, 70, 150, 550]);
  });

  test('is scanned during an endless series of events', async () => {
    await startAtZero();
    for (let ms = 0; ms < 100; ms++) {
      raise('x');
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(looks.length).toBeGreaterThanOrEqual(15);
  });

  test('reports each real change once, and nothing else', async () => {
    await startAtZero();
    watched.rescan();
    await vi.advanceTimersByTimeAsync(0);
    expect([looks.length, changes]).toEqual([1, 1]);
    identity = 'cookie:2';
    watched.rescan();
    await vi.advanceTimersByTimeAsync(0);
    watched.rescan();
    await vi.advanceTimersByTimeAsync(0);
    expect([looks.length, changes]).toEqual([3, 2]);
    expect(watched.snapshot().entries).toEqual([
      { name: 'first', path: join(directory, 'first'), identity: 'cookie:2' },
    ]);
  });

  test('is scanned once at a time, and once more for all requests made during a scan', async () => {
    for (let index = 0; index < 20; index++) writeFileSync(join(directory, `more-${index}`), '');
    costMs = 1;
    const first = watched.start(); // 21 ms in slices of 5
    for (let count = 0; count < 50; count++) watched.rescan();
    await first;
    expect(looks).toHaveLength(2);
  });

  test('yields to the event loop during a scan', async () => {
    for (let index = 0; index < 50; index++) writeFileSync(join(directory, `more-${index}`), '');
    costMs = 1;
    let turns = 0;
    let going = true;
    const count = () => {
      turns++;
      if (going) setImmediate(count);
    };
    setImmediate(count);
    await watched.start();
    going = false;
    expect(turns).toBeGreaterThanOrEqual(7);
  });

  test('pauses after each scan for as long as the scan took, during a burst of events', async () => {
    for (let index = 0; index < 29; index++) writeFileSync(join(directory, `more-${index}`), '');
    costMs = 1; // 30 ms per scan
    await watched.start();
    looks.length = 0;
    while (looks.length < 4) {
      raise('x');
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    for (const [index, atMs] of looks.slice(1).entries())
      expect(atMs - looks[index]!).toBeGreaterThanOrEqual(59);
  });

  test('is watched again after an event with its own name: it was removed, and its inode may already be in use again', async () => {
    await startAtZero();
    raise(basename(directory));
    await vi.advanceTimersByTimeAsync(5);
    expect(looks).toHaveLength(1);
    expect(watchers).toHaveLength(2);
  });

  test('is scanned every second when inotify fails, reports that once, and is watched again later', async () => {
    await startAtZero();
    watchers[0]!.emit('error', Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }));
    expect(problems).toEqual([
      expect.stringMatching(/^cannot watch .* scanned every 1000 ms: EMFILE.*max_user_instances/),
    ]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(looks).toHaveLength(1); // the first scan could set the watch again
    expect(watchers).toHaveLength(2);
    expect(problems).toHaveLength(1);
    raise('x');
    await vi.advanceTimersByTimeAsync(1000);
    expect(looks).toHaveLength(5);
  });

  test('is not scanned after stop()', async () => {
    await startAtZero();
    raise('x');
    watched.stop();
    await vi.advanceTimersByTimeAsync(5000);
    expect(looks).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
