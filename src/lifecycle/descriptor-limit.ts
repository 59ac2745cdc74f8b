// Divides this process's file descriptors between connections, netns handles, pipes and the admin ports. The division is fixed at
// the start, so a shortage shows before there is load.
import { readFileSync } from 'node:fs';
import type { Log } from '../telemetry/log/log-fields.ts';

/** The soft limit (Node raises it to the hard limit when it starts); Infinity if there is no limit. */
export function descriptorLimit(limits: string = readFileSync('/proc/self/limits', 'utf8')): number {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

export interface DescriptorBudget {
  readonly maxConnections: number;
  readonly maxNetnsHandles: number;
  /** Pipes for splice(2), two descriptors each. A connection without a pipe copies its bytes. */
  readonly maxPipes: number;
  /** For the admin port and the health port, each. Comes from what remains: a flood there takes no descriptors from clients. */
  readonly maxAdminConnections: number;
}

const LEAST_ADMIN_CONNECTIONS = 128;
const MOST_ADMIN_CONNECTIONS = 1024;
const ADMIN_PORTS = 2;
/** A port can exceed its limit briefly by this many (SLACK in src/telemetry/admin/connection-guard.ts). */
const ADMIN_SLACK = 64;
const OTHERS = 128; // the program itself, its listeners, the admin port, open files
const DESCRIPTORS_PER_CONNECTION = 2;
const DESCRIPTORS_PER_PIPE = 2;

/** Probes, handles and pipes get a share that grows with the limit, up to a useful maximum. Connections get the rest. */
export function descriptorBudget(limit: number, wantedConnections: number): DescriptorBudget {
  const share = (part: number, least: number, most: number) =>
    Math.min(most, Math.max(least, Math.floor(limit / part)));
  const probes = share(8, 32, 464); // for API servers, their further ways and machines (probesAtOnce in health/health-groups.ts)
  const maxNetnsHandles = share(16, 16, 1024);
  // The maximum of 192 lets 9000 connections and everything else fit into 20 000 descriptors.
  const maxPipes = share(32, 8, 192);
  const left = limit - OTHERS - probes - maxNetnsHandles - maxPipes * DESCRIPTORS_PER_PIPE;
  const possible = Math.max(1, Math.floor(left / DESCRIPTORS_PER_CONNECTION));
  const maxConnections = Math.min(wantedConnections, possible);
  const spare = Math.floor((left - maxConnections * DESCRIPTORS_PER_CONNECTION) / ADMIN_PORTS) - ADMIN_SLACK;
  const maxAdminConnections = Math.max(LEAST_ADMIN_CONNECTIONS, Math.min(spare, MOST_ADMIN_CONNECTIONS));
  return { maxConnections, maxNetnsHandles, maxPipes, maxAdminConnections };
}

/** The budget of this process. Logs it, as a warning if it allows fewer connections than wanted. */
export function ownDescriptorBudget(wanted: number, log: Log): DescriptorBudget {
  const descriptors = descriptorLimit();
  const budget = descriptorBudget(descriptors, wanted);
  const facts = { ...budget, wanted, descriptors };
  const message =
    'the limit on open files allows fewer connections than --max-connections (raise LimitNOFILE or ulimit -n)';
  if (budget.maxConnections < wanted) log('warn', facts, message);
  else log('info', facts, 'limits');
  return budget;
}
