// The previous entry point of a listener after an edit of its protocol: its own port, or its server names on the shared port. Clients
// may still use it until our slice names the new entry point and all nodes have had time to see that. Until then it stays open. Pure.

import type { ListenerDefinition } from '../sources/additional-listener.ts';
import { type Departure, type Departures, departures, type SliceUse } from './last-slice.ts';

export interface PreviousEntry extends Departure {
  readonly protocol: ListenerDefinition['protocol'];
}

/** By listener key. */
type Protocols = ReadonlyMap<string, ListenerDefinition['protocol']>;

export function previousEntries(
  now: Protocols,
  before: Protocols,
  known: Departures<PreviousEntry>,
  use: SliceUse | null,
): Departures<PreviousEntry> {
  const leaving = new Map<string, PreviousEntry>();
  const left = new Map<string, PreviousEntry>();
  if (use === null) return leaving;
  for (const [key, protocol] of now) {
    const was = before.get(key);
    const entry = known.get(key);
    if (was !== undefined && was !== protocol) leaving.set(key, { protocol: was, sinceMs: use.kube.nowMs });
    else if (entry !== undefined) left.set(key, entry);
  }
  return departures(leaving, left, (key, entry) => leadsTo(key, entry.protocol, use), use);
}

/**
 * Whether a slice of this instance still sends clients to this entry point. True if unknown: an entry point that
 * stays a little longer does no harm.
 */
function leadsTo(
  key: string,
  protocol: ListenerDefinition['protocol'],
  { ownSlices, kube }: SliceUse,
): boolean {
  const { endpoint } = kube.self;
  return ownSlices.some(({ listener, object }) => {
    if (listener !== key) return false;
    if ('reason' in endpoint) return true;
    const isShared = object.ports?.[0]?.port === endpoint.port;
    return isShared === (protocol === 'TLS');
  });
}
