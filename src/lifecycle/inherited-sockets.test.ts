import { describe, expect, test } from 'vitest';
import { type HandedSocket, InheritedSockets, type WantedEndpoint } from './inherited-sockets.ts';

const socket = (address: string, port: number, pinned = false): HandedSocket => ({
  name: 'tls',
  fd: 7,
  address,
  port,
  pinned,
});

describe('a socket is taken', () => {
  test.each<[title: string, socket: HandedSocket, wanted: WantedEndpoint, taken: boolean]>([
    ['at the wanted address', socket('127.0.0.1', 6443), { host: '127.0.0.1', port: 6443 }, true],
    ['if any port is accepted', socket('127.0.0.1', 6443), { host: '127.0.0.1', port: 0 }, true],
    ['on all addresses', socket('::', 6443), { host: undefined, port: 6443 }, true],
    [
      'on all addresses of a host without IPv6',
      socket('0.0.0.0', 6443),
      { host: undefined, port: 6443 },
      true,
    ],
    ['however the address is spelt', socket('fd00::1', 1), { host: 'FD00:0:0:0:0:0:0:1', port: 1 }, true],
    ['not on another port', socket('::', 6443), { host: undefined, port: 16_443 }, false],
    [
      'not on one address if all are wanted',
      socket('10.0.0.1', 6443),
      { host: undefined, port: 6443 },
      false,
    ],
    ['not on all addresses if one is wanted', socket('::', 6443), { host: '10.0.0.1', port: 6443 }, false],
    [
      'not outside the range',
      socket('::', 99),
      { host: undefined, port: 0, range: { from: 100, to: 200 } },
      false,
    ],
    [
      'within the range',
      socket('::', 100),
      { host: undefined, port: 0, range: { from: 100, to: 200 } },
      true,
    ],
    [
      'not on an excluded port within the range',
      socket('::', 100),
      { host: undefined, port: 0, range: { from: 100, to: 200 }, except: new Set([100]) },
      false,
    ],
    ['wherever systemd opened it', socket('10.0.0.1', 1, true), { host: undefined, port: 6443 }, true],
  ])('%s', (_title, given, wanted, taken) => {
    const sockets = new InheritedSockets([given], () => {});
    expect(sockets.take('tls', wanted)).toBe(taken ? 7 : undefined);
    expect(sockets.take('tls', wanted)).toBeUndefined();
  });
});

test('an unclaimed socket is closed once', () => {
  const closed: number[] = [];
  const sockets = new InheritedSockets(
    [socket('::', 1), { ...socket('::', 2), name: 'admin', fd: 8 }],
    (fd) => closed.push(fd),
  );
  sockets.take('tls', { host: undefined, port: 1 });
  expect(sockets.left).toEqual(['admin']);
  sockets.closeRest();
  sockets.closeRest();
  expect(closed).toEqual([8]);
});

test('the first of two sockets with the same name is kept, and the second is closed', () => {
  const closed: number[] = [];
  const sockets = new InheritedSockets([socket('::', 1), { ...socket('::', 2), fd: 8 }], (fd) =>
    closed.push(fd),
  );
  expect(closed).toEqual([8]);
  expect(sockets.surplus).toMatchObject([{ fd: 8, port: 2 }]);
  expect(sockets.take('tls', { host: undefined, port: 1 })).toBe(7);
  sockets.closeRest();
  expect(closed).toEqual([8]);
});
