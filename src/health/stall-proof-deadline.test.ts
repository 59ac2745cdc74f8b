import { afterEach, describe, expect, it, vi } from 'vitest';
import { startDeadline } from './stall-proof-deadline.ts';

function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** Until the timers that are due now have run, and the poll phase after them. */
const afterPoll = () => new Promise<void>((resolve) => setTimeout(() => setImmediate(resolve), 1));

describe('the deadline', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('expires once, in time', () => {
    vi.useFakeTimers();
    const expired = vi.fn();
    startDeadline(1000, expired);
    vi.advanceTimersByTime(999);
    expect(expired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(expired).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(10_000);
    expect(expired).toHaveBeenCalledOnce();
  });

  it('does not expire when called off', () => {
    vi.useFakeTimers();
    const expired = vi.fn();
    startDeadline(1000, expired)();
    vi.advanceTimersByTime(10_000);
    expect(expired).not.toHaveBeenCalled();
  });

  it('gives back what a blocked event loop took, so that waiting events are heard first', async () => {
    const expired = vi.fn();
    startDeadline(500, expired);
    block(700);
    await afterPoll();
    expect(expired).not.toHaveBeenCalled();
    await vi.waitFor(() => expect(expired).toHaveBeenCalledOnce(), { timeout: 30_000 });
  });

  it('can be called off in the time that was given back', async () => {
    const expired = vi.fn();
    const cancel = startDeadline(500, expired);
    block(700);
    await afterPoll();
    cancel();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(expired).not.toHaveBeenCalled();
  });
});
