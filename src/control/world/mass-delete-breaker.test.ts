import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MASS_DELETE_LASTS_MS, massDelete } from './mass-delete-breaker.ts';

const ask = (ours: number, wouldGo: number, more: Partial<Parameters<typeof massDelete>[0]> = {}) =>
  massDelete({ ours, wouldGo, sinceMs: null, nowMs: 1000, allow: false, ...more });

describe('a turn', () => {
  test.each([
    ['that deletes nothing', 10, 0, false],
    ['that deletes one of many', 100, 1, false],
    ['that deletes three of three', 3, 3, false],
    ['that deletes four of four', 4, 4, true],
    ['that deletes four of seven', 7, 4, true],
    ['that deletes half', 8, 4, false],
    ['that deletes half of many', 1000, 500, false],
    ['that deletes one more than half', 1000, 501, true],
    ['that deletes more than there are', 0, 4, true],
  ])('%s (%i, %i) is stopped: %s', (_title, ours, wouldGo, trip) => {
    expect(ask(ours, wouldGo).trip).toBe(trip);
  });

  test('that is stopped reports how many objects it would delete, why it does not, and what would change that', () => {
    expect(ask(100, 90)).toEqual({
      trip: true,
      sinceMs: 1000,
      reason:
        '90 of our 100 objects would be deleted at once, so none is deleted: this is usually a mistake; the deletion continues ' +
        'after 5 minutes of the same state, or with --allow-mass-delete',
    });
  });

  test('deletes after the condition has lasted for five minutes', () => {
    const { sinceMs } = ask(100, 90);
    const later = (nowMs: number) => ask(100, 91, { sinceMs, nowMs });
    expect(later(1000 + MASS_DELETE_LASTS_MS - 1)).toMatchObject({ trip: true, sinceMs: 1000 });
    expect(later(1000 + MASS_DELETE_LASTS_MS)).toEqual({
      trip: false,
      sinceMs: 1000,
      reason: '91 of our 100 objects would be deleted at once: the state has persisted, so they are deleted',
    });
  });

  test('that deletes few objects again resets the waiting time', () => {
    expect(ask(100, 10, { sinceMs: 5 })).toEqual({ trip: false, reason: null, sinceMs: null });
  });

  test('deletes at once if that is allowed, and still reports it', () => {
    expect(ask(100, 90, { allow: true })).toEqual({
      trip: false,
      sinceMs: 1000,
      reason: '90 of our 100 objects would be deleted at once: --allow-mass-delete is given',
    });
  });

  test('waits for the configured time', () => {
    expect(ask(10, 10, { lastsMs: 60_000 }).reason).toContain('after 1 minute of');
    expect(ask(10, 10, { lastsMs: 90_000 }).reason).toContain('after 1.5 minutes of');
    expect(ask(10, 10, { lastsMs: 0 }).trip).toBe(false);
  });
});

test('a mass deletion happens only after the condition held without a break, for any number of questions', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(20), fc.nat(20), fc.nat(120_000)), { maxLength: 40 }), (turns) => {
      let nowMs = 0;
      let sinceMs: number | null = null;
      let heldSince: number | null = null;
      for (const [ours, wouldGo, passed] of turns) {
        nowMs += passed;
        const isMass = wouldGo > 3 && wouldGo > ours / 2;
        heldSince = isMass ? (heldSince ?? nowMs) : null;
        const answer = ask(ours, wouldGo, { sinceMs, nowMs });
        sinceMs = answer.sinceMs;
        expect(answer.trip).toBe(heldSince !== null && nowMs - heldSince < MASS_DELETE_LASTS_MS);
        expect(answer.reason === null).toBe(!isMass);
      }
    }),
  );
});
