// How many connections this process may hold, by its limit on open descriptors. Said at the start rather than found out under load.
import { readFileSync } from 'node:fs';

/** Two per connection, and room for listeners, probes, netns handles and the admin port. */
const DESCRIPTORS_PER_CONNECTION = 2;
const RESERVED_DESCRIPTORS = 512;

/** The soft limit (Node raises it to the hard one at its start); Infinity when there is none. */
export function descriptorLimit(limits: string = readFileSync('/proc/self/limits', 'utf8')): number {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

export function effectiveMaxConnections(wanted: number, descriptors: number): number {
  const possible = Math.floor((descriptors - RESERVED_DESCRIPTORS) / DESCRIPTORS_PER_CONNECTION);
  return Math.max(1, Math.min(wanted, possible));
}
