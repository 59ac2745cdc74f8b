// The default route address against the real kernel, in namespaces with their own routes.
import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { inNetns, ip, makeNetns } from '../../support/network/netns.ts';

const module = new URL('../../../src/control/instance/this-host.ts', import.meta.url).href;
const script = `import(${JSON.stringify(module)})
  .then(({ readDefaultRouteAddress }) => readDefaultRouteAddress())
  .then((found) => console.log(JSON.stringify(found)))`;

const made: (() => void)[] = [];
afterEach(() => {
  for (const remove of made.splice(0)) remove();
});

function netnsWith(...commands: string[]): string {
  const { name, remove } = makeNetns();
  made.push(remove);
  for (const command of commands) ip('-n', name, ...command.split(' '));
  return name;
}

function addressIn(netns: string): unknown {
  const [command, args] = inNetns(netns, process.execPath, '-e', script);
  return JSON.parse(execFileSync(command, args, { encoding: 'utf8', timeout: 120_000 }));
}

const BRIDGES = [
  'link add br0 type bridge',
  'link add br1 type bridge',
  'link set br0 up',
  'link set br1 up',
];

test('the default route address belongs to the interface whose default route has the lowest metric', () => {
  const netns = netnsWith(
    ...BRIDGES,
    'address add 192.0.2.7/24 dev br0',
    'address add 198.51.100.9/32 dev br1',
    'address add 198.51.100.7/24 dev br1',
    'route add default via 192.0.2.1 metric 100',
    'route add default via 198.51.100.1 dev br1 metric 50',
  );
  expect(addressIn(netns)).toEqual({ kind: 'address', address: '198.51.100.7', interface: 'br1' });
});

test('the default route address is an IPv6 one when only IPv6 has a default route', () => {
  const netns = netnsWith(
    ...BRIDGES,
    'address add 192.0.2.7/24 dev br0',
    'address add fd00::7/64 dev br1 nodad',
    'address add 2001:db8::7/64 dev br1 nodad',
    '-6 route add default via 2001:db8::1 dev br1',
  );
  expect(addressIn(netns)).toEqual({ kind: 'address', address: '2001:db8::7', interface: 'br1' });
});

test('there is no default route address without a default route', () => {
  expect(addressIn(netnsWith())).toEqual({ kind: 'none', reason: 'there is no default route' });
});
