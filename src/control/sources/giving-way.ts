// Lets other work of the thread go on between the pieces of something long: heartbeats, verdicts and answers wait for it.
import { setImmediate as turn } from 'node:timers/promises';

const MAX_BLOCKING_MS = 8;

/** To be awaited after each piece; it costs nothing until enough time has passed. */
export function givingWay(): () => Promise<void> | undefined {
  let sinceMs = performance.now();
  return () => {
    if (performance.now() - sinceMs <= MAX_BLOCKING_MS) return undefined;
    return turn().then(() => {
      sinceMs = performance.now();
    });
  };
}
