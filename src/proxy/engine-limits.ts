// The limits of the engine: some from flags, some from the budget of file descriptors, the others fixed.
import { MAX_HELLO_BYTES } from '../tls/client-hello.ts';
import type { EngineLimits } from './engine.ts';

export type EngineSettings = Pick<
  EngineLimits,
  'maxPendingDials' | 'helloTimeoutMs' | 'connectTimeoutMs' | 'deadPeerTimeoutMs'
>;
export type EngineBudget = Pick<EngineLimits, 'maxConnections' | 'maxNetnsHandles' | 'maxPipes'>;

/** Room for a PROXY protocol header before the hello. */
const PROXY_HEADER_ROOM = 4096;
const MAX_HELLO_MEMORY_BYTES = 64 * 1024 * 1024;
/** A healthy backend answers within milliseconds, so 16 concurrent dials allow thousands of connections per second. */
const RESERVED_DIALS_PER_BACKEND = 16;
/** One unresponsive backend can use at most this part of all pending dials. */
const DIAL_SHARE = 1 / 4;
const LINGER_MS = 1000;

export function engineLimits(settings: EngineSettings, budget: EngineBudget): EngineLimits {
  const { maxPendingDials, helloTimeoutMs, connectTimeoutMs, deadPeerTimeoutMs } = settings;
  const { maxConnections, maxNetnsHandles, maxPipes } = budget;
  return {
    maxConnections,
    maxNetnsHandles,
    maxPipes,
    maxPendingDials,
    maxPendingDialsPerBackend: Math.max(1, Math.floor(maxPendingDials * DIAL_SHARE)),
    reservedDialsPerBackend: RESERVED_DIALS_PER_BACKEND,
    helloTimeoutMs,
    maxHelloBytes: MAX_HELLO_BYTES + PROXY_HEADER_ROOM,
    maxHelloMemoryBytes: MAX_HELLO_MEMORY_BYTES,
    connectTimeoutMs,
    deadPeerTimeoutMs,
    lingerMs: LINGER_MS,
  };
}
