// The plain data that a source of additional listeners returns.

import type { Problem } from '../objects/problem.ts';
import type { ListenerReading } from './additional-listener.ts';
import type { MachineFacts } from './machine.ts';

export interface ListenerSnapshot {
  /** All listeners were read and the watch works: a listener that is missing here does not exist. */
  readonly complete: boolean;
  /** True if the CustomResourceDefinition was not installed at the last check (see `ABSENT_RETRY_MS`). The snapshot is complete then. */
  readonly kindAbsent?: boolean;
  /** Sorted by key. */
  readonly listeners: readonly ListenerReading[];
  /** The machines of all clusters; empty while there is no listener. */
  readonly machines: readonly MachineFacts[];
  /** The machines were listed at least once. */
  readonly machinesKnown: boolean;
  /** Why the machines are unreadable now; null if they are readable. */
  readonly machinesProblem: string | null;
  readonly problems: readonly Problem[];
}

/** How often to check for a CustomResourceDefinition that is not installed. Most sites have no listeners. */
export const ABSENT_RETRY_MS = 30_000;

/** The snapshot before the first read, or without a source of listeners. */
export const NO_LISTENERS: ListenerSnapshot = Object.freeze({
  complete: false,
  listeners: Object.freeze([]),
  machines: Object.freeze([]),
  machinesKnown: false,
  machinesProblem: null,
  problems: Object.freeze([]),
});
