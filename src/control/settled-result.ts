// Lets the result of a turn share its equal parts with the result before, so that a change is visible as a changed reference. Pure.
import { settled, settledFields, settledList, settledMap } from '../routing/changes.ts';
import type { ListenerStatus } from './desired/listener-status.ts';
import type { TurnResult } from './turn-result.ts';

/**
 * Returns `next`, with each equal part replaced by the one from `before`, down to single routes and list items. Returns `before`
 * itself if all parts are equal. A changed reference therefore means a changed part, and only changed parts are passed on.
 */
export function settledResult(before: TurnResult | null, next: TurnResult): TurnResult {
  if (before === null) return next;
  return settledFields<TurnResult>(before, {
    complete: next.complete,
    routes: settledFields(before.routes, {
      byServerName: settledMap(before.routes.byServerName, next.routes.byServerName),
      defaultRoute: settled(before.routes.defaultRoute, next.routes.defaultRoute),
    }),
    clusters: settledList(
      before.clusters,
      next.clusters,
      ({ namespace, name, origin }) => `${namespace}\0${name}\0${origin}`,
    ),
    backends: settledList(before.backends, next.backends, ({ key }) => key),
    problems: settledList(before.problems, next.problems, ({ origin, reason }) => `${origin}\0${reason}`),
    ports: settledList(before.ports, next.ports, ({ name }) => name),
    heldPorts: settled(before.heldPorts, next.heldPorts),
    listeners: settledList(
      before.listeners,
      next.listeners,
      ({ namespace, name }) => `${namespace}/${name}`,
      settledMembers,
    ),
  });
}

/** Compares members one by one: if one of thousands changes, the others are not passed on again. */
function settledMembers(old: ListenerStatus, item: ListenerStatus): ListenerStatus {
  const members = settledList(old.members, item.members, ({ machine }) => machine);
  return Object.freeze({ ...item, members });
}
