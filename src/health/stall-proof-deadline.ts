// A deadline that does not blame others for our own stalls. Timers run before the poll phase: after a blocked event loop the
// timeout would fire while the answer, which came in time, still waits in the kernel.

/** Timers are late by a millisecond or two at rest; later than this the loop was blocked. */
const STALL_MS = 10;

/** Calls `expired` once, after `ms` in which we could have listened. Returns how to call it off. */
export function startDeadline(ms: number, expired: () => void): () => void {
  const dueMs = performance.now() + ms;
  let timer = setTimeout(() => {
    const lateMs = performance.now() - dueMs;
    if (lateMs <= STALL_MS) return expired();
    // What the stall took is given back, once, and never more than was asked for: a loop that is always blocked is no excuse.
    timer = setTimeout(expired, Math.min(lateMs, ms));
  }, ms);
  return () => clearTimeout(timer);
}
