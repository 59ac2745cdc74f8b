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

  describe('during the extension', () => {
    /** A deadline of 500 ms whose timer fired 200 ms late. */
    function extended(expired: () => void): () => void {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
      const cancel = startDeadline(500, expired);
      clock.mockReturnValue(700);
      vi.advanceTimersByTime(500);
      clock.mockRestore();
      return cancel;
    }

    test('it expires after the duration of the stall', () => {
      const expired = vi.fn();
      extended(expired);
      vi.advanceTimersByTime(199);
      expect(expired).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(expired).toHaveBeenCalledOnce();
    });

    test('it can be cancelled', () => {
      const expired = vi.fn();
      extended(expired)();
      vi.advanceTimersByTime(10_000);
      expect(expired).not.toHaveBeenCalled();
    });
  });
});
