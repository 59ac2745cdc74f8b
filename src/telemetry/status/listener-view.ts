// An additional listener as /status shows it: its complete status, and as many members as a person can read. Pure.
import type { ListenerStatus, MemberState, MemberStatus } from '../../control/desired/listener-status.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import type { Traffic, TrafficSource } from '../metrics/traffic.ts';
import { type ProbeView, probeView } from './probe-view.ts';

const MOST_MEMBERS = 100;

export interface MemberView extends Omit<MemberStatus, 'key'> {
  readonly lastProbe: ProbeView | null;
}

export interface MemberCounts {
  readonly members: number;
  readonly ready: number;
  readonly notReady: number;
  /** Members whose health does not count for the listener. */
  readonly ignored: number;
}

export interface ListenerView extends Omit<ListenerStatus, 'members'> {
  readonly connections: number;
  readonly traffic: Traffic;
  readonly counts: MemberCounts;
  /** At most a hundred. If there are more, members that are not ready come first. */
  readonly members: readonly MemberView[];
}

export function listenerView(
  { members, ...listener }: ListenerStatus,
  health: ReadonlyMap<string, TargetHealth>,
  connections: ReadonlyMap<string, number>,
  traffic: TrafficSource,
): ListenerView {
  const name = `${listener.namespace}/${listener.name}`;
  return {
    ...listener,
    connections: connections.get(name) ?? 0,
    traffic: { ...traffic.listener(name) },
    counts: memberCounts(members),
    members: shownMembers(members).map(({ key, ...member }) => ({
      ...member,
      lastProbe: probeView(key === null ? null : (health.get(key)?.lastProbe ?? null)),
    })),
  };
}

export function memberCounts(members: readonly MemberStatus[]): MemberCounts {
  const counts: Record<MemberState, number> = { Ready: 0, NotReady: 0, Ignored: 0 };
  for (const { state } of members) counts[state] += 1;
  return {
    members: members.length,
    ready: counts.Ready,
    notReady: counts.NotReady,
    ignored: counts.Ignored,
  };
}

function shownMembers(members: readonly MemberStatus[]): readonly MemberStatus[] {
  if (members.length <= MOST_MEMBERS) return members;
  const of = (wanted: MemberState) => members.filter(({ state }) => state === wanted);
  return [...of('NotReady'), ...of('Ready'), ...of('Ignored')].slice(0, MOST_MEMBERS);
}
