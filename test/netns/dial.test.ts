// Dialling in real network namespaces: it reaches the right one of two with the same address, and leaves no handle or descriptor behind
// after any failure.
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DialOptions, type DialTarget, dial } from '../../src/netns/dial.ts';
import { native } from '../../src/netns/native.ts';
import { NetnsHandles } from '../../src/netns/netns-handles.ts';
import type { NetnsRef } from '../../src/netns/netns-ref.ts';
import { netnsRefOf } from '../health/netns-ref-of.ts';
import { makeNetns } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';
import { readBytes, tcpServer, until, WAIT_MS, within } from '../support/tcp.ts';

const ADDRESS = '10.21.22.23';
const ADDRESS_6 = 'fd00:21::23';
const PORT = 6443;
const OPTIONS: DialOptions = { allowHalfOpen: true };

/** Descriptors of this process on named network namespaces (the addon keeps one on its own netns, without a name). */
function netnsDescriptors(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('/run/netns/');
    } catch {
      return false; // the descriptor that read the directory
    }
  }).length;
}

let handles: NetnsHandles;
const sockets: Socket[] = [];
beforeEach(() => {
  handles = new NetnsHandles(native, 10);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) {
    if (!socket.closed) await within(WAIT_MS, 'close', once(socket.destroy(), 'close'));
  }
  handles.close();
});

function start(target: DialTarget, options: DialOptions = OPTIONS): Socket {
  const socket = dial(handles, target, options);
  sockets.push(socket);
  return socket;
}

/** Sends a word to an echo server and returns the answer. */
async function echo(target: DialTarget): Promise<string> {
  const socket = start(target);
  await within(WAIT_MS, 'connect', once(socket, 'connect'));
  socket.write('word');
  return (await readBytes(socket, 4)).toString();
}

async function errorOf(socket: Socket): Promise<string | undefined> {
  const [error] = (await within(WAIT_MS, 'an error', once(socket, 'error'))) as [NodeJS.ErrnoException];
  return error.code;
}

