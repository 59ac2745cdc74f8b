// Counts, since the start, the clients that this instance refused, evicted or aborted because a shared resource ran out.
import type { ConnectionEnding } from '../../proxy/connection-record.ts';

/** By outcome, or by reason if the outcome is `dial-failed`: what happened, and which limit was the cause. */
const CAUSES = {
  'evicted-hello': 'clients without a complete ClientHello were evicted: all --max-connections were in use',
  'refused-connections':
    'clients were rejected at once: all --max-connections were in use by routed connections',
  'refused-slots':
    'clients were rejected: their cluster used its whole reserve, and all common slots of --max-connections were in use',
  'refused-share':
    'clients were rejected: their cluster or listener had reached --max-connections-per-cluster',
  'refused-dials':
    'clients were rejected: --max-pending-dials was reached, or one backend had a quarter of them',
  'refused-hello-memory':
    'clients were rejected: long ClientHellos of other clients used all memory for hellos',
  EBACKENDDOWN: 'clients that waited for a backend were rejected as soon as its health checks failed',
  'evicted-health': 'connections to the health port were evicted: the port was full',
  'evicted-admin': 'connections to the admin port were evicted: the port was full',
} as const;

export type PressureCause = keyof typeof CAUSES;
/** Contains only causes that occurred. */
export type PressureCounts = Readonly<Partial<Record<PressureCause, number>>>;

export class PressureTally {
  readonly #counts = new Map<PressureCause, number>();

  add({ outcome, reason }: Pick<ConnectionEnding, 'outcome' | 'reason'>): void {
    const cause = outcome === 'dial-failed' ? reason : outcome;
    if (isCause(cause)) this.#count(cause, 1);
  }

  adminConnectionsEvicted(port: 'admin' | 'health', count: number): void {
    this.#count(`evicted-${port}`, count);
  }

  #count(cause: PressureCause, count: number): void {
    this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + count);
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
