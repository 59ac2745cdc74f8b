// The machines of a pool as members: each with the best path that answers, and with the state Ready, NotReady or Ignored. All paths are
// probed, including those to Ignored members. Routes contain only Ready members. Pure.

import type { ProbeTarget } from '../../health/probe.ts';
import { settledError, type TargetHealth } from '../../health/target-health.ts';
import type { NetnsEntry } from '../../netns/netns-snapshot.ts';
import { endpointText } from '../../routing/endpoint.ts';
import { type Backend, backendKey } from '../../routing/route-table.ts';
import { byText } from '../objects/text-order.ts';
import type { MachineFacts } from '../sources/machine.ts';
import { type PoolSelection, poolMembership } from '../sources/pool-membership.ts';
import type { MemberState, MemberStatus } from './listener-status.ts';

export interface PoolMember {
  readonly status: MemberStatus;
  /** The backend for clients; null unless the member is Ready. */
  readonly backend: Backend | null;
  /** All paths to the machine, best first. */
  readonly ways: readonly Way[];
}

export interface Way {
  readonly target: ProbeTarget;
  readonly backend: Backend;
  readonly netnsName: string;
}

export interface PoolPlace {
  /** The netns of the cluster's network, best first. */
  readonly netns: readonly NetnsEntry[];
  readonly targetPort: number;
}

/** In the order of the machines. A machine that is leaving is not a member. */
export function poolMembers(
  machines: readonly MachineFacts[],
  selection: PoolSelection,
  place: PoolPlace,
  health: ReadonlyMap<string, TargetHealth>,
): readonly PoolMember[] {
  const where = place.netns.map(({ path, identity }) => `${path}#${identity}`).join(' ');
  const known = knownAt(`${place.targetPort} ${where}`);
  const members: PoolMember[] = [];
  for (const machine of machines) {
    if (machine.leaving) continue;
    const membership = poolMembership(selection, machine.labels);
    if (membership === 'none') continue;
    members.push(memberOf(machine, waysTo(machine, place, known), membership === 'ignored', health));
  }
  return members;
}

/** Neither up nor known to be down: it had no probe, or too few. */
export const isMemberUnjudged = ({ ways }: PoolMember, health: ReadonlyMap<string, TargetHealth>): boolean =>
  ways.some(({ backend: { key } }) => {
    const known = health.get(key);
    return known === undefined || (!known.up && known.lastProbe?.ok !== false);
  });

/** Cache: an unchanged machine has the same paths. Building them for 5000 machines takes longer than the rest of a turn. */
type Known = WeakMap<MachineFacts, readonly Way[]>;
const knownPlaces = new Map<string, Known>();
/** Bounds the cache over the listeners of all clusters. A cleared entry is only built again. */
const MAX_PLACES = 2000;

function knownAt(placeKey: string): Known {
  let known = knownPlaces.get(placeKey);
  if (known === undefined) {
    if (knownPlaces.size >= MAX_PLACES) knownPlaces.clear();
    known = new WeakMap();
    knownPlaces.set(placeKey, known);
  }
  return known;
}

function waysTo(machine: MachineFacts, { netns, targetPort }: PoolPlace, known: Known): readonly Way[] {
  let ways = known.get(machine);
  if (ways === undefined) {
    ways = netns.flatMap(({ name, path, identity }) =>
      machine.addresses.map((address) => {
        const where = { address, port: targetPort, netns: Object.freeze({ path, identity }) };
        const backend = Object.freeze({ key: backendKey(where), ...where });
        // A machine's port is not an API server, and its protocol is unknown. So the probe is a TCP connect, which the kernel answers.
        const target = Object.freeze({ ...backend, serverName: '', check: 'tcp' as const });
        return { backend, target, netnsName: name };
      }),
    );
    known.set(machine, ways);
  }
  return ways;
}

