// Selects the instance that writes the status of a listener: the first live one with a slice, otherwise one with the netns, because it
// sees more. Instances share only the API. The status names its last writer, which continues to write while it is live. Pure.
//
// When no live instance has a slice:
// | this instance sees                       | writer                                                                       |
// | its own backends (not ready, …)          | this instance, unless a live peer has reported this; staggered by rank       |
// | what all instances see (no members, …)   | the live instance that has reported its own backends, or the first live one  |
// | too little, as after a start             | the same, after a wait if it replaces the report of another instance         |
// | no netns                                 | the last writer or the first live one, after a wait for better reports       |

import type { ListenerStatus } from '../desired/listener-status.ts';
import { firstOf, isFirst, LISTENER_STATUS, turnAtMs } from '../instance/turn-order.ts';
import { listenerPublicationKey } from '../objects/listener-labels.ts';
import type { SliceIndex } from '../objects/slice-index.ts';
import type { ListenerObject } from '../sources/additional-listener.ts';
import { isRecord } from '../sources/manifest-fields.ts';
import type { KubeWorld } from '../world/kube-world.ts';

export interface WriterTurn {
  /** How long the difference must exist before this instance writes. */
  readonly waitMs: number;
  /** Write even if only `observedBy` changes: peers ignore a report whose writer is dead. */
  readonly claims: boolean;
}

const AT_ONCE: WriterTurn = { waitMs: 0, claims: false };
/** Time for instances with a better view to write first. */
const FALLBACK_MS = 6000;

/** Time for the instance that reported Serving to correct its report after its slice is gone. A draining instance does not correct it. */
const OUTDATED_MS = 1000;

/** Reasons of Ready that, without a slice, only an instance with the netns can report. */
const SEEN_CLOSELY: ReadonlySet<string> = new Set(['NotPublished', 'Unhealthy']);

/** Returns null when another instance writes. `reason` is the reason that this instance would report for Ready. */
export function writerTurn(
  listener: ListenerStatus,
  reason: string,
  found: ListenerObject['status'],
  slices: SliceIndex,
  { self, peers }: KubeWorld,
): WriterTurn | null {
  const { cluster, service } = listener;
  const list = service === null ? [] : (slices.ours.get(listenerPublicationKey(cluster, service)) ?? []);
  const server = firstOf(list.map(({ instance }) => instance).filter((instance) => peers.live.has(instance)));
  if (server !== null) return server === self.instance ? AT_ONCE : null;

  const writer = typeof found?.observedBy === 'string' ? found.observedBy : null;
  const isMine = writer === self.instance;
  const isOurTurn = isFirst(peers);
  const told = readyReason(found);
  const isOutdated = told === 'Serving';
  const other = writer !== null && !isMine && !isOutdated && peers.sameScope.has(writer);
  const isClose = told !== null && SEEN_CLOSELY.has(told);
  // Otherwise two instances with different views would overwrite each other repeatedly.
  const isWordMine = isClose && (isMine || other) ? isMine : isOurTurn;
  switch (viewOf(listener)) {
    case 'close': {
      if (other && (isClose || told === reason)) return null;
      const turnMs = turnAtMs(LISTENER_STATUS, peers.rank, isOutdated ? OUTDATED_MS : 0);
      const waitMs = isMine ? 0 : turnMs;
      return { waitMs, claims: writer !== null && !isMine && !other };
    }
    case 'blind':
      return isMine || (isOurTurn && !other) ? { waitMs: FALLBACK_MS, claims: false } : null;
    case 'starting':
      return isWordMine
        ? { waitMs: isOurTurn && !other && !isOutdated ? 0 : FALLBACK_MS, claims: false }
        : null;
    case 'common':
      return isWordMine ? AT_ONCE : null;
  }
}

function viewOf({ state, members }: ListenerStatus): 'close' | 'blind' | 'starting' | 'common' {
  switch (state) {
    case 'serving':
    case 'unhealthy':
      return 'close';
    case 'no-netns':
      return 'blind';
    case 'pending':
      // Pending without a port is a close view. Without known machines, as after a start, it is not.
      return members.some(({ netns }) => netns !== null) ? 'close' : 'starting';
    case 'no-members':
    case 'invalid':
      return 'common';
  }
}

function readyReason(status: ListenerObject['status']): string | null {
  const conditions = Array.isArray(status?.conditions) ? status.conditions.filter(isRecord) : [];
  const reason = conditions.find(({ type }) => type === 'Ready')?.reason;
  return typeof reason === 'string' ? reason : null;
}
