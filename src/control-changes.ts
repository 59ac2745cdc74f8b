// What differs between two desired states, as plain data that crosses from the control thread to the main thread, and the later
// state rebuilt there: frozen again, and with everything that did not change the very same object. Pure.
import type { Desired } from './control/desired-state.ts';
import { changedTable, type RouteChanges, routeChanges } from './routing/route-changes.ts';
import { EMPTY_ROUTE_TABLE } from './routing/route-table.ts';

/** A list as places in the list before, where its items stayed the same, and new items. */
export type ListChanges<T extends object> = readonly (number | T)[];

type Lists = Pick<Desired, 'clusters' | 'backends' | 'problems' | 'ports' | 'listeners'>;
type ItemOf<K extends keyof Lists> = Lists[K][number];

/** Parts that are the same are left out. */
export interface DesiredChanges {
  readonly complete: boolean;
  readonly routes?: RouteChanges;
  readonly clusters?: ListChanges<ItemOf<'clusters'>>;
  readonly backends?: ListChanges<ItemOf<'backends'>>;
  readonly problems?: ListChanges<ItemOf<'problems'>>;
  readonly ports?: ListChanges<ItemOf<'ports'>>;
  readonly listeners?: ListChanges<ItemOf<'listeners'>>;
}

export const NOTHING_DESIRED: Desired = Object.freeze({
  complete: false,
  routes: EMPTY_ROUTE_TABLE,
  clusters: Object.freeze([]),
  backends: Object.freeze([]),
  problems: Object.freeze([]),
  ports: Object.freeze([]),
  listeners: Object.freeze([]),
});

/** Goes by reference, as the control loop hands things over: what says the same is the same object. */
export function desiredChanges(before: Desired, after: Desired): DesiredChanges {
  const routes = before.routes === after.routes ? null : routeChanges(before.routes, after.routes);
  return {
    complete: after.complete,
    ...(routes !== null && { routes }),
    ...(before.clusters !== after.clusters && { clusters: listChanges(before.clusters, after.clusters) }),
    ...(before.backends !== after.backends && { backends: listChanges(before.backends, after.backends) }),
    ...(before.problems !== after.problems && { problems: listChanges(before.problems, after.problems) }),
    ...(before.ports !== after.ports && { ports: listChanges(before.ports, after.ports) }),
    ...(before.listeners !== after.listeners && {
      listeners: listChanges(before.listeners, after.listeners),
    }),
  };
}

/** `before` must say the same as the state from which the changes were made. */
export function changedDesired(before: Desired, changes: DesiredChanges): Desired {
  const { complete, routes, clusters, backends, problems, ports, listeners } = changes;
  return Object.freeze({
    complete,
    routes: routes === undefined ? before.routes : changedTable(before.routes, routes),
    clusters: clusters === undefined ? before.clusters : changedList(before.clusters, clusters),
    backends: backends === undefined ? before.backends : changedList(before.backends, backends),
    problems: problems === undefined ? before.problems : changedList(before.problems, problems),
    ports: ports === undefined ? before.ports : changedList(before.ports, ports),
    listeners: listeners === undefined ? before.listeners : changedList(before.listeners, listeners),
  });
}

function listChanges<T extends object>(before: readonly T[], after: readonly T[]): ListChanges<T> {
  const places = new Map(before.map((item, place) => [item, place]));
  return after.map((item) => places.get(item) ?? item);
}

function changedList<T extends object>(before: readonly T[], changes: ListChanges<T>): readonly T[] {
  return Object.freeze(
    changes.map((change) => {
      if (typeof change !== 'number') return frozen(change);
      const kept = before[change];
      if (kept === undefined) throw new Error(`there is no item ${change} in a list of ${before.length}`);
      return kept;
    }),
  );
}

function frozen<T extends object>(item: T): T {
  for (const part of Object.values(item)) if (typeof part === 'object' && part !== null) frozen(part);
  return Object.freeze(item);
}
