// Effects on a client when the API server restarts with the same state.
import { expect, test } from 'vitest';
import { until } from '../support/tcp.ts';
import { expectStatus, type Suite, slice, slices } from './suite.ts';

export function restartBehaviour(suite: Suite): void {
  test('objects and versions survive a restart, open watches end, and the history is lost', async () => {
    const path = slices(suite.namespace);
    const { body: list } = expectStatus(await suite.client.get(`${path}?limit=1`), 200);
    const created = expectStatus(await suite.client.post(path, slice('survivor')), 201).body;
    const watch = await suite.client.watch(`${path}?resourceVersion=${created.metadata.resourceVersion}`);
    await suite.api.restart();
    await watch.ended;
    const { body } = expectStatus(await suite.client.get(slices(suite.namespace, 'survivor')), 200);
    expect(body.metadata).toEqual(created.metadata);

    const { body: now } = expectStatus(await suite.client.get(`${path}?limit=1`), 200);
    expect(Number(now.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(created.metadata.resourceVersion),
    );
    // A real API server fills its cache shortly after it is ready. Before that, it may still serve an old version from etcd.
    let first = { type: '', object: { metadata: {} } as Record<string, unknown> };
    await until('the old version has expired', async () => {
      const late = await suite.client.watch(`${path}?resourceVersion=${list.metadata.resourceVersion}`);
      first = await late.next();
      late.close();
      return first.type === 'ERROR';
    });
    expect(first.object).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 });
    expect(first.object.message).toContain(`too old resource version: ${list.metadata.resourceVersion}`);
    const next = await suite.client.watch(`${path}?resourceVersion=${now.metadata.resourceVersion}`);
    expectStatus(await suite.client.post(path, slice('after')), 201);
    expect(await next.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'after' } } });
    next.close();
  });
}
