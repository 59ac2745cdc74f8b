// Sorts the clusters and listeners of `isthmus top`. Pure. The order is total: equally busy rows do not change places.
import type { TopRow } from './top-view.ts';

export const TOP_SORTS = ['connections', 'rate', 'bytes', 'name', 'state'] as const;
export type TopSort = (typeof TOP_SORTS)[number];

/** The states that need an operator's attention come first. */
const STATES: readonly TopRow['state'][] = [
  'unhealthy',
  'no-members',
  'invalid',
  'pending',
  'no-netns',
  'serving',
  'not-proxied',
];

type Order = (one: TopRow, other: TopRow) => number;

const most =
  (value: (row: TopRow) => number): Order =>
  (one, other) =>
    value(other) - value(one);

const byConnections = most(({ connections }) => connections);
const byRate = most(({ newPerSecond }) => newPerSecond ?? 0);
const byBytes = most(
  ({ bytesInPerSecond, bytesOutPerSecond }) => (bytesInPerSecond ?? 0) + (bytesOutPerSecond ?? 0),
);
const byState: Order = (one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state);
/** A cluster comes before its listeners. */
const byName: Order = (one, other) =>
  inOrder(one.cluster, other.cluster) ||
  inOrder(one.namespace, other.namespace) ||
  inOrder(one.kind, other.kind) ||
  inOrder(one.name, other.name);

const ORDERS: Readonly<Record<TopSort, readonly Order[]>> = {
  connections: [byConnections, byRate, byBytes, byName],
  rate: [byRate, byConnections, byBytes, byName],
  bytes: [byBytes, byConnections, byRate, byName],
  name: [byName],
  state: [byState, byConnections, byRate, byName],
};

export function sortedRows(rows: readonly TopRow[], sort: TopSort): readonly TopRow[] {
  const orders = ORDERS[sort];
  return rows.toSorted((one, other) => {
    for (const order of orders) {
      const difference = order(one, other);
      if (difference !== 0) return difference;
    }
    return 0;
  });
}

function inOrder(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
