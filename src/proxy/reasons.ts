// The reasons that policies and limits give for the end of a connection, each with its meaning. They appear in logs and metrics: a
// reason may be added, but never renamed or given another meaning. For a connection without such a reason, logs and metrics show its
// outcome or an error code instead.
import type { InvalidHelloReason } from '../tls/invalid-hello-reason.ts';
import type { ProxyHeaderProblem } from './proxy-protocol.ts';

export const ROUTING_REASONS = {
  'unknown-server-name': 'no cluster and no listener has the server name of the client',
  'no-server-name': 'the client sent no server name, and `--default-cluster` is not set',
  'no-healthy-backend':
    'the cluster or the listener is known, and none of its backends is healthy from this node',
  'source-not-allowed': 'the address of the client is outside `allowedCIDRs` of the listener',
} as const;

/** Reasons that are more precise than the outcome. */
export const FAILURE_REASONS = {
  'cluster-connections': 'the cluster has as many connections as `--max-connections-per-cluster` allows',
  'listener-connections':
    'the additional listener has as many connections as `--max-connections-per-cluster` allows',
  'no-candidate': 'no backend was left to dial',
} as const;

/** Why a policy rejected a connection. */
export type Refusal =
  | keyof typeof ROUTING_REASONS
  | InvalidHelloReason
  | `proxy-header-${ProxyHeaderProblem}`;
export type FailureReason = keyof typeof FAILURE_REASONS;
