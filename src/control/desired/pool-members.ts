// Turns the machines of a pool into members, each with its best path that answers and with the state Ready, NotReady or Ignored. All
// paths are probed, including those to Ignored members. Routes contain only Ready members. Pure.

import type { ProbeTarget } from '../../health/probe.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import type { NetnsEntry } from '../../netns/netns-directory.ts';
import { type Backend, backendKey } from '../../routing/route-table.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { MachineFacts } from '../sources/machine.ts';
import { type PoolSelection, poolMembership } from '../sources/pool-membership.ts';
import type { MemberState, MemberStatus } from './listener-status.ts';
import { failureOf, placeOf } from './state-reason.ts';

export interface PoolMember {
  readonly status: MemberStatus;
  /** The backend for clients; null unless the member is Ready. */
  readonly backend: Backend | null;
  /** All paths to the machine, best first. */
  readonly paths: readonly BackendPath[];
}

/** One address of a machine in one netns. */
export interface BackendPath {
  readonly target: ProbeTarget;
  readonly backend: Backend;
  readonly netnsName: string;
}

export interface Pool {
  readonly machines: readonly MachineFacts[];
  readonly selection: PoolSelection;
  /** The netns of the cluster's network, best first. */
  readonly netns: readonly NetnsEntry[];
  readonly targetPort: number;
}

/** The members, in the order of the machines. A machine that is being deleted is not a member. */
export function poolMembers(
  pool: Pool,
  health: ReadonlyMap<string, TargetHealth>,
  cache: TurnCache,
): readonly PoolMember[] {
  const known = knownPaths(pool, cache);
  const answering = cache.part(newAnsweringMembers);
  const members: PoolMember[] = [];
  for (const machine of pool.machines) {
    if (machine.leaving) continue;
    const membership = poolMembership(pool.selection, machine.labels);
    if (membership === 'none') continue;
    let paths = known.get(machine);
    if (paths === undefined) {
      paths = pathsTo(machine, pool);
      known.set(machine, paths);
    }
    const isIgnored = membership === 'ignored';
    const up = paths.find(({ backend: { key } }) => health.get(key)?.up === true);
    if (up === undefined) {
      members.push(silentMember(machine, paths, isIgnored, health));
      continue;
    }
    let member = answering.get(up);
    if (member === undefined || (member.status.state === 'Ignored') !== isIgnored) {
      member = answeringMember(up, machine, paths, isIgnored);
      answering.set(up, member);
    }
    members.push(member);
  }
  return members;
}

/**
 * The status of a member that answers depends only on its path, which belongs to one machine, and on whether it is
 * Ignored. So it is cached by path.
 */
const newAnsweringMembers = () => new WeakMap<BackendPath, PoolMember>();

/** An unchanged machine has the same paths. Building them for 5000 machines takes longer than the rest of a turn. */
type KnownPaths = WeakMap<MachineFacts, readonly BackendPath[]>;
/** By target port and netns. */
const newKnownPaths = () => new Map<string, KnownPaths>();
/** Bounds the cache over the listeners of all clusters. A full cache is emptied and filled again. */
const MAX_KNOWN_PATHS = 2000;

function knownPaths({ netns, targetPort }: Pool, cache: TurnCache): KnownPaths {
  const all = cache.part(newKnownPaths);
  const key = `${targetPort} ${netns.map(({ path, identity }) => `${path}#${identity}`).join(' ')}`;
  let known = all.get(key);
  if (known === undefined) {
    if (all.size >= MAX_KNOWN_PATHS) all.clear();
    known = new WeakMap();
    all.set(key, known);
  }
  return known;
}

const pathsTo = (machine: MachineFacts, { netns, targetPort }: Pool): readonly BackendPath[] =>
  netns.flatMap(({ name, path, identity }) =>
    machine.addresses.map((address) => {
      const where = { address, port: targetPort, netns: Object.freeze({ path, identity }) };
      const backend = Object.freeze({ key: backendKey(where), ...where });
      // The protocol at a machine's port is unknown, so the probe is only a TCP connect. The machine's kernel answers it.
      const target = Object.freeze({ ...backend, serverName: '', check: 'tcp' as const });
      return { backend, target, netnsName: name };
    }),
  );

function answeringMember(
  up: BackendPath,
  machine: MachineFacts,
  paths: readonly BackendPath[],
  isIgnored: boolean,
): PoolMember {
  const reason = machine.addressProblem ?? `answers at ${placeOf(up)}`;
  return {
    status: memberStatus(machine, up, isIgnored ? 'Ignored' : 'Ready', { up: true, reason }),
    backend: isIgnored ? null : up.backend,
    paths,
  };
}

function silentMember(
  machine: MachineFacts,
  paths: readonly BackendPath[],
  isIgnored: boolean,
  health: ReadonlyMap<string, TargetHealth>,
): PoolMember {
  const reason = machine.addressProblem ?? failureReason(paths, health);
  return {
    status: memberStatus(machine, paths[0] ?? null, isIgnored ? 'Ignored' : 'NotReady', {
      up: false,
      reason,
    }),
    backend: null,
    paths,
  };
}

function memberStatus(
  machine: MachineFacts,
  shown: BackendPath | null,
  state: MemberState,
  { up, reason }: Pick<MemberStatus, 'up' | 'reason'>,
): MemberStatus {
  return Object.freeze({
    machine: machine.name,
    key: shown?.backend.key ?? null,
    address: shown?.backend.address ?? machine.addresses[0] ?? null,
    netns: shown?.netnsName ?? null,
    state,
    up,
    reason: state === 'Ignored' ? `matches except for the ignored labels; ${reason}` : reason,
  });
}

const MAX_FAILURES = 4;

function failureReason(paths: readonly BackendPath[], health: ReadonlyMap<string, TargetHealth>): string {
  if (paths.length === 0) return 'no netns on this host reaches the machine';
  const failures = paths
    .slice(0, MAX_FAILURES)
    .map((path) => `${placeOf(path)} ${failureOf(health.get(path.backend.key))}`);
  return `does not answer: ${failures.join(', ')}`;
}
