// The addon's functions for a supervised process: datagrams to the supervisor, descriptors over a unix socket, and the credentials of the
// peer.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import { native } from '../../src/netns/native.ts';
import { type UnixPair, unixPair } from '../support/handed-over.ts';
import { NotifyReceiver } from '../support/notify-receiver.ts';
import { openDescriptors } from '../support/process.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

describe('a notification', () => {
  test.each([
    ['to a path', join(tmpdir(), `isthmus-notify-${process.pid}.sock`)],
    ['to an abstract name', `@isthmus-notify-${process.pid}`],
  ])('%s arrives complete, with this process as the sender', async (_title, address) => {
    const receiver = await NotifyReceiver.start(address);
    cleanups.push(() => receiver.stop());
    native.notify(address, 'READY=1\nSTATUS=two lines, ünd more');
    expect(await receiver.next()).toEqual({ READY: '1', STATUS: 'two lines, ünd more' });
  });

  test.each([
    ['to a path without a socket', join(tmpdir(), 'isthmus-nobody.sock'), 'ENOENT'],
    ['to an abstract name without a socket', '@isthmus-nobody', 'ECONNREFUSED'],
    ['to a name longer than the kernel accepts', `/${'x'.repeat(120)}`, 'EINVAL'],
    ['to an empty name', '', 'EINVAL'],
  ])('fails with an error code: %s', (_title, address, code) => {
    expect(() => native.notify(address, 'READY=1')).toThrow(expect.objectContaining({ code }));
  });

  test('accepts strings only, and leaves no descriptor', () => {
    const before = openDescriptors();
    expect(() => native.notify(undefined as unknown as string, '')).toThrow(TypeError);
    expect(() => native.notify('@x', 1 as unknown as string)).toThrow(TypeError);
    for (let i = 0; i < 50; i += 1) expect(() => native.notify('@isthmus-nobody', 'x')).toThrow();
    expect(openDescriptors()).toBe(before);
  });
});

describe('descriptors over a unix socket', () => {
  const pair = async (): Promise<UnixPair> => {
    const made = await unixPair();
    cleanups.push(() => made.close());
    return made;
  };

  test('arrive with their bytes, close-on-exec, and are the same files', async () => {
    const { receiver, sender } = await pair();
    const path = join(tmpdir(), `isthmus-passed-${process.pid}`);
    writeFileSync(path, 'content');
    cleanups.push(() => rmSync(path));
    const file = openSync(path, 'r');
    expect(native.sendDescriptors(descriptorOf(sender), 'names\n', file, file)).toBe(6);
    const received = native.receiveDescriptors(descriptorOf(receiver));
    expect(received?.bytes.toString()).toBe('names\n');
    const [first = -1, second = -1] = received?.descriptors ?? [];
    closeSync(file);
    const bytes = Buffer.alloc(7);
    readSync(first, bytes, 0, 7, 0);
    expect(bytes.toString()).toBe('content');
    for (const fd of [first, second]) {
      expect(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')).toMatch(/^flags:\s+02[0-7]*$/m); // O_CLOEXEC
      closeSync(fd);
    }
  });

  test('arrive one message at a time, 253 at most, and nothing leaks', async () => {
    const { receiver, sender } = await pair();
    const before = openDescriptors();
    const send = (text: string, count: number) =>
      native.sendDescriptors(descriptorOf(sender), text, ...Array<number>(count).fill(0));
    send('a', 253);
    send('b', 2);
    expect(() => send('c', 254)).toThrow(expect.objectContaining({ code: 'EINVAL' }));
    for (const [bytes, count] of [
      ['a', 253],
      ['b', 2],
    ] as const) {
      const received = native.receiveDescriptors(descriptorOf(receiver));
      expect(received?.bytes.toString()).toBe(bytes);
      expect(received?.descriptors).toHaveLength(count);
      for (const fd of received?.descriptors ?? []) closeSync(fd);
    }
    expect(native.receiveDescriptors(descriptorOf(receiver))).toBeNull();
    expect(openDescriptors()).toBe(before);
  });

  test('end when the peer closes', async () => {
    const { receiver, sender } = await pair();
    sender.destroy();
    await once(sender, 'close');
    expect(native.receiveDescriptors(descriptorOf(receiver))).toMatchObject({
      descriptors: [],
      bytes: Buffer.alloc(0),
    });
    expect(() => native.sendDescriptors(descriptorOf(receiver), 'x', 0)).toThrow(
      expect.objectContaining({ code: 'EPIPE' }),
    );
  });

  test('come with the credentials of the peer', async () => {
    const { receiver } = await pair();
    expect(native.peerOf(descriptorOf(receiver))).toEqual({ pid: process.pid, uid: process.getuid?.() });
  });
});

describe('an inherited socket', () => {
  test('is reported as listening, with its address, and is not passed on by accident', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => server.close());
    const { port } = server.address() as { port: number };
    // The child gets it as descriptor 3, blocking or not, and without close-on-exec, like a socket from systemd.
    const script = `
      const { native } = await import(${JSON.stringify(new URL('../../src/netns/native.ts', import.meta.url).href)});
      const { execFileSync } = await import('node:child_process');
      const bound = native.adoptListening(3);
      const inherited = execFileSync('sh', ['-c', 'ls -l /proc/self/fd/3 2>/dev/null || true'], { stdio: ['ignore', 'pipe', 'ignore'] });
      console.log(JSON.stringify({ ...bound, inherited: String(inherited).includes('socket') }));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit', descriptorOf(server)],
    });
    let text = '';
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await once(child, 'close');
    expect(JSON.parse(text)).toEqual({ address: '127.0.0.1', port, inherited: false });
  });

  test('is rejected if it is not a listening socket', () => {
    expect(() => native.adoptListening(0)).toThrow(expect.objectContaining({ code: 'ENOTLISTENING' }));
    expect(() => native.adoptListening(9999)).toThrow(expect.objectContaining({ code: 'EBADF' }));
  });
});
