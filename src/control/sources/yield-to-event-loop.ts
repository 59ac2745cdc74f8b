// Yields to the event loop between the steps of a long task, so heartbeats, verdicts and responses are not delayed.
import { setImmediate as turn } from 'node:timers/promises';

const MAX_BLOCKING_MS = 8;

/** Await the returned function after each step. It costs nothing until MAX_BLOCKING_MS have passed. */
export function eventLoopYielder(): () => Promise<void> | undefined {
  let sinceMs = performance.now();
  return () => {
    if (performance.now() - sinceMs <= MAX_BLOCKING_MS) return undefined;
    return turn().then(() => {
      sinceMs = performance.now();
    });
  };
}
