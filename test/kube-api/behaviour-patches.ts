// The four kinds of patch, and what each does to fields that it does not mention.
import { expect, test } from 'vitest';
import { expectStatus, type Suite, secret, secrets, service, services, slice, slices } from './suite.ts';

export function patchBehaviour(suite: Suite): void {
  const at = (name = '') => services(suite.namespace, name);
  const create = async (name: string, extra: object = {}) =>
    expectStatus(await suite.client.post(at(), service(name, extra)), 201).body;

  test('a merge patch changes the named fields, removes fields that are null, and replaces lists', async () => {
    await create('merge', { labels: { a: '1', b: '2' }, annotations: { c: '3' } });
    const { body } = expectStatus(
      await suite.client.patch(at('merge'), {
        metadata: { labels: { a: null, d: '4' } },
        spec: { ports: [{ name: 'other', port: 1 }] },
      }),
      200,
    );
    expect(body.metadata).toMatchObject({ labels: { b: '2', d: '4' }, annotations: { c: '3' } });
    expect(body.metadata.labels.a).toBeUndefined();
    expect(body.spec.ports).toHaveLength(1);
  });

  test('a patch with a stale resourceVersion fails', async () => {
    const { metadata } = await create('versioned-patch');
    const patch = { metadata: { resourceVersion: metadata.resourceVersion, labels: { a: '1' } } };
    expectStatus(await suite.client.patch(at('versioned-patch'), patch), 200);
    const again = { metadata: { ...patch.metadata, labels: { a: '2' } } };
    expectStatus(await suite.client.patch(at('versioned-patch'), again), 409, 'Conflict');
  });

  test('a patch that changes nothing creates no new version', async () => {
    const { metadata } = await create('same-patch', { labels: { a: '1' } });
    const { body } = expectStatus(
      await suite.client.patch(at('same-patch'), { metadata: { labels: { a: '1' } } }),
      200,
    );
    expect(body.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  test('a patch of a missing object is not found and creates nothing', async () => {
    expectStatus(await suite.client.patch(at('nobody'), { metadata: { labels: {} } }), 404, 'NotFound');
  });

  test('a JSON patch tests, adds, replaces and removes', async () => {
    await create('json', { labels: { a: '1' }, annotations: { 'x/y': 'z' } });
    const { body } = expectStatus(
      await suite.client.patch(
        at('json'),
        [
          { op: 'test', path: '/metadata/labels/a', value: '1' },
          { op: 'replace', path: '/metadata/labels/a', value: '2' },
          { op: 'add', path: '/metadata/labels/b', value: '3' },
          { op: 'remove', path: '/metadata/annotations/x~1y' },
          { op: 'add', path: '/spec/ports/-', value: { name: 'more', port: 2 } },
        ],
        'application/json-patch+json',
      ),
      200,
    );
    expect(body.metadata.labels).toEqual({ a: '2', b: '3' });
    expect(body.metadata.annotations).toBeUndefined();
    expect(body.spec.ports.map(({ name }: { name: string }) => name)).toEqual(['https', 'more']);
  });

  test('a JSON patch whose test fails changes nothing', async () => {
    const { metadata } = await create('json-test', { labels: { a: '1' } });
    const patch = [
      { op: 'replace', path: '/metadata/labels/a', value: '2' },
      { op: 'test', path: '/metadata/labels/a', value: '3' },
    ];
    const type = 'application/json-patch+json';
    expectStatus(await suite.client.patch(at('json-test'), patch, type), 422, 'Invalid');
    const missing = [{ op: 'remove', path: '/metadata/labels/nothing' }];
    expectStatus(await suite.client.patch(at('json-test'), missing, type), 422, 'Invalid');
    expectStatus(await suite.client.patch(at('json-test'), { op: 'add' }, type), 400, 'BadRequest');
    expect((await suite.client.get(at('json-test'))).body.metadata).toMatchObject({
      resourceVersion: metadata.resourceVersion,
      labels: { a: '1' },
    });
  });

  test('a strategic merge patch merges the ports of a Service by their number', async () => {
    await create('strategic');
    const { body } = expectStatus(
      await suite.client.patch(
        at('strategic'),
        { spec: { ports: [{ port: 7, name: 'seven' }] } },
        'application/strategic-merge-patch+json',
      ),
      200,
    );
    expect(body.spec.ports.map(({ port }: { port: number }) => port).sort()).toEqual([6443, 7]);
    const { body: removed } = expectStatus(
      await suite.client.patch(
        at('strategic'),
        { spec: { ports: [{ port: 7, $patch: 'delete' }] } },
        'application/strategic-merge-patch+json',
      ),
      200,
    );
    expect(removed.spec.ports.map(({ port }: { port: number }) => port)).toEqual([6443]);
  });

  test('a strategic merge patch replaces the endpoints of a slice as a whole', async () => {
    expectStatus(await suite.client.post(slices(suite.namespace), slice('strategic')), 201);
    const { body } = expectStatus(
      await suite.client.patch(
        slices(suite.namespace, 'strategic'),
        { endpoints: [{ addresses: ['192.0.2.11'] }] },
        'application/strategic-merge-patch+json',
      ),
      200,
    );
    expect(body.endpoints).toEqual([{ addresses: ['192.0.2.11'], conditions: {} }]);
  });

  test('a patch of one key of a Secret keeps the other keys', async () => {
    expectStatus(await suite.client.post(secrets(suite.namespace), secret('patched')), 201);
    const { body } = expectStatus(
      await suite.client.patch(secrets(suite.namespace, 'patched'), { data: { other: 'b3RoZXI=' } }),
      200,
    );
    expect(body.data).toEqual({ value: 'a3ViZWNvbmZpZw==', other: 'b3RoZXI=' });
  });

  test('the result of a patch is validated', async () => {
    await create('validated');
    const { body } = expectStatus(
      await suite.client.patch(at('validated'), { metadata: { labels: { a: '-' } } }),
      422,
      'Invalid',
    );
    expect(body.message).toContain('metadata.labels: Invalid value: "-"');
    expectStatus(await suite.client.patch(at('validated'), { spec: { ports: 'x' } }), 422, 'Invalid');
    expectStatus(await suite.client.patch(at('validated'), { metadata: { name: 'x' } }), 400, 'BadRequest');
    expectStatus(await suite.client.patch(at('validated'), {}, 'text/plain'), 415, 'UnsupportedMediaType');
  });

  test('the identity and the creation time of an object cannot be patched', async () => {
    const { metadata } = await create('identity');
    const { body } = expectStatus(
      await suite.client.patch(at('identity'), {
        metadata: { creationTimestamp: '2020-01-01T00:00:00Z', generation: 9, labels: { a: '1' } },
      }),
      200,
    );
    expect(body.metadata.creationTimestamp).toBe(metadata.creationTimestamp);
    const uid = '11111111-2222-3333-4444-555555555555';
    const answer = await suite.client.patch(at('identity'), { metadata: { uid } });
    expect([409, 422]).toContain(answer.status);
  });
}
