// Maps the addon's outcome numbers to names, and says what each outcome means. The order is that of native/engine/outcome.h.
import type { Outcome } from '../engine.ts';

export const OUTCOME_MEANINGS = {
  finished: 'both sides closed without an error',
  'client-reset': 'the client sent a reset or its socket failed, and the engine reset the backend side',
  'backend-reset': 'the backend sent a reset or its socket failed, and the engine reset the client side',
  'client-timeout': 'the client is dead: no acknowledgement within the dead-peer timeout, or no route to it',
  'backend-timeout':
    'the backend is dead: no acknowledgement within the dead-peer timeout, or no route to it',
  'alert-sent': 'the policy answered with a TLS alert',
  closed: 'the policy closed the connection without an alert',
  'client-left': 'the client disconnected before the decision or before a backend connected',
  'hello-timeout': 'the client sent no whole ClientHello within the hello timeout',
  'hello-too-large':
    'the client sent as many bytes as the engine keeps, and the ClientHello was still not whole',
  'evicted-hello':
    'evicted for another connection before its ClientHello was whole: all slots, file descriptors or hello memory were in use',
  'dial-failed': 'at least one backend was dialled, and none could be reached',
  'refused-connections':
    'rejected at once: the limit of connections was reached, and no connection could be evicted',
  'refused-descriptors':
    'rejected at once: the process or the system had no file descriptor or epoll watch left',
  'refused-dials': 'rejected: no backend was dialled, because the limits of pending dials were reached',
  'refused-hello-memory': 'rejected: all hello memory was in use, and no other hello could be evicted',
  'refused-share': 'rejected: the cluster or the additional listener reached its limit of connections',
  'refused-slots': 'rejected: the reserved slots of its group and all common slots were in use',
  'policy-error': 'the policy threw: a bug that ends only this connection',
  'drain-expired': 'reset at the end of the drain',
  stopped: 'reset because the engine was closed',
} as const satisfies Readonly<Record<Outcome, string>>;

/** By number. */
export const OUTCOMES = Object.keys(OUTCOME_MEANINGS) as readonly Outcome[];
