// Waits that an AbortSignal can end.
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after the time, or as soon as the signal aborts. */
export async function abortableSleep(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/** Rejects with the signal's reason when it aborts. For external work that may never end. */
export async function untilAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
