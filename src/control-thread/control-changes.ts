// The difference between two desired states, as plain data for the message from the control thread to the main thread. The main
// thread rebuilds the later state from it: frozen, with every unchanged part as the same object. Pure.
import type { MemberStatus } from '../control/desired/listener-status.ts';
import type { TurnResult } from '../control/turn-result.ts';
import { changedList, frozen, itemAt, type ListChanges, listChanges } from '../routing/changes.ts';
import {
  type Backend,
  EMPTY_ROUTE_TABLE,
  type Route,
  type RouteEntry,
  type RouteTable,
} from '../routing/route-table.ts';

/** A changed item that contains a list. The message has only the changes of the list, because one of thousands of entries may differ. */
export interface PartChange<T extends object> {
  /** Index of the previous version of the item; `parts` refers to its list. null: the item is new. */
  readonly was: number | null;
  /** The item with an empty list. */
  readonly item: T;
  readonly parts: ListChanges<object>;
}

type Lists = Pick<TurnResult, 'clusters' | 'backends' | 'problems' | 'ports' | 'listeners'>;
type ItemOf<K extends keyof Lists> = Lists[K][number];

/** Unchanged parts are absent. */
export interface DesiredChanges {
  readonly complete: boolean;
  readonly routes?: RouteChanges;
  readonly clusters?: ListChanges<ItemOf<'clusters'>>;
  readonly backends?: ListChanges<ItemOf<'backends'>>;
  readonly problems?: ListChanges<ItemOf<'problems'>>;
  readonly ports?: ListChanges<PartChange<ItemOf<'ports'>>>;
  readonly heldPorts?: readonly number[];
  readonly listeners?: ListChanges<PartChange<ItemOf<'listeners'>>>;
}

/** A pool can have thousands of backends. Its route is sent without them, and `pool` refers to the old backends by index. */
interface RouteChange extends RouteEntry {
  /** Indexes into the old backends of the first server name, and new backends. */
  readonly pool?: ListChanges<Backend>;
}

interface RouteChanges {
  /** Server names with a new or changed route. */
  readonly set: readonly RouteChange[];
  /** Server names that no longer have a route. */
  readonly removed: readonly string[];
  /** Absent if it did not change. */
  readonly defaultRoute?: Route | null;
}

export const NOTHING_DESIRED: TurnResult = Object.freeze({
  complete: false,
  routes: EMPTY_ROUTE_TABLE,
  clusters: Object.freeze([]),
  backends: Object.freeze([]),
  problems: Object.freeze([]),
  ports: Object.freeze([]),
  heldPorts: Object.freeze([]),
  listeners: Object.freeze([]),
});

/** Compares by reference: the control loop keeps the same object for an unchanged value. */
export function desiredChanges(before: TurnResult, after: TurnResult): DesiredChanges {
  const routes = before.routes === after.routes ? null : routeChanges(before.routes, after.routes);
  return {
    complete: after.complete,
    ...(routes !== null && { routes }),
    ...(before.clusters !== after.clusters && { clusters: listChanges(before.clusters, after.clusters) }),
    ...(before.backends !== after.backends && { backends: listChanges(before.backends, after.backends) }),
    ...(before.problems !== after.problems && { problems: listChanges(before.problems, after.problems) }),
    ...(before.ports !== after.ports && { ports: partChanges(before.ports, after.ports, PORTS) }),
    ...(before.heldPorts !== after.heldPorts && { heldPorts: after.heldPorts }),
    ...(before.listeners !== after.listeners && {
      listeners: partChanges(before.listeners, after.listeners, LISTENERS),
    }),
  };
}

/** `before` must equal the state from which the changes were computed. */
export function changedDesired(before: TurnResult, changes: DesiredChanges): TurnResult {
  const { complete, routes, clusters, backends, problems, ports, heldPorts, listeners } = changes;
  return Object.freeze({
    complete,
    routes: routes === undefined ? before.routes : changedTable(before.routes, routes),
    clusters: clusters === undefined ? before.clusters : changedList(before.clusters, clusters),
    backends: backends === undefined ? before.backends : changedList(before.backends, backends),
    problems: problems === undefined ? before.problems : changedList(before.problems, problems),
    ports: ports === undefined ? before.ports : changedParts(before.ports, ports, PORTS),
    heldPorts: heldPorts === undefined ? before.heldPorts : Object.freeze(heldPorts),
    listeners:
      listeners === undefined ? before.listeners : changedParts(before.listeners, listeners, LISTENERS),
  });
}

