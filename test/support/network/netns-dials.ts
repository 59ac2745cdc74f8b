// The number of TCP connections opened from inside a network namespace, from the kernel's counters. The kernel also counts a dial
// that no server accepts.
import { ip } from './netns.ts';

/** `connect()` calls of this netns since its creation. The test servers inside it never dial. */
export const dialsIn = (netns: string): number => counter(netns, 'Tcp', 'ActiveOpens');

/** Dials to addresses without a route in this netns. `dialsIn` may or may not count them. */
export const dialsToNowhereIn = (netns: string): number => counter(netns, 'Ip', 'OutNoRoutes');

function counter(netns: string, protocol: 'Ip' | 'Tcp', name: string): number {
  const lines = ip('netns', 'exec', netns, 'cat', '/proc/net/snmp')
    .split('\n')
    .filter((line) => line.startsWith(`${protocol}:`));
  const [names = [], values = []] = lines.map((line) => line.split(' '));
  const count = Number(values[names.indexOf(name)]);
  if (!Number.isInteger(count)) throw new Error(`no ${name} in ${netns}: ${lines.join(' ')}`);
  return count;
}
