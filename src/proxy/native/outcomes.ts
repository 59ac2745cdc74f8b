// Maps the addon's outcome numbers to names, and says what each outcome means. The order is that of native/engine/outcome.h.
import type { Outcome } from '../engine.ts';

export const OUTCOME_MEANINGS = {
  finished: 'both sides closed in order',
  'client-reset': 'the client sent a reset, and the engine reset the backend side',
  'backend-reset': 'the backend sent a reset, and the engine reset the client side',
  'client-timeout': 'the client is dead: no acknowledgement within the dead-peer timeout',
  'backend-timeout': 'the backend is dead: no acknowledgement within the dead-peer timeout',
  'alert-sent': 'the policy answered with a TLS alert',
  closed: 'the policy closed the connection without an alert',
  'client-left': 'the client disconnected before the decision or before a backend connected',
  'hello-timeout': 'the client sent no whole ClientHello within the hello timeout',
  'hello-too-large': 'the ClientHello is longer than the engine accepts',
  'evicted-hello': 'evicted for a new connection because all slots, or all hello memory, were in use',
  'dial-failed': 'no candidate was reachable',
  'refused-connections': 'rejected at once: the limit of connections was reached',
  'refused-descriptors': 'rejected at once: no file descriptor was free',
  'refused-dials': 'rejected: the limit of pending dials was reached',
  'refused-hello-memory': 'rejected: the memory for hellos was in use',
  'refused-share': 'rejected: the cluster or the additional listener reached its limit of connections',
  'refused-slots': 'rejected: the reserved slots of its group and all common slots were in use',
  'policy-error': 'the policy threw: a bug that ends only this connection',
  'drain-expired': 'reset at the end of the drain',
  stopped: 'reset because the engine was closed',
} as const satisfies Readonly<Record<Outcome, string>>;

/** By number. */
export const OUTCOMES = Object.keys(OUTCOME_MEANINGS) as readonly Outcome[];