/** Compares routes by reference: an unchanged route must be the same object. Returns null if nothing changed. */
function routeChanges(before: RouteTable, after: RouteTable): RouteChanges | null {
  const moved = new Map<Route, string[]>();
  for (const [name, route] of after.byServerName) {
    if (before.byServerName.get(name) === route) continue;
    const names = moved.get(route);
    if (names === undefined) moved.set(route, [name]);
    else names.push(name);
  }
  const removed = [...before.byServerName.keys()].filter((name) => !after.byServerName.has(name));
  const sameDefault = before.defaultRoute === after.defaultRoute;
  if (moved.size === 0 && removed.length === 0 && sameDefault) return null;
  return {
    set: Array.from(moved, ([route, serverNames]) => routeChange(before, serverNames, route)),
    removed,
    ...(!sameDefault && { defaultRoute: after.defaultRoute }),
  };
}

function routeChange(before: RouteTable, serverNames: readonly string[], route: Route): RouteChange {
  // A route without a pool can also be the default route. Both must stay one object.
  if (route.pool === undefined) return { serverNames, route };
  const pool = listChanges(backendsBefore(before, serverNames), route.backends, backendIdentity);
  return { serverNames, route: { ...route, backends: [] }, pool };
}

const backendsBefore = (before: RouteTable, [first = '']: readonly string[]): readonly Backend[] =>
  before.byServerName.get(first)?.backends ?? [];

/** The key covers every property of a backend. */
const backendIdentity = ({ key }: Backend): string => key;

/** Returns a new frozen table. Unchanged routes, and unchanged backends of changed routes, stay the same objects. */
function changedTable(before: RouteTable, changes: RouteChanges): RouteTable {
  // A message can contain a route twice, once as the default route. It must stay one object.
  const rebuilt = new Map<Route, Route>();
  const rebuild = (route: Route, old: readonly Backend[]): Route => {
    const known = rebuilt.get(route) ?? frozenRoute(route, old);
    rebuilt.set(route, known);
    return known;
  };
  const byServerName = new Map(before.byServerName);
  for (const name of changes.removed) byServerName.delete(name);
  for (const { serverNames, route, pool } of changes.set) {
    const routes = new Set(serverNames.map((name) => before.byServerName.get(name)));
    const old = [...routes].flatMap((was) => was?.backends ?? []);
    const whole =
      pool === undefined
        ? route
        : { ...route, backends: changedList(backendsBefore(before, serverNames), pool) };
    const next = rebuild(whole, old);
    for (const name of serverNames) byServerName.set(name, next);
  }
  const { defaultRoute } = changes;
  return Object.freeze({
    byServerName,
    defaultRoute:
      defaultRoute === undefined
        ? before.defaultRoute
        : defaultRoute && rebuild(defaultRoute, before.defaultRoute?.backends ?? []),
  });
}

function frozenRoute(route: Route, old: readonly Backend[]): Route {
  const backends = changedList(old, listChanges(old, route.backends, backendIdentity));
  return Object.freeze({ ...route, ...(route.pool !== undefined && { pool: frozen(route.pool) }), backends });
}

/** Access to the list of an item, and the identity of items and of list entries. */
interface Parts<T extends object> {
  keyOf(item: T): string;
  listOf(item: T): readonly object[];
  /** Two list entries with the same identity are interchangeable. */
  identityOf(part: object): unknown;
  with(item: T, list: readonly object[]): T;
}

const PORTS: Parts<ItemOf<'ports'>> = {
  keyOf: ({ name }) => name,
  listOf: ({ route }) => route.backends,
  identityOf: (part) => backendIdentity(part as Backend),
  with: (port, list) => ({
    ...port,
    route: Object.freeze({ ...port.route, backends: list as readonly Backend[] }),
  }),
};
const LISTENERS: Parts<ItemOf<'listeners'>> = {
  keyOf: ({ namespace, name }) => `${namespace}/${name}`,
  listOf: ({ members }) => members,
  identityOf: (member) => member,
  with: (listener, list) => ({ ...listener, members: list as readonly MemberStatus[] }),
};

function partChanges<T extends object>(
  before: readonly T[],
  after: readonly T[],
  { keyOf, listOf, identityOf, with: put }: Parts<T>,
): ListChanges<PartChange<T>> {
  const places = new Map(before.map((item, place) => [item, place]));
  const byKey = new Map(before.map((item, place) => [keyOf(item), place]));
  return after.map((item) => {
    const same = places.get(item);
    if (same !== undefined) return same;
    const was = byKey.get(keyOf(item)) ?? null;
    const old = was === null ? [] : listOf(before[was] as T);
    return { was, item: put(item, []), parts: listChanges(old, listOf(item), identityOf) };
  });
}

function changedParts<T extends object>(
  before: readonly T[],
  changes: ListChanges<PartChange<T>>,
  { listOf, with: put }: Parts<T>,
): readonly T[] {
  return Object.freeze(
    changes.map((change) => {
      if (typeof change === 'number') return itemAt(before, change);
      const { was, item, parts } = change;
      const old = was === null ? [] : listOf(itemAt(before, was));
      return Object.freeze(put(frozen(item), changedList(old, parts)));
    }),
  );
}
