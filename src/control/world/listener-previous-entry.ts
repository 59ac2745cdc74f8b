// The previous entry point of a listener after an edit of its protocol: its own port, or its server names on the shared port. Clients
// may still use it until our slice names the new entry point and all nodes have had time to see that. It stays open for that long. Pure.

import type { ListenerDefinition } from '../sources/additional-listener.ts';
import { type SliceUse, sinceLastSlice } from './last-slice.ts';

export interface PreviousEntry {
  readonly protocol: ListenerDefinition['protocol'];
  /** Since when no slice of this instance sends clients there (monotonic). While a slice does, this is the current time. */
  readonly sinceMs: number;
}

/** By listener key. */
type Protocols = ReadonlyMap<string, ListenerDefinition['protocol']>;

export function previousEntries(
  now: Protocols,
  before: Protocols,
  known: ReadonlyMap<string, PreviousEntry>,
  use: SliceUse | null,
): ReadonlyMap<string, PreviousEntry> {
  const entries = new Map<string, PreviousEntry>();
  if (use === null) return entries;
  const { nowMs } = use.kube;
  for (const [key, protocol] of now) {
    const was = before.get(key);
    if (was !== undefined && was !== protocol) {
      entries.set(key, { protocol: was, sinceMs: nowMs });
      continue;
    }
    const entry = known.get(key);
    if (entry === undefined) continue;
    const sinceMs = sinceLastSlice(entry.sinceMs, leadsTo(key, entry.protocol, use), use);
    if (sinceMs !== null) entries.set(key, { ...entry, sinceMs });
  }
  return entries;
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
