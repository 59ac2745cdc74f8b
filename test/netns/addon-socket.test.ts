// Sockets made in a netns: they belong to it, have the right flags, and their options act on the wire.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Netns, native } from '../../src/netns/native.ts';
import { inNetns, makeNetns } from '../support/network/netns.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';
import { until, WAIT_MS, within } from '../support/tcp.ts';

const ADDRESS = '10.11.12.13';
const ADDRESS_6 = 'fd00:11::13';
const PORT = 6443;
const children: ChildProcess[] = [];
const opened: Netns[] = [];
afterEach(() => {
  for (const netns of opened.splice(0)) netns.close();
});
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** A server inside a netns that sends its banner. Its reports about connections collect in `events`. */
async function serve(
  name: string,
  banner: string,
  address = ADDRESS,
): Promise<{ child: ChildProcess; events: string[] }> {
  const script = `require('node:net').createServer((socket) => {
    console.log('accepted');
    socket.on('error', (error) => console.log(error.code)).on('close', () => console.log('closed')).resume();
    socket.write(${JSON.stringify(banner)});
  }).listen({ port: ${PORT}, host: '${address}', backlog: 1 }, () => console.log('listening'));`;
  const child = spawn(...inNetns(name, process.execPath, '-e', script), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const events: string[] = [];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => events.push(...text.trim().split('\n')));
  while (!events.includes('listening'))
    await within(WAIT_MS, 'the child to listen', once(child.stdout!, 'data'));
  events.length = 0;
  return { child, events };
}

function open(path: string): Netns {
  const netns = native.openNetns(path);
  opened.push(netns);
  return netns;
}

function dial(fd: number, host = ADDRESS): Socket {
  return new Socket({ fd, manualStart: true } as ConstructorParameters<typeof Socket>[0]).connect({
    port: PORT,
    host,
  });
}

async function bannerFrom(netns: Netns, family: 4 | 6 = 4): Promise<string> {
  const socket = dial(netns.createTcpSocket(family), family === 4 ? ADDRESS : ADDRESS_6);
  const [data] = (await within(WAIT_MS, 'the answer', once(socket, 'data'))) as [Buffer];
  socket.destroy();
  await within(WAIT_MS, 'the close of the socket', once(socket, 'close'));
  return data.toString();
}

describe('a socket made in a netns', () => {
  test('belongs to that netns: one address in two netns is two servers, over IPv4 and IPv6', async () => {
    const [red, blue] = [0, 1].map(() => makeNetns({ addresses: [`${ADDRESS}/32`, `${ADDRESS_6}/128`] }));
    await Promise.all([serve(red!.name, 'red'), serve(blue!.name, 'blue')]);
    const [inRed, inBlue] = [open(red!.path), open(blue!.path)];
    expect(
      await Promise.all([bannerFrom(inRed), bannerFrom(inBlue), bannerFrom(inRed), bannerFrom(inBlue)]),
    ).toEqual(['red', 'blue', 'red', 'blue']);
    await serve(red!.name, 'red six', ADDRESS_6);
    expect(await bannerFrom(inRed, 6)).toBe('red six');
    const refused = dial(inBlue.createTcpSocket(6), ADDRESS_6);
    expect(
      ((await within(WAIT_MS, 'the refusal', once(refused, 'error'))) as [NodeJS.ErrnoException])[0].code,
    ).toBe('ECONNREFUSED');
    expect(threadNetns()).toHaveLength(1);
  });

  test('is close-on-exec and non-blocking, and outlives its handle', () => {
    const { path, remove } = makeNetns();
    const netns = open(path);
    for (const family of [4, 6] as const) {
      const fd = netns.createTcpSocket(family);
      const flags = Number.parseInt(
        /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))![1]!,
        8,
      );
      expect(flags & 0o2004000).toBe(0o2004000); // O_CLOEXEC | O_NONBLOCK
      closeSync(fd);
    }
    const fd = netns.createTcpSocket(4);
    netns.close();
    remove();
    native.setUserTimeout(fd, 1000);
    closeSync(fd);
  });

  test('is not inherited by a child process, and neither is its handle', async () => {
    const netns = open(makeNetns().path);
    const fd = netns.createTcpSocket(4);
    const child = spawn('ls', ['-l', '/proc/self/fd'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [text] = (await within(
      WAIT_MS,
      'the output of the child',
      once(child.stdout!.setEncoding('utf8'), 'data'),
    )) as [string];
    expect(text).toContain('/dev/null');
    expect(text).not.toContain('net:[');
    expect(text).not.toContain(netns.path);
    expect(text).not.toContain(readlinkSync(`/proc/self/fd/${fd}`));
    closeSync(fd);
  });
});

