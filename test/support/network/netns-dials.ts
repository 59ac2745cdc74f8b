// How many TCP connections were opened from inside a network namespace, as its kernel counts them: a dial leaves a trace there even
// where no server accepts it.
import { ip } from './netns.ts';

/** `connect()` calls of this netns since it was made; our own servers there never dial. */
export const dialsIn = (netns: string): number => counter(netns, 'Tcp', 'ActiveOpens');

/** Dials, counted above or not, to addresses that this netns has no route to. */
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
