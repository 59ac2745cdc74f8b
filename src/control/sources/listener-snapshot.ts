// What a source of additional listeners hands over: plain data, wherever it comes from.
import type { ListenerReading } from './additional-listener.ts';
import type { Problem } from './cluster-source.ts';
import type { MachineFacts } from './machine.ts';

export interface ListenerSnapshot {
  /** All listeners were read, and are heard: one that is not among them is not there. */
  readonly complete: boolean;
  /** Complete because the definition is not installed, as far as was heard at the last look: see `ABSENT_RETRY_MS`. */
  readonly kindAbsent?: boolean;
  /** Sorted by key. */
  readonly listeners: readonly ListenerReading[];
  /** Of all clusters; empty while there is no listener. */
  readonly machines: readonly MachineFacts[];
  /** They were listed once. */
  readonly machinesKnown: boolean;
  /** Why they cannot be read now; null while they can. */
  readonly machinesProblem: string | null;
  readonly problems: readonly Problem[];
}

/** Most sites have no listeners at all: that the definition is still not there is asked twice a minute. */
export const ABSENT_RETRY_MS = 30_000;

/** Where nobody has looked yet, or there is nowhere to look. */
export const NO_LISTENERS: ListenerSnapshot = Object.freeze({
  complete: false,
  listeners: Object.freeze([]),
  machines: Object.freeze([]),
  machinesKnown: false,
  machinesProblem: null,
  problems: Object.freeze([]),
});
