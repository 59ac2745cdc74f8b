import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Route } from '../routing/route-table.ts';
import { connectionsByKind, routedGroups, shareKey, slotShares } from './connection-shares.ts';

const groupsOf = (count: number): ReadonlySet<string> =>
  new Set(Array.from({ length: count }, (_, i) => `g${i}`));

describe('slots are divided', () => {
  test.each([
    // [slots, clusters, reserved for each, common]
    [8192, 1, 128, 7808],
    [8192, 16, 128, 5888],
    [8192, 1000, 2, 5936],
    [8192, 2048, 1, 5888],
    [8192, 5000, 0, 7936],
    [5, 1, 1, 4],
    [1, 1, 0, 1],
    [100, 0, 25, 97],
  ])('%i among %i clusters: %i reserved for each and %i common', (slots, clusters, reserved, common) => {
    expect(slotShares(slots, groupsOf(clusters))).toMatchObject({ reserved, common });
  });

  test('so that routed connections never use more than the slots and, from 32 slots on, always leave one free', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 0, max: 20_000 }),
        (slots, clusters) => {
          const { reserved, common } = slotShares(slots, groupsOf(clusters));
          expect(common).toBeGreaterThan(0);
          expect(reserved > 0).toBe(slots >= 4 * Math.max(1, clusters));
          const most = clusters * reserved + common;
          expect(most).toBeLessThanOrEqual(slots);
          if (slots >= 32) expect(most).toBeLessThan(slots);
        },
      ),
    );
  });
});

test('a cluster and its listeners are one group, and a cluster without a healthy backend has no group', () => {
  const backend = { key: 'b', address: '10.0.0.1', port: 6443, netns: null };
  const route = (cluster: string, listener?: string): Route => ({
    cluster,
    namespace: 'magnum-system',
    backends: cluster === 'down' ? [] : [backend],
    ...(listener !== undefined && { pool: { listener, allowedCidrs: [] } }),
  });
  const byServerName = new Map([
    ['alpha', route('alpha')],
    ['alpha.magnum-system', route('alpha')],
    ['alpha-web', route('alpha', 'magnum-system/web')],
    ['down', route('down')],
  ]);
  const ports = [
    { name: 'magnum-system/ssh', preferredPort: null, route: route('alpha', 'magnum-system/ssh') },
    { name: 'magnum-system/db', preferredPort: null, route: route('beta', 'magnum-system/db') },
  ];
  expect(routedGroups({ byServerName, defaultRoute: null }, ports)).toEqual(
    new Set(['magnum-system/alpha', 'magnum-system/beta']),
  );
});

test('a cluster and a listener of the same name are counted separately', () => {
  const own = { cluster: 'a', namespace: 'ns' };
  const pooled = { ...own, pool: { listener: 'ns/a', allowedCidrs: [] } };
  const shares = new Map([
    [shareKey(own), 3],
    [shareKey(pooled), 4],
  ]);
  expect(shares.size).toBe(2);
  expect(connectionsByKind(shares)).toEqual({
    clusters: new Map([['ns/a', 3]]),
    listeners: new Map([['ns/a', 4]]),
  });
});
