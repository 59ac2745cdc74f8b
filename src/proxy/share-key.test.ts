import { expect, test } from 'vitest';
import { connectionsByKind, shareKey } from './share-key.ts';

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
