// The desired state of all additional listeners, and the ports that no listener may get. listener-placement.ts decides on each listener.
// Pure.
import type { ProbeTarget } from '../../health/probe.ts';
import type { PortRoute, RouteEntry } from '../../routing/route-table.ts';
import { isClusterName, type NamedListener } from '../objects/service-names.ts';
import { byText } from '../objects/text-order.ts';
import { nameOf, namespaceOf } from '../sources/cluster-reading.ts';
import type { ClusterReading } from '../sources/cluster-source.ts';
import { machineIndex } from '../sources/machine.ts';
import type { EffectiveListener } from '../world/listener-world.ts';
import type { World } from '../world/world.ts';
import type { DesiredContext } from './desired-context.ts';
import { namedListener, type PlacedListener, placedListener } from './listener-placement.ts';
import type { ListenerStatus } from './listener-status.ts';
import type { NameClaims } from './name-claims.ts';
import type { Publication } from './publication.ts';

export interface ListenerStates {
  /** Routes of TLS listeners. */
  readonly entries: readonly RouteEntry[];
  /** Sorted by name. */
  readonly ports: readonly PortRoute[];
  /** Sorted. */
  readonly heldPorts: readonly number[];
  /** Sorted by namespace and name. */
  readonly statuses: readonly ListenerStatus[];
  readonly targets: readonly ProbeTarget[];
  readonly publications: readonly Publication[];
  /** Publication keys of listeners that cannot be served now but keep their Services. */
  readonly reserved: readonly string[];
}

const NOTHING: ListenerStates = Object.freeze({
  entries: [],
  ports: Object.freeze([]),
  heldPorts: Object.freeze([]),
  statuses: Object.freeze([]),
  targets: [],
  publications: [],
  reserved: [],
});

export function listenerStates(context: DesiredContext): ListenerStates {
  const { world, claims, cache } = context;
  const { listeners, departing } = world.listeners;
  if (listeners.length === 0 && departing.size === 0 && world.listeners.advertised.size === 0) return NOTHING;
  const machines = cache.last(machineIndex, world.listeners.machines);
  const clusters = clustersByName(world.clusters, claims);
  const all = [
    ...listeners.map((listener) => ({ listener, leaving: false })),
    ...[...departing.values()].map(({ listener }) => ({ listener, leaving: true })),
  ];
  const listenerContext = { ...context, machines };
  const placed = all.map(({ listener, leaving }) => {
    const { cluster } = listener.definition ?? listener.reading.shown;
    const found = clusters.get(`${listener.reading.namespace}/${cluster}`) ?? null;
    return placedListener(listener, leaving, found, listenerContext);
  });
  const ports = placed
    .flatMap(({ port }) => (port === null ? [] : [port]))
    .sort((a, b) => byText(a.name, b.name));
  return {
    entries: placed.flatMap(({ entry }) => (entry === null ? [] : [entry])),
    ports: Object.freeze(ports),
    heldPorts: Object.freeze(heldPorts(ports, world)),
    statuses: Object.freeze(
      placed
        .flatMap(({ status }) => (status === null ? [] : [status]))
        .sort((a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name)),
    ),
    targets: targetsOf(placed),
    publications: placed.flatMap(({ publication }) => (publication === null ? [] : [publication])),
    reserved: placed.flatMap(({ reserved }) => reserved),
  };
}

/** Nested loops instead of flatMap: each turn may have thousands of targets. */
function targetsOf(placed: readonly PlacedListener[]): readonly ProbeTarget[] {
  const targets: ProbeTarget[] = [];
  for (const { members } of placed)
    for (const { paths } of members) for (const { target } of paths) targets.push(target);
  return targets;
}

/**
 * By `<namespace>/<name>`: the holder of the name, or a cluster that is not proxied. A claim from another namespace does not affect a
 * cluster that is not proxied.
 */
function clustersByName(
  clusters: readonly ClusterReading[],
  claims: NameClaims,
): ReadonlyMap<string, ClusterReading> {
  const found = new Map<string, ClusterReading>();
  for (const reading of clusters) {
    const name = nameOf(reading);
    if (!isClusterName(name)) continue;
    const key = `${namespaceOf(reading)}/${name}`;
    const isUnclaimed = reading.kind === 'not-proxied' && !found.has(key);
    if (claims.holds(reading) || isUnclaimed) found.set(key, reading);
  }
  return found;
}

/** All listeners that claim a name, including those that are being withdrawn. */
export function namedListeners({ listeners: { listeners, departing } }: World): readonly NamedListener[] {
  const named: NamedListener[] = [];
  const add = ({ reading, definition }: EffectiveListener) => {
    if (definition !== null) named.push(namedListener(reading, definition));
  };
  for (const listener of listeners) add(listener);
  for (const { listener } of departing.values()) add(listener);
  return named;
}

/** Advertised ports whose listener has not opened them. An open port needs no reservation. */
function heldPorts(ports: readonly PortRoute[], { listeners, ports: outcomes }: World): number[] {
  const held = new Set(listeners.advertised.keys());
  for (const { name } of ports) {
    const outcome = outcomes.get(name);
    if (outcome?.kind === 'open') held.delete(outcome.port);
  }
  return [...held].sort((a, b) => a - b);
}
