// Counts, since the start, the clients that this instance refused, evicted or aborted because a shared resource ran out.
import type { ConnectionEnding } from '../../proxy/connection-record.ts';

/** By outcome, or by reason if the outcome is `dial-failed`: what happened, and which limit was the cause. */
const CAUSES = {
  'evicted-hello':
    'clients that had sent no whole ClientHello made way for others: all --max-connections were taken',
  'refused-connections': 'clients were refused at once: all --max-connections were routed',
  'refused-slots':
    'clients were refused: their cluster had its reserve, and others had all common slots of --max-connections',
  'refused-share': 'clients were refused: their cluster or listener had its --max-connections-per-cluster',
  'refused-dials':
    'clients were refused: --max-pending-dials, or a quarter of them to one backend, were waiting',
  'refused-hello-memory': 'clients were refused: long hellos of others held the memory for them',
  EBACKENDDOWN:
    'clients that waited for a backend were told that it is down as soon as its health checks said so',
} as const;

export type PressureCause = keyof typeof CAUSES;
/** Contains only causes that occurred. */
export type PressureCounts = Readonly<Partial<Record<PressureCause, number>>>;

export class PressureTally {
  readonly #counts = new Map<PressureCause, number>();

  add({ outcome, reason }: Pick<ConnectionEnding, 'outcome' | 'reason'>): void {
    const cause = outcome === 'dial-failed' ? reason : outcome;
    if (isCause(cause)) this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + 1);
  }

  get counts(): PressureCounts {
    return Object.fromEntries(this.#counts);
  }
}

/** One sentence per cause. */
export function pressureNotes(counts: PressureCounts, startedAt: string): string[] {
  return Object.entries(counts).map(
    ([cause, count]) => `${count} since ${startedAt} (${cause}): ${CAUSES[cause as PressureCause]}`,
  );
}

const isCause = (word: string): word is PressureCause => Object.hasOwn(CAUSES, word);