describe('a dial', () => {
  const netns = makeNetns({ addresses: [`${ADDRESS}/32`, `${ADDRESS_6}/128`] });
  const empty = makeNetns({ addresses: [`${ADDRESS}/32`, `${ADDRESS_6}/128`] });
  const ref = netnsRefOf(netns.path);
  const emptyRef = netnsRefOf(empty.path);
  const servers: NetnsServer[] = [];
  beforeAll(async () => {
    servers.push(
      ...(await Promise.all(
        [ADDRESS, ADDRESS_6].map((address) => NetnsServer.start(netns.name, 'echo', address, String(PORT))),
      )),
    );
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  test.each([
    ['IPv4', ADDRESS],
    ['IPv6', ADDRESS_6],
  ])(
    'reaches a server over %s in its netns, and not the same address in another',
    async (_family, address) => {
      expect(await echo({ address, port: PORT, netns: ref })).toBe('word');
      expect(await errorOf(start({ address, port: PORT, netns: emptyRef }))).toBe('ECONNREFUSED');
      expect(threadNetns()).toHaveLength(1);
    },
  );

  test.each(['example.org', 'localhost', '10.0.0', '10.0.0.1:80', '[::1]', ''])(
    'of %j, which is not a numeric address, opens nothing',
    (address) => {
      const before = openDescriptors();
      for (const netnsRef of [ref, null]) {
        expect(() => dial(handles, { address, port: PORT, netns: netnsRef }, OPTIONS)).toThrow(
          `not an IP address: ${address}`,
        );
      }
      expect(handles.size).toBe(0);
      expect(openDescriptors()).toBe(before);
    },
  );

  test('leaves no descriptor behind when the port is invalid', async () => {
    await echo({ address: ADDRESS, port: PORT, netns: ref }); // the handle is open, and stays open
    const before = openDescriptors();
    for (let i = 0; i < 10; i += 1) {
      expect(() => dial(handles, { address: ADDRESS, port: 70_000, netns: ref }, OPTIONS)).toThrow();
    }
    await until('the descriptors are closed', () => openDescriptors() <= before);
    expect(openDescriptors()).toBe(before);
  });

  test('without a netns uses our own', async () => {
    const server = await tcpServer((socket) => socket.pipe(socket));
    expect(await echo({ address: server.address, port: server.port, netns: null })).toBe('word');
    expect(handles.size).toBe(0);
    await server.close();
  });

  test('continues when its handle is closed during the connect', async () => {
    const socket = start({ address: ADDRESS, port: PORT, netns: ref });
    handles.close();
    expect(netnsDescriptors()).toBe(0);
    await within(WAIT_MS, 'connect', once(socket, 'connect'));
    socket.write('word');
    expect((await readBytes(socket, 4)).toString()).toBe('word');
  });

  test('repeated a hundred times leaves only the one handle', async () => {
    await echo({ address: ADDRESS, port: PORT, netns: ref });
    await within(WAIT_MS, 'close', once((sockets.pop() as Socket).destroy(), 'close'));
    const before = openDescriptors();
    for (let i = 0; i < 100; i += 1) {
      const socket = dial(handles, { address: ADDRESS, port: i % 2 === 0 ? PORT : 1, netns: ref }, OPTIONS);
      await once(socket, i % 2 === 0 ? 'connect' : 'error');
      if (!socket.closed) await once(socket.destroy(), 'close');
    }
    expect(openDescriptors()).toBe(before);
    expect(netnsDescriptors()).toBe(1);
    expect(threadNetns()).toHaveLength(1);
  });
});

describe('handles', () => {
  test('on retained namespaces stay open, and all others close', () => {
    const refs = [1, 2, 3].map(() => netnsRefOf(makeNetns({ addresses: [`${ADDRESS}/32`] }).path)) as [
      NetnsRef,
      NetnsRef,
      NetnsRef,
    ];
    for (const netns of refs) start({ address: ADDRESS, port: PORT, netns }).on('error', () => {});
    expect(netnsDescriptors()).toBe(3);
    handles.retain([refs[1]]);
    expect(netnsDescriptors()).toBe(1);
    expect(handles.size).toBe(1);
    handles.close();
    expect(netnsDescriptors()).toBe(0);
  });

  test('refuse a netns that was recreated under the same name, until the route names the new one', async () => {
    const old = makeNetns({ addresses: [`${ADDRESS}/32`] });
    const oldRef = netnsRefOf(old.path);
    old.remove();
    const renewed = makeNetns({ name: old.name, addresses: [`${ADDRESS}/32`] });
    const newRef = netnsRefOf(renewed.path);
    expect(newRef.identity).not.toBe(oldRef.identity);

    const before = openDescriptors();
    const target = { address: ADDRESS, port: PORT };
    const changed = expect.objectContaining({
      code: 'ENETNSCHANGED',
      message: expect.stringContaining(newRef.identity),
    });
    expect(() => dial(handles, { ...target, netns: oldRef }, OPTIONS)).toThrow(changed);
    expect(openDescriptors()).toBe(before);
    expect(handles.size).toBe(0);

    const server = await NetnsServer.start(renewed.name, 'echo', ADDRESS, String(PORT));
    expect(await echo({ ...target, netns: newRef })).toBe('word');
    expect(() => dial(handles, { ...target, netns: oldRef }, OPTIONS)).toThrow(changed);
    await server.stop();
  });

  test('report a missing netns with the error of open()', () => {
    const gone = makeNetns();
    const netns = netnsRefOf(gone.path);
    gone.remove();
    expect(() => dial(handles, { address: ADDRESS, port: PORT, netns }, OPTIONS)).toThrow(
      expect.objectContaining({ code: 'ENOENT', syscall: 'open' }),
    );
    expect(handles.size).toBe(0);
  });
});
