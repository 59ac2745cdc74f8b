// The netns directory against real namespaces: the effects of `ip netns` and of an operator's mistakes.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { native } from '../../src/netns/native.ts';
import { NetnsDirectory, type NetnsDirectoryOptions } from '../../src/netns/netns-directory.ts';
import { makeNetns } from '../support/network/netns.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';

const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });

/** Mounts the netns of a new process on a file, as `ip netns add` does, but at any path. */
function mountNewNetns(path: string): void {
  writeFileSync(path, '');
  run('unshare', `--net=${path}`, 'true');
}

describe('the netns directory', () => {
  let directory: string;
  let changes: number;
  let problems: string[];
  let open: NetnsDirectory[];
  const mounts: string[] = [];

  beforeEach(() => {
    directory = mkdtempSync('/run/netns-dir-');
    changes = 0;
    problems = [];
    open = [];
  });
  afterEach(() => {
    for (const each of open) each.stop();
    for (const mount of mounts.splice(0)) spawnSync('umount', ['-l', mount]); // most are gone already
  });

  async function start(options: Partial<NetnsDirectoryOptions> = {}): Promise<NetnsDirectory> {
    const made = new NetnsDirectory({
      directory,
      addon: native,
      onChange: () => changes++,
      onProblem: (message) => problems.push(message),
      ...options,
    });
    open.push(made);
    await made.start();
    return made;
  }
  function add(name: string): string {
    const path = join(directory, name);
    mountNewNetns(path);
    mounts.push(path);
    return path;
  }
  function remove(name: string): void {
    run('umount', '-l', join(directory, name));
    rmSync(join(directory, name));
  }
  const names = (of: NetnsDirectory) => of.snapshot().entries.map(({ name }) => name);
  const soon = { interval: 2 };

  test('is incomplete before the first scan and complete after it', async () => {
    const unstarted = new NetnsDirectory({ directory, addon: native, onChange: () => {} });
    expect(unstarted.snapshot()).toEqual({ complete: false, entries: [], problems: [] });
    const watched = await start();
    expect(watched.snapshot()).toEqual({ complete: true, entries: [], problems: [] });
  });

  test('lists the namespaces, sorted, each with its kernel identity', async () => {
    const identities = ['qdhcp-b', 'ovnmeta-a'].map((name) => {
      const netns = native.openNetns(add(name));
      netns.close();
      return netns.identity;
    });
    const watched = await start();
    expect(watched.snapshot()).toEqual({
      complete: true,
      entries: [
        { name: 'ovnmeta-a', path: join(directory, 'ovnmeta-a'), identity: identities[1] },
        { name: 'qdhcp-b', path: join(directory, 'qdhcp-b'), identity: identities[0] },
      ],
      problems: [],
    });
    expect(changes).toBe(1);
  });

  test('follows `ip netns add` and `ip netns delete` in /run/netns', async () => {
    const watched = await start({ directory: '/run/netns' });
    const netns = makeNetns();
    await expect.poll(() => names(watched), soon).toContain(netns.name);
    netns.remove();
    await expect.poll(() => names(watched), soon).not.toContain(netns.name);
  });

  test('sees a namespace that is mounted long after its file appeared', async () => {
    const watched = await start();
    for (const delayMs of [0, 15, 60, 300]) {
      const path = join(directory, `late-${delayMs}`);
      writeFileSync(path, '');
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      run('unshare', `--net=${path}`, 'true');
      mounts.push(path);
      await expect.poll(() => names(watched), soon).toContain(`late-${delayMs}`);
    }
    expect(watched.snapshot().problems).toEqual([]);
  });

  test('sees a recreated namespace as another one, every time', async () => {
    const watched = await start();
    const seen = new Set<string>();
    for (let round = 0; round < 10; round++) {
      add('qdhcp-x');
      const netns = native.openNetns(join(directory, 'qdhcp-x'));
      netns.close();
      seen.add(netns.identity);
      await expect
        .poll(() => watched.snapshot().entries.map(({ identity }) => identity), soon)
        .toEqual([netns.identity]);
      remove('qdhcp-x');
    }
    expect(seen.size).toBe(10);
    await expect.poll(() => names(watched), soon).toEqual([]);
  });

  test('finds a namespace that was mounted over another without an event at the next scan', async () => {
    const path = add('qdhcp-x');
    const watched = await start();
    const [before] = watched.snapshot().entries;
    run('unshare', `--net=${path}`, 'true');
    watched.rescan();
    await expect.poll(() => watched.snapshot().entries[0]?.identity, soon).not.toBe(before!.identity);
    run('umount', path);
  });

  test('keeps no descriptor open and no namespace alive', async () => {
    await start();
    const before = openDescriptors();
    const watched = await start();
    const perWatch = openDescriptors() - before; // inotify, shared by all watches of a loop
    for (const name of ['a', 'b', 'c']) add(name);
    await expect.poll(() => names(watched), soon).toEqual(['a', 'b', 'c']);
    expect(openDescriptors()).toBe(before + perWatch);
    expect(threadNetns()).toHaveLength(1);
  });

  test('reports an entry that is not a namespace with a reason, and the others are undisturbed', async () => {
    add('good');
    writeFileSync(join(directory, 'file'), 'hello');
    writeFileSync(join(directory, 'leftover'), '');
    chmodSync(join(directory, 'leftover'), 0); // what a reboot or a lost mount leaves of `ip netns add`
    mkdirSync(join(directory, 'directory'));
    run('mkfifo', join(directory, 'fifo'));
    symlinkSync(join(directory, 'fifo'), join(directory, 'link-fifo'));
    symlinkSync('/nowhere', join(directory, 'link-nowhere'));
    symlinkSync(join(directory, 'link-itself'), join(directory, 'link-itself'));
    symlinkSync(join(directory, 'good'), join(directory, 'link-good'));
    symlinkSync('/proc/self/ns/uts', join(directory, 'uts'));
    const server = createServer().listen(join(directory, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    const watched = await start();
    expect(names(watched)).toEqual(['good', 'link-good']);
    const reasons = Object.fromEntries(watched.snapshot().problems.map(({ name, reason }) => [name, reason]));
    expect(reasons).toEqual({
      directory: 'a directory, not a network namespace',
      fifo: 'a FIFO, not a network namespace',
      file: expect.stringMatching(/^a plain file on which no network namespace is mounted/),
      leftover: expect.stringMatching(
        /^a plain file on which no network namespace is mounted.*mountPropagation/,
      ),
      'link-fifo': expect.stringMatching(/^a plain file|^not a network namespace|FIFO/),
      'link-itself': 'a symbolic link that points to itself',
      'link-nowhere': 'a symbolic link to a file that does not exist',
      socket: 'a Unix socket, not a network namespace',
      uts: 'a namespace of another kind (mount, PID, …), not a network namespace',
    });
    server.close();
  });

  test('turns an entry that lost its mount into a problem', async () => {
    const path = add('a');
    const watched = await start();
    run('umount', '-l', path);
    watched.rescan();
    await expect.poll(() => watched.snapshot().problems, soon).toMatchObject([{ name: 'a' }]);
    expect(names(watched)).toEqual([]);
  });

  test('reports nothing when nothing changed', async () => {
    add('a');
    let scannedMs = 0;
    const openNetns: typeof native.openNetns = (path) => {
      scannedMs = performance.now();
      return native.openNetns(path);
    };
    const watched = await start({ addon: { openNetns } });
    expect(changes).toBe(1);
    writeFileSync(join(directory, 'b'), '');
    rmSync(join(directory, 'b'));
    const eventMs = performance.now();
    for (let round = 0; round < 5; round++) watched.rescan();
    // The last scan after an event.
    await expect.poll(() => scannedMs - eventMs, soon).toBeGreaterThanOrEqual(500);
    await new Promise((resolve) => setImmediate(resolve));
    expect(changes).toBe(1);
  });

  test('treats a missing directory as empty, and sees it appear, disappear and return', async () => {
    const deep = join(directory, 'x', 'y', 'netns');
    const watched = await start({ directory: deep });
    expect(watched.snapshot()).toEqual({ complete: true, entries: [], problems: [] });
    expect(problems).toEqual([
      `the netns directory ${deep} does not exist: no netns is found until it exists`,
    ]);
    watched.rescan();
    expect(problems).toHaveLength(1); // reported once
    directory = deep;
    for (let round = 0; round < 3; round++) {
      mkdirSync(deep, { recursive: true });
      await new Promise((resolve) => setTimeout(resolve, round * 30));
      add('a');
      await expect.poll(() => names(watched), soon).toEqual(['a']);
      remove('a');
      rmdirSync(deep);
      if (round > 0) rmdirSync(join(deep, '..'));
      await expect.poll(() => names(watched), soon).toEqual([]);
      expect(watched.snapshot().complete).toBe(true);
    }
  });

  test('follows the name when another directory replaces the watched one', async () => {
    const watched = await start();
    renameSync(directory, `${directory}-old`);
    mkdirSync(directory);
    add('a');
    await expect.poll(() => names(watched), soon).toEqual(['a']);
  });

  test('follows a mount over the directory from the next scan on', async () => {
    const watched = await start();
    run('mount', '-t', 'tmpfs', 'over', directory);
    await watched.start(); // scans once more
    add('a');
    await expect.poll(() => names(watched), soon).toEqual(['a']);
    watched.stop();
    run('umount', '-l', directory);
  });

  test('is incomplete, and reports why once, while the directory cannot be read', async () => {
    const path = join(directory, 'netns');
    writeFileSync(path, 'a file where the directory should be');
    const watched = await start({ directory: path });
    await watched.start(); // scans once more
    expect(watched.snapshot()).toEqual({ complete: false, entries: [], problems: [] });
    expect(problems).toEqual([expect.stringContaining('ENOTDIR')]);
    rmSync(path);
    mkdirSync(path);
    directory = path;
    add('a');
    await expect.poll(() => watched.snapshot().complete && names(watched), soon).toEqual(['a']);
  });

  test('polls every second when inotify is used up, reports it once, and returns to inotify', async () => {
    let exhausted = true;
    let watches = 0;
    let events = 0;
    const { watch: real } = await import('node:fs');
    const watch = ((path: string, heard: (event: string, name: string | null) => void) => {
      if (exhausted)
        throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), {
          code: 'ENOSPC',
        });
      watches += 1;
      return real(path, (event, name) => {
        events += 1;
        heard(event, name);
      });
    }) as typeof real;
    const watched = await start({ watch });
    add('a');
    await expect.poll(() => names(watched), soon).toEqual(['a']);
    add('b');
    await expect.poll(() => names(watched), soon).toEqual(['a', 'b']);
    expect(problems).toEqual([expect.stringMatching(/scanned every 1000 ms: ENOSPC.*max_user_watches/)]);
    exhausted = false;
    await expect.poll(() => watches, soon).toBe(1);
    expect(events).toBe(0);
    add('c');
    await expect.poll(() => names(watched), soon).toEqual(['a', 'b', 'c']);
    expect(events).toBeGreaterThan(0);
  });

  test('reports no change after it is stopped, and nothing keeps running', async () => {
    const watched = await start();
    const witness = await start({ onChange: () => {} });
    watched.stop();
    add('a');
    watched.rescan();
    await expect.poll(() => names(witness), soon).toEqual(['a']);
    expect(names(watched)).toEqual([]);
    expect(changes).toBe(1);
  });
});
