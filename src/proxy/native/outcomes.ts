// Maps the addon's outcome numbers to names. The order is that of native/engine/outcome.h.
import type { Outcome } from '../engine.ts';

export const OUTCOMES = [
  'finished',
  'client-reset',
  'backend-reset',
  'client-timeout',
  'backend-timeout',
  'alert-sent',
  'closed',
  'client-left',
  'hello-timeout',
  'hello-too-large',
  'evicted-hello',
  'dial-failed',
  'refused-connections',
  'refused-descriptors',
  'refused-dials',
  'refused-hello-memory',
  'refused-share',
  'refused-slots',
  'policy-error',
  'drain-expired',
  'stopped',
] as const satisfies readonly Outcome[];

/** Fails to compile when an outcome has no number. */
type Missing = Exclude<Outcome, (typeof OUTCOMES)[number]>;
const none: Missing[] = [];
void none;
