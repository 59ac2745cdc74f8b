// Which instance writes the status of a listener: one that clients are sent to, or else one that has the netns and so knows more than that
// it has none. Instances share nothing but the API: who wrote it last is in the status itself, and goes on with it while it lives. Pure.
//
// Where nobody has a slice:
// | what this instance sees                  | writes                                                                       |
// | something of its own (not ready, …)      | if no living other one has told such a thing; the first by name a bit sooner |
// | what all see alike (no members, invalid) | a living one that has told such a thing, or else the first of the living     |
// | too little, as after a start             | the same, and to speak for another it waits a while                          |
// | that it has no netns                     | who wrote last, or the first of the living, when nobody else did for a while |

import type { ListenerStatus } from '../desired/listener-status.ts';
import { listenerPublicationKey } from '../objects/listener-marks.ts';
import type { SliceIndex } from '../objects/slice-index.ts';
import type { ListenerObject } from '../sources/additional-listener.ts';
import { isRecord } from '../sources/manifest-fields.ts';
import type { KubeWorld } from '../world/kube-world.ts';

export interface WriterTurn {
  /** After it has been different for so long. */
  readonly waitMs: number;
  /** Also if nothing but the writer would change: the last one is no more, and others would take its word for a dead one's. */
  readonly claims: boolean;
}

const AT_ONCE: WriterTurn = { waitMs: 0, claims: false };
/** So long those who may know more have to say so. */
const FALLBACK_MS = 6000;
/** Between two who both have the netns. */
const STAGGER_MS = 200;
const MAX_STAGGER_MS = 4000;

/** So long who said that it serves has to say what is so now that nobody does. While it drains it says nothing any more. */
const OUTDATED_MS = 1000;

/** Reasons of Ready that only an instance with the netns can have, where nobody has a slice. */
const SEEN_CLOSELY: ReadonlySet<string> = new Set(['NotPublished', 'Unhealthy']);

/** null: it is another's. `reason` is the one that this instance would give for Ready. */
export function writerTurn(
  listener: ListenerStatus,
  reason: string,
  found: ListenerObject['status'],
  slices: SliceIndex,
  { self, peers }: KubeWorld,
): WriterTurn | null {
  const { cluster, service } = listener;
  const list = service === null ? [] : (slices.ours.get(listenerPublicationKey(cluster, service)) ?? []);
  const server = list.find(({ instance }) => peers.live.has(instance));
  if (server !== undefined) return server.instance === self.instance ? AT_ONCE : null;

  const writer = typeof found?.observedBy === 'string' ? found.observedBy : null;
  const isMine = writer === self.instance;
  const isFirst = peers.rank === 0;
  const told = readyReason(found);
  const isOutdated = told === 'Serving';
  const other = writer !== null && !isMine && !isOutdated && peers.fellows.has(writer);
  const isClose = told !== null && SEEN_CLOSELY.has(told);
  // Two that see different things for long would otherwise contradict each other for as long.
  const isWordMine = isClose && (isMine || other) ? isMine : isFirst;
  switch (viewOf(listener)) {
    case 'close': {
      if (other && (isClose || told === reason)) return null;
      const turnMs = Math.min(peers.rank * STAGGER_MS, MAX_STAGGER_MS) + (isOutdated ? OUTDATED_MS : 0);
      const waitMs = isMine ? 0 : turnMs;
      return { waitMs, claims: writer !== null && !isMine && !other };
    }
    case 'blind':
      return isMine || (isFirst && !other) ? { waitMs: FALLBACK_MS, claims: false } : null;
    case 'starting':
      return isWordMine
        ? { waitMs: isFirst && !other && !isOutdated ? 0 : FALLBACK_MS, claims: false }
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
      // Without a port, or before it knows the machines, as after a start.
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