describe('the socket options', () => {
  test('TCP_USER_TIMEOUT ends a connect without an answer', async () => {
    const { name, path } = makeNetns({ addresses: [`${ADDRESS}/32`] });
    const { child } = await serve(name, 'x');
    child.kill('SIGSTOP'); // the kernel fills its backlog of one, then drops every SYN
    const netns = open(path);
    const waiting = [0, 1].map(() => dial(netns.createTcpSocket(4)));
    const connected = waiting.map((socket) => once(socket, 'connect'));
    await within(WAIT_MS, 'two connections in the backlog', Promise.all(connected));
    const fd = netns.createTcpSocket(4);
    native.setUserTimeout(fd, 300);
    const started = performance.now();
    const [error] = (await within(WAIT_MS, 'the error of the dial', once(dial(fd), 'error'))) as [
      NodeJS.ErrnoException,
    ];
    expect(error).toMatchObject({ code: 'ETIMEDOUT', syscall: 'connect' });
    expect(performance.now() - started).toBeLessThan(10_000); // the kernel alone takes over two minutes
    for (const socket of waiting) socket.destroy();
  });

  test('linger 0 resets on close, and null reverts it', async () => {
    const { name, path } = makeNetns({ addresses: [`${ADDRESS}/32`] });
    const { events } = await serve(name, 'x');
    const netns = open(path);
    for (const [settings, expected] of [
      [[0], ['accepted', 'ECONNRESET', 'closed']],
      [
        [0, null],
        ['accepted', 'closed'],
      ],
    ] as const) {
      events.length = 0;
      const fd = netns.createTcpSocket(4);
      for (const seconds of settings) native.setLinger(fd, seconds);
      const socket = dial(fd);
      await within(WAIT_MS, 'the first bytes', once(socket, 'data')); // read first, otherwise the kernel resets because of the unread bytes
      socket.destroy();
      await until('it is closed', () => events.includes('closed'));
      expect(events).toEqual(expected);
    }
  });

  const calls = {
    setUserTimeout: (fd: number) => native.setUserTimeout(fd, 1),
    setLinger: (fd: number) => native.setLinger(fd, 1),
  };
  test.each(Object.entries(calls))('%s reports EBADF and ENOTSOCK as setsockopt does', (_name, call) => {
    const error = {
      errno: -9,
      code: 'EBADF',
      syscall: 'setsockopt',
      message: 'EBADF: bad file descriptor, setsockopt',
    };
    expect(() => call(99_999)).toThrow(expect.objectContaining(error));
    const file = openSync('/dev/null', 'r');
    expect(() => call(file)).toThrow(
      expect.objectContaining({ errno: -88, code: 'ENOTSOCK', syscall: 'setsockopt' }),
    );
    closeSync(file);
  });

  test.each(Object.entries(calls))('%s rejects an invalid descriptor', (_name, call) => {
    const type = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
    for (const fd of [undefined, null, '3', 3n, {}])
      expect(() => call(fd as number)).toThrow(expect.objectContaining(type));
    const range = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
    for (const fd of [-1, 1.5, Number.NaN, Infinity, 2 ** 31, 2 ** 32 + 3]) {
      expect(() => call(fd)).toThrow(expect.objectContaining(range));
    }
  });

  test('reject values out of range, and leave the descriptor count unchanged', () => {
    const netns = open(makeNetns().path);
    const before = openDescriptors();
    const fd = netns.createTcpSocket(4);
    const range = expect.objectContaining({ name: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
    const type = expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
    for (const value of [-1, 0.5, 2 ** 31, Number.NaN]) {
      expect(() => native.setUserTimeout(fd, value)).toThrow(range);
      expect(() => native.setLinger(fd, value)).toThrow(range);
    }
    expect(() => native.setUserTimeout(fd, undefined as unknown as number)).toThrow(type);
    expect(() => native.setLinger(fd, undefined as unknown as null)).toThrow(type);
    for (const value of [0, 2 ** 31 - 1]) {
      native.setUserTimeout(fd, value);
      native.setLinger(fd, value);
    }
    closeSync(fd);
    expect(openDescriptors()).toBe(before);
  });
});
