// What status, metrics and log say about one additional listener. Part of the desired state, as a cluster's is.

/** `Ignored`: the next generation, or the last one: probed in advance, never sent anybody, never counted as unhealthy. */
export type MemberState = 'Ready' | 'NotReady' | 'Ignored';

export interface MemberStatus {
  readonly machine: string;
  /** Of its backend; null where the machine has no address that can be dialled from here. */
  readonly key: string | null;
  readonly address: string | null;
  readonly netns: string | null;
  readonly state: MemberState;
  /** Passes its checks; for `Ignored` too, where it decides nothing. */
  readonly up: boolean;
  readonly reason: string;
}

export function memberCounts(members: readonly MemberStatus[]): Readonly<Record<MemberState, number>> {
  const counts = { Ready: 0, NotReady: 0, Ignored: 0 };
  for (const { state } of members) counts[state] += 1;
  return counts;
}

/** `serving`: somebody is sent to a member. `pending`: something that it needs is not there yet. `invalid`: it must be edited. */
export type ListenerState = 'serving' | 'unhealthy' | 'no-members' | 'no-netns' | 'pending' | 'invalid';

export interface ListenerStatus {
  readonly name: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly protocol: 'TCP' | 'TLS';
  /** Of its Service. */
  readonly port: number;
  readonly targetPort: number;
  /** Of its Service; null until it may have one. */
  readonly service: string | null;
  /** On this instance: its own port, or for TLS null, since it shares that of the clusters. */
  readonly listenPort: number | null;
  readonly serverNames: readonly string[];
  readonly state: ListenerState;
  /** The same until somebody does something about it, but for `serving`, where it counts who answers. */
  readonly reason: string;
  /** What any probe may change: shown with the reason, never compared. */
  readonly detail: string | null;
  /** Why its Service does not have its plain name; absent: it has, or no Service could. */
  readonly nameConflict?: string;
  /** Sorted by machine, then address. */
  readonly members: readonly MemberStatus[];
}

export const standingText = ({ reason, detail }: Pick<ListenerStatus, 'reason' | 'detail'>): string =>
  detail === null ? reason : `${reason}: ${detail}`;
