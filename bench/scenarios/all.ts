// Lists all scenarios in the order in which they run.
import { baselineMemory } from './baseline-memory.ts';
import { bulk } from './bulk.ts';
import { bulkMtu } from './bulk-mtu.ts';
import { churn } from './churn.ts';
import { cpu } from './cpu.ts';
import { idleMemory } from './idle-memory.ts';
import { latency } from './latency.ts';
import { namespaces } from './namespaces.ts';
import { newConnections } from './new-connections.ts';
import { postQuantum } from './post-quantum.ts';
import { requests } from './requests.ts';
import { routes1000 } from './routes-1000.ts';
import type { Scenario } from './scenario.ts';
import { threads2 } from './threads-2.ts';

/** `correctness` is not in this list, because it always runs first. */
export const SCENARIOS: readonly Scenario[] = [
  newConnections,
  postQuantum,
  latency,
  requests,
  bulk,
  cpu,
  churn,
  idleMemory,
  baselineMemory,
  bulkMtu,
  routes1000,
  namespaces,
  threads2,
];
