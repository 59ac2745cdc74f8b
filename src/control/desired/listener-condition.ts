// The state of an additional listener and its explanation for an operator. Except for `serving`, single probes do not change the reason.
// The detail (how many members answer, and which do not) may change with every probe. A new detail alone causes no log line and no Event.
// Pure.
import type { PortOutcome } from '../../routing/route-table.ts';
import type { ListenerDefinition } from '../sources/additional-listener.ts';
import type { NetnsIndex } from '../world/netns-index.ts';
import type { World } from '../world/world.ts';
import { conditionText, type ListenerStatus, memberCounts } from './listener-status.ts';
import type { PoolMember } from './pool-members.ts';

export type ListenerCondition = Pick<ListenerStatus, 'state' | 'reason' | 'detail'>;

export interface ListenerFacts {
  readonly definition: ListenerDefinition;
  readonly members: readonly PoolMember[];
  readonly networkId: string | null;
  readonly netnsCount: number;
  readonly isReady: boolean;
  readonly outcome: PortOutcome | null;
  readonly world: World;
  readonly index: NetnsIndex;
}

export function listenerCondition(problems: readonly string[], facts: ListenerFacts): ListenerCondition {
  const now = currentState(facts);
  if (problems.length === 0) return now;
  // The previous valid spec stays in effect: a typing error does not cut off clients.
  return {
    state: 'invalid',
    reason: `${problems.join('; ')}; the last valid spec stays in effect`,
    detail: conditionText(now),
  };
}

function currentState(facts: ListenerFacts): ListenerCondition {
  const { definition, members, networkId, netnsCount, isReady, outcome, world } = facts;
  const { machinesKnown, machinesProblem } = world.listeners;
  if (!machinesKnown)
    return {
      state: 'pending',
      reason:
        machinesProblem === null
          ? 'the machines of its cluster have not been listed yet'
          : `the machines of its cluster cannot be read: ${machinesProblem}`,
      detail: null,
    };
  if (networkId === null)
    return {
      state: 'pending',
      reason: `the network of cluster ${definition.cluster} is not known yet: its OpenStackCluster has no status.network.id`,
      detail: null,
    };
  const { Ignored: ignored, Ready: ready } = memberCounts(members.map(({ status }) => status));
  const aside = ignored === 0 ? null : `${ignored} of another rollout (Ignored)`;
  const beside = aside === null ? '' : `; ${aside}`;
  const asked = members.length - ignored;
  if (asked === 0)
    return { state: 'no-members', reason: `no machine of ${definition.cluster} matches`, detail: aside };
  if (netnsCount === 0) return { state: 'no-netns', reason: noNetns(networkId, facts), detail: null };
  if (!isReady)
    return {
      state: 'unhealthy',
      reason: 'none of its machines is ready',
      detail: `${notReadyMembers(members)}${beside}`,
    };
  const counts = `${ready} of ${asked} machines ${asked === 1 ? 'answers' : 'answer'}${beside}`;
  if (definition.protocol === 'TCP' && outcome?.kind !== 'open')
    return {
      state: 'pending',
      reason: outcome === null ? 'its port is not open yet' : outcome.reason,
      detail: counts,
    };
  return { state: 'serving', reason: counts, detail: null };
}

const MAX_SHOWN = 3;

function notReadyMembers(members: readonly PoolMember[]): string {
  const failing = members.filter(({ status }) => status.state === 'NotReady');
  const shown = failing.slice(0, MAX_SHOWN).map(({ status: { machine, reason } }) => `${machine} ${reason}`);
  const more = failing.length > MAX_SHOWN ? `; and ${failing.length - MAX_SHOWN} more` : '';
  return `${shown.join('; ')}${more}`;
}

function noNetns(networkId: string, { index, world }: ListenerFacts): string {
  const unusable = index.findUnusable(networkId);
  if (unusable.length > 0)
    return `the netns of its network cannot be used: ${unusable.map(({ name, reason }) => `${name}: ${reason}`).join('; ')}`;
  const expected = index.expectedNames(networkId).join(' or ');
  return world.netnsComplete
    ? `no netns on this host belongs to network ${networkId} (expected ${expected}); perhaps this node does not host it`
    : `no netns ${expected} was found, but the netns directory is not completely readable`;
}
