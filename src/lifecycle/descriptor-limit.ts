// How the descriptors that this process may open are shared out. Said at the start rather than found out under load.
import { readFileSync } from 'node:fs';

/** The soft limit (Node raises it to the hard one at its start); Infinity when there is none. */
export function descriptorLimit(limits: string = readFileSync('/proc/self/limits', 'utf8')): number {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

export interface DescriptorBudget {
  readonly maxConnections: number;
  readonly maxNetnsHandles: number;
  /** Pipes through which bulk is spliced: two descriptors each; without one, bytes are copied. */
  readonly maxPipes: number;
  /** On the admin port and on the health port, each: of what the others leave, so that a flood there takes nothing from clients. */
  readonly maxAdminConnections: number;
}

const LEAST_ADMIN_CONNECTIONS = 128;
const MOST_ADMIN_CONNECTIONS = 1024;
const ADMIN_PORTS = 2;
/** Beyond its limit, for a moment (SLACK in src/telemetry/admin/connection-guard.ts). */
const ADMIN_SLACK = 64;
const OTHERS = 128; // the program itself, its listeners, the admin port, files being read
const DESCRIPTORS_PER_CONNECTION = 2;
const DESCRIPTORS_PER_PIPE = 2;

/** Probes, handles and pipes get a share that grows with the limit up to what is useful; connections get the rest. */
export function descriptorBudget(limit: number, wantedConnections: number): DescriptorBudget {
  const share = (part: number, least: number, most: number) =>
    Math.min(most, Math.max(least, Math.floor(limit / part)));
  const probes = share(8, 32, 384); // of API servers and of machines (probesAtOnce in health/health-groups.ts)
  const maxNetnsHandles = share(16, 16, 1024);
  // Not more: 9000 connections and all of this fit into 20 000 descriptors.
  const maxPipes = share(32, 8, 192);
  const left = limit - OTHERS - probes - maxNetnsHandles - maxPipes * DESCRIPTORS_PER_PIPE;
  const possible = Math.max(1, Math.floor(left / DESCRIPTORS_PER_CONNECTION));
  const maxConnections = Math.min(wantedConnections, possible);
  const spare = Math.floor((left - maxConnections * DESCRIPTORS_PER_CONNECTION) / ADMIN_PORTS) - ADMIN_SLACK;
  const maxAdminConnections = Math.max(LEAST_ADMIN_CONNECTIONS, Math.min(spare, MOST_ADMIN_CONNECTIONS));
  return { maxConnections, maxNetnsHandles, maxPipes, maxAdminConnections };
}
