import { expect, test } from 'vitest';
import { backendKey, EMPTY_ROUTE_TABLE, type Route, routeTable } from './route-table.ts';

const route = (cluster: string): Route => ({
  cluster,
  namespace: 'magnum-system',
  backends: [{ key: cluster, address: '10.0.0.5', port: 6443, netns: null }],
});

test('every name of an entry leads to its route', () => {
  const [a, b] = [route('a'), route('b')];
  const table = routeTable(
    [
      { serverNames: ['a', 'a.magnum-system'], route: a },
      { serverNames: ['b'], route: b },
      { serverNames: [], route: route('nameless') },
    ],
    b,
  );
  expect([...table.byServerName]).toEqual([
    ['a', a],
    ['a.magnum-system', a],
    ['b', b],
  ]);
  expect(table.byServerName.get('a')).toBe(table.byServerName.get('a.magnum-system'));
  expect(table.defaultRoute).toBe(b);
});

test('the first entry that claims a name keeps it, and the later one keeps its other names', () => {
  const [first, second] = [route('first'), route('second')];
  const table = routeTable(
    [
      { serverNames: ['shared'], route: first },
      { serverNames: ['shared', 'own'], route: second },
    ],
    null,
  );
  expect(table.byServerName.get('shared')).toBe(first);
  expect(table.byServerName.get('own')).toBe(second);
  expect(table.defaultRoute).toBeNull();
});

test('a route of the table cannot be changed', () => {
  const table = routeTable([{ serverNames: ['a'], route: route('a') }], null);
  const inside = table.byServerName.get('a') as unknown as { cluster: string; backends: unknown[] };
  expect(() => inside.backends.push({})).toThrow(TypeError);
  expect(() => {
    inside.cluster = 'b';
  }).toThrow(TypeError);
  expect(() => {
    (table as { defaultRoute: unknown }).defaultRoute = null;
  }).toThrow(TypeError);
});

test('the empty table rejects every client: it has no names and no default route', () => {
  expect(EMPTY_ROUTE_TABLE.byServerName.size).toBe(0);
  expect(EMPTY_ROUTE_TABLE.defaultRoute).toBeNull();
  expect(Object.isFrozen(EMPTY_ROUTE_TABLE)).toBe(true);
});

test.each<[key: string, address: string, netns: { path: string; identity: string } | null]>([
  ['10.0.0.5:6443', '10.0.0.5', null],
  ['[fd00::5]:6443', 'fd00::5', null],
  ['10.0.0.5:6443@/run/netns/a#cookie:1', '10.0.0.5', { path: '/run/netns/a', identity: 'cookie:1' }],
  ['10.0.0.5:6443@/run/netns/a#cookie:2', '10.0.0.5', { path: '/run/netns/a', identity: 'cookie:2' }],
  ['[fd00::5]:6443@/run/netns/b#cookie:1', 'fd00::5', { path: '/run/netns/b', identity: 'cookie:1' }],
])('%s is the key of its address, port and netns', (key, address, netns) => {
  expect(backendKey({ address, port: 6443, netns })).toBe(key);
});
