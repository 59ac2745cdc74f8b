// A deadline that is extended if our own event loop was blocked. Timers run before the poll phase, so after a blocked event loop
// a plain timeout would fire although the answer arrived in time and waits in the kernel.

/** At rest, timers are one or two milliseconds late. A longer delay means that the loop was blocked. */
const STALL_MS = 10;

/** Calls `expired` once, after `ms` plus the duration of a stall. Returns a function that cancels it. */
export function startDeadline(ms: number, expired: () => void): () => void {
  const dueMs = performance.now() + ms;
  let timer = setTimeout(() => {
    const lateMs = performance.now() - dueMs;
    if (lateMs <= STALL_MS) return expired();
    // Extends the deadline by the stall, but only once and by at most `ms`: a loop that is blocked again and again must
    // not extend it for ever.
    timer = setTimeout(expired, Math.min(lateMs, ms));
  }, ms);
  return () => clearTimeout(timer);
}
