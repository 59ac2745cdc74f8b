// Decides whether this instance writes the status of a listener. The writer is the first live instance with a slice. Without slices,
// it is an instance with the netns, because such an instance probes the machines itself. Instances share only the API: the status
// names its last writer, which continues to write while it is live. Pure.
//
// When no live instance has a slice:
// | this instance sees                                | writer                                                                       |
// | close: its own backends (not ready, …)            | this instance, unless a live peer has reported this; staggered by rank       |
// | common: what all instances see (no members, …)    | the live instance that has reported its own backends, or the first live one  |
// | starting: too little, as after a start            | the same, after a wait if it replaces the report of another instance         |
// | blind: no netns                                   | the last writer or the first live one, after a wait for better reports       |

import type { ListenerStatus } from '../desired/listener-status.ts';
import { firstOf, isFirst, LISTENER_STATUS, turnAtMs } from '../instance/turn-order.ts';
import { listenerPublicationKey } from '../objects/listener-labels.ts';
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
/** How long this instance waits, so that instances with a better view write first. */
const AFTER_OTHERS: WriterTurn = { waitMs: 6000, claims: false };

/**
 * How long others wait for the instance that reported Serving to correct its report after its slice is deleted. A draining instance does
 * not correct it.
 */
const OUTDATED_MS = 1000;

/** Reasons of the condition Ready that, without a slice, only an instance with the netns can report. */
const SEEN_CLOSELY: ReadonlySet<string> = new Set(['NotPublished', 'Unhealthy']);

/** Returns null when another instance writes. `reason` is the reason that this instance would report for Ready. */
export function writerTurn(
  listener: ListenerStatus,
  reason: string,
  found: ListenerObject['status'],
  kube: KubeWorld,
): WriterTurn | null {
  const server = servingInstance(listener, kube);
  if (server !== null) return server === kube.self.instance ? AT_ONCE : null;
  return RULES[viewOf(listener)](lastReport(found, kube), reason, kube.peers);
}

/** The first live instance that has a slice of the listener; null: there is none. */
function servingInstance({ cluster, service }: ListenerStatus, { slices, peers }: KubeWorld): string | null {
  if (service === null) return null;
  const list = slices.ours.get(listenerPublicationKey(cluster, service)) ?? [];
  return firstOf(list.map(({ instance }) => instance).filter((instance) => peers.live.has(instance)));
}

/** The current status, and whether its report still counts. */
interface Report {
  /** none: there is no report yet. stale: the writer is dead, serves other clusters, or reported Serving, which is wrong without a slice. */
  readonly by: 'none' | 'this instance' | 'live peer' | 'stale';
  /** The reason of Ready. */
  readonly reason: string | null;
  /** The writer has probed the machines itself. */
  readonly isClose: boolean;
  /** The report says Serving, although no live instance has a slice. */
  readonly isOutdated: boolean;
}

function lastReport(found: ListenerObject['status'], { self, peers }: KubeWorld): Report {
  const reason = readyReason(found);
  const isOutdated = reason === 'Serving';
  const writer = typeof found?.observedBy === 'string' ? found.observedBy : null;
  const byOf = (): Report['by'] => {
    if (writer === null) return 'none';
    if (writer === self.instance) return 'this instance';
    return !isOutdated && peers.sameScope.has(writer) ? 'live peer' : 'stale';
  };
  return { by: byOf(), reason, isOutdated, isClose: reason !== null && SEEN_CLOSELY.has(reason) };
}

type Rule = (report: Report, reason: string, peers: KubeWorld['peers']) => WriterTurn | null;

/** One rule for each view of this instance, for a listener without a slice. */
const RULES: Readonly<Record<View, Rule>> = {
  close: ({ by, reason: lastReason, isClose, isOutdated }, reason, { rank }) => {
    if (by === 'this instance') return AT_ONCE;
    if (by === 'live peer' && (isClose || lastReason === reason)) return null;
    return {
      waitMs: turnAtMs(LISTENER_STATUS, rank, isOutdated ? OUTDATED_MS : 0),
      claims: by === 'stale',
    };
  },
  common: (report, _reason, peers) => (isReporter(report, peers) ? AT_ONCE : null),
  starting: (report, _reason, peers) => {
    if (!isReporter(report, peers)) return null;
    const replacesReport = report.by === 'live peer' || report.isOutdated;
    return isFirst(peers) && !replacesReport ? AT_ONCE : AFTER_OTHERS;
  },
  blind: ({ by }, _reason, peers) => {
    const isWriter = by === 'this instance' || (by !== 'live peer' && isFirst(peers));
    return isWriter ? AFTER_OTHERS : null;
  },
};

/**
 * Whether this instance writes a status that other instances can see as well. A live writer that has probed the machines itself
 * stays the writer. Otherwise two instances with different views would overwrite each other repeatedly.
 */
function isReporter({ by, isClose }: Report, peers: KubeWorld['peers']): boolean {
  if (isClose && by === 'this instance') return true;
  if (isClose && by === 'live peer') return false;
  return isFirst(peers);
}

/** How much this instance sees of a listener. The table at the top of this file has one row for each. */
type View = 'close' | 'common' | 'starting' | 'blind';

function viewOf({ state, members }: ListenerStatus): View {
  switch (state) {
    case 'serving':
    case 'unhealthy':
      return 'close';
    case 'no-netns':
      return 'blind';
    case 'pending':
      // With a netns, `pending` means that only the port is missing: a close view. Without one, the machines are not
      // known yet, as after a start.
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
