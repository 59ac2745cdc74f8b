import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { listeningInodes, portOwner } from './port-owner.ts';

async function listening(host: string | undefined) {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

test.each<[title: string, host: string | undefined, asked: string | undefined, found: boolean]>([
  ['the same address', '127.0.0.1', '127.0.0.1', true],
  ['the same IPv6 address', '::1', '0:0:0:0:0:0:0:1', true],
  ['all addresses, asked for one', undefined, '127.0.0.1', true],
  ['one address, asked for all', '127.0.0.1', undefined, true],
  ['one address, asked for all of IPv4', '127.0.0.1', '0.0.0.0', true],
  ['another address', '127.0.0.2', '127.0.0.1', false],
])('a listening socket is found by its address: %s', async (_title, host, asked, found) => {
  const { server, port } = await listening(host);
  const owner = portOwner({ host: asked, port });
  server.close();
  expect(owner?.pid).toBe(found ? process.pid : undefined);
  if (found) expect(owner?.command).toMatch(/^node /);
});

test('a port without a listener has no owner', async () => {
  const { server, port } = await listening('127.0.0.1');
  server.close();
  await once(server, 'close');
  expect(portOwner({ host: '127.0.0.1', port })).toBeNull();
});

test('a connection on the port is not its owner', () => {
  const line = (state: string) =>
    `   0: 0100007F:1F90 0100007F:D431 ${state} 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0`;
  expect(listeningInodes(line('0A'), '127.0.0.1', 8080)).toEqual(['4711']);
  expect(listeningInodes(line('01'), '127.0.0.1', 8080)).toEqual([]);
  expect(listeningInodes('', '127.0.0.1', 8080)).toEqual([]);
});

test('an unreadable /proc hides every process', () => {
  expect(portOwner({ host: undefined, port: 1, proc: '/nonexistent' })).toBeNull();
});
