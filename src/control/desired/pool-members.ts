// The machines of a pool as members: each with the best way to it that answers, and as Ready, NotReady or Ignored. All ways are probed,
// also to those that are ignored; only Ready members get into a route. Pure.

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
  /** Of what clients are sent to; null unless it is Ready. */
  readonly backend: Backend | null;
  /** Every way to it, best first. */
  readonly ways: readonly Way[];
}

export interface Way {
  readonly target: ProbeTarget;
  readonly backend: Backend;
  readonly netnsName: string;
}

export interface PoolPlace {
  /** Those of the cluster's network, best first. */
  readonly netns: readonly NetnsEntry[];
  readonly targetPort: number;
}

/** In the order of the machines; one that leaves is no member any more. */
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

/** Neither up nor known to be down: it has not been asked, or not often enough. */
export const isMemberUnjudged = ({ ways }: PoolMember, health: ReadonlyMap<string, TargetHealth>): boolean =>
  ways.some(({ backend: { key } }) => {
    const known = health.get(key);
    return known === undefined || (!known.up && known.lastProbe?.ok !== false);
  });

/** A machine that did not change has the same ways; to write them down for five thousand takes longer than all the rest of a turn. */
type Known = WeakMap<MachineFacts, readonly Way[]>;
const knownPlaces = new Map<string, Known>();
/** Of listeners of all clusters: what is forgotten is only written down again. */
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
        // Whatever a machine listens for, it is no API server: its kernel is asked, and no program of it.
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
  // Nothing is said of one that answers but by which way: so it is the same as in the turn before.
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

/** The machines of each cluster, found without looking at all others: a site has thousands. One index per list of machines. */
export interface MachineIndex {
  /** Sorted by name. */
  of(namespace: string, cluster: string): readonly MachineFacts[];
}

/** The same list is the same machines: they are sorted once for all turns in which none changed. */
const indexes = new WeakMap<readonly MachineFacts[], MachineIndex>();

/** Whoever hands a list in changes it no more. */
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