function memberOf(
  machine: MachineFacts,
  ways: readonly Way[],
  isIgnored: boolean,
  health: ReadonlyMap<string, TargetHealth>,
): PoolMember {
  const up = ways.find(({ backend: { key } }) => health.get(key)?.up === true);
  if (up === undefined) return newMember(machine, ways, up, isIgnored, health);
  // A member that answers depends only on its path and on `isIgnored`, so the member of the previous turn is reused.
  const before = answering.get(up);
  if (before !== undefined && (before.status.state === 'Ignored') === isIgnored) return before;
  const member = newMember(machine, ways, up, isIgnored, health);
  answering.set(up, member);
  return member;
}

const answering = new WeakMap<Way, PoolMember>();

function newMember(
  machine: MachineFacts,
  ways: readonly Way[],
  up: Way | undefined,
  isIgnored: boolean,
  health: ReadonlyMap<string, TargetHealth>,
): PoolMember {
  const [shown = null] = up === undefined ? ways : [up];
  const state: MemberState = isIgnored ? 'Ignored' : up === undefined ? 'NotReady' : 'Ready';
  return {
    status: Object.freeze({
      machine: machine.name,
      key: shown?.backend.key ?? null,
      address: shown?.backend.address ?? machine.addresses[0] ?? null,
      netns: shown?.netnsName ?? null,
      state,
      up: up !== undefined,
      reason: reasonOf(machine, ways, shown, up !== undefined, isIgnored, health),
    }),
    backend: state === 'Ready' && up !== undefined ? up.backend : null,
    ways,
  };
}

function reasonOf(
  machine: MachineFacts,
  ways: readonly Way[],
  shown: Way | null,
  isUp: boolean,
  isIgnored: boolean,
  health: ReadonlyMap<string, TargetHealth>,
): string {
  const prefix = isIgnored ? 'matches but for the labels that are left out; ' : '';
  if (machine.addressProblem !== null) return `${prefix}${machine.addressProblem}`;
  if (shown === null) return `${prefix}no netns on this host leads to it`;
  if (isUp) return `${prefix}answers at ${placeOf(shown)}`;
  const failures = ways.slice(0, MAX_TOLD).map((way) => `${placeOf(way)} ${failureOf(way, health)}`);
  return `${prefix}does not answer: ${failures.join(', ')}`;
}

const MAX_TOLD = 4;

const placeOf = ({ backend, netnsName }: Way): string => `${endpointText(backend)} in ${netnsName}`;

function failureOf({ backend: { key } }: Way, health: ReadonlyMap<string, TargetHealth>): string {
  const probe = health.get(key)?.lastProbe ?? null;
  if (probe === null) return '(not checked yet)';
  return probe.error === null ? '(coming up)' : `(${settledError(probe.error)})`;
}

/** Machines by cluster: a site has thousands, so each lookup must not scan them all. One index per list of machines. */
export interface MachineIndex {
  /** Sorted by name. */
  of(namespace: string, cluster: string): readonly MachineFacts[];
}

/** Cache by identity of the list: unchanged machines are sorted only once. */
const indexes = new WeakMap<readonly MachineFacts[], MachineIndex>();

/** The caller must not change the list afterwards. */
export function machineIndex(machines: readonly MachineFacts[]): MachineIndex {
  let index = indexes.get(machines);
  if (index === undefined) {
    index = newIndex(machines);
    indexes.set(machines, index);
  }
  return index;
}

function newIndex(machines: readonly MachineFacts[]): MachineIndex {
  const byCluster = new Map<string, MachineFacts[]>();
  for (const machine of machines) {
    if (machine.cluster === '') continue;
    const key = `${machine.namespace}/${machine.cluster}`;
    const list = byCluster.get(key);
    if (list === undefined) byCluster.set(key, [machine]);
    else list.push(machine);
  }
  for (const list of byCluster.values()) list.sort((a, b) => byText(a.name, b.name));
  return { of: (namespace, cluster) => byCluster.get(`${namespace}/${cluster}`) ?? [] };
}
