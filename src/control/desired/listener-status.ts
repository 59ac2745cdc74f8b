// The status of one additional listener for the status page, metrics and log. It is part of the desired state, like a cluster's status.

/** `Ignored`: a machine of the next or the previous rollout. It is probed, but gets no clients and never counts as unhealthy. */
export type MemberState = 'Ready' | 'NotReady' | 'Ignored';

export interface MemberStatus {
  readonly machine: string;
  /** Key of its backend; null if the machine has no address that this host can dial. */
  readonly key: string | null;
  readonly address: string | null;
  readonly netns: string | null;
  readonly state: MemberState;
  /** The member passes its checks. For an `Ignored` member it is only information. */
  readonly up: boolean;
  readonly reason: string;
}

export function memberCounts(members: readonly MemberStatus[]): Readonly<Record<MemberState, number>> {
  const counts = { Ready: 0, NotReady: 0, Ignored: 0 };
  for (const { state } of members) counts[state] += 1;
  return counts;
}

/** `serving`: clients reach a member. `pending`: a prerequisite is missing. `invalid`: an operator must edit the listener. */
export type ListenerState = 'serving' | 'unhealthy' | 'no-members' | 'no-netns' | 'pending' | 'invalid';

export interface ListenerStatus {
  readonly name: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly protocol: 'TCP' | 'TLS';
  /** Port of its Service. */
  readonly port: number;
  readonly targetPort: number;
  /** Name of its Service; null while the listener may not have one. */
  readonly service: string | null;
  /** Its own port on this instance; null until it is open, and for TLS, which shares the port of the clusters. */
  readonly listenPort: number | null;
  readonly serverNames: readonly string[];
  readonly state: ListenerState;
  /** Single probes do not change it. The exception is `serving`, where it counts the members that answer. */
  readonly reason: string;
  /** May change with every probe. It is shown with the reason; a new detail alone causes no log line and no Event. */
  readonly detail: string | null;
  /** Why its Service does not have its plain name. Absent if the Service has that name, or if no Service could have it. */
  readonly nameConflict?: string;
  /** Sorted by machine. */
  readonly members: readonly MemberStatus[];
}

export const conditionText = ({ reason, detail }: Pick<ListenerStatus, 'reason' | 'detail'>): string =>
  detail === null ? reason : `${reason}: ${detail}`;
