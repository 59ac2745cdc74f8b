import { afterEach, describe, expect, test, vi } from 'vitest';
import { startDeadline } from './stall-proof-deadline.ts';

function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** Resolves after the timers that are due now and the poll phase that follows. */
const afterPoll = () => new Promise<void>((resolve) => setTimeout(() => setImmediate(resolve), 1));

describe('the deadline', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('expires once, in time', () => {
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

  test('does not expire after it is cancelled', () => {
    vi.useFakeTimers();
    const expired = vi.fn();
    startDeadline(1000, expired)();
    vi.advanceTimersByTime(10_000);
    expect(expired).not.toHaveBeenCalled();
  });

  test('is extended by the time of a blocked event loop, so waiting events are handled first', async () => {
    const expired = vi.fn();
    startDeadline(500, expired);
    block(700);
    await afterPoll();
    expect(expired).not.toHaveBeenCalled();
    await vi.waitFor(() => expect(expired).toHaveBeenCalledOnce(), { timeout: 30_000 });
  });

  test('can be cancelled during the extension', async () => {
    const expired = vi.fn();
    const cancel = startDeadline(500, expired);
    block(700);
    await afterPoll();
    cancel();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(expired).not.toHaveBeenCalled();
  });
});
