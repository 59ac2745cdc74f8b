// Server-side apply from the user's point of view: field ownership, and fields that a manager no longer applies.
import { expect, test } from 'vitest';
import { expectStatus, type Suite, services, slice, slices } from './suite.ts';

const applied = (
  name: string,
  labels?: Record<string, string>,
  ports: readonly object[] = [{ name: 'https', port: 6443 }],
) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
  spec: { ports },
});

export function applyBehaviour(suite: Suite): void {
  const at = (name: string) => services(suite.namespace, name);

  test('the first apply creates an object, and the same apply again changes nothing', async () => {
    const { body } = expectStatus(
      await suite.client.apply(at('apply'), applied('apply', { a: '1' }), 'one'),
      201,
    );
    const again = expectStatus(
      await suite.client.apply(at('apply'), applied('apply', { a: '1' }), 'one'),
      200,
    );
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    expect(body.spec.clusterIP).toBeDefined();
  });

  test('a field that its manager no longer applies is removed, and fields of other managers stay', async () => {
    expectStatus(await suite.client.apply(at('gone'), applied('gone', { a: '1', b: '2' }), 'one'), 201);
    expectStatus(await suite.client.patch(at('gone'), { metadata: { labels: { c: '3' } } }), 200);
    const { body } = expectStatus(
      await suite.client.apply(at('gone'), applied('gone', { a: '1' }), 'one'),
      200,
    );
    expect(body.metadata.labels).toEqual({ a: '1', c: '3' });
  });

  test('a field of another manager is a conflict, unless the apply is forced or the value is equal', async () => {
    expectStatus(await suite.client.apply(at('contested'), applied('contested', { a: '1' }), 'one'), 201);
    const { body } = expectStatus(
      await suite.client.apply(at('contested'), applied('contested', { a: '2' }), 'two'),
      409,
      'Conflict',
    );
    expect(body.details.causes).toContainEqual(
      expect.objectContaining({
        reason: 'FieldManagerConflict',
        message: expect.stringContaining('conflict with "one"'),
        field: '.metadata.labels.a',
      }),
    );
    expectStatus(await suite.client.apply(at('contested'), applied('contested', { a: '1' }), 'two'), 200);
    const forced = expectStatus(
      await suite.client.apply(at('contested'), applied('contested', { a: '3' }), 'two', true),
      200,
    );
    expect(forced.body.metadata.labels).toEqual({ a: '3' });
    expectStatus(
      await suite.client.apply(at('contested'), applied('contested', { a: '1' }), 'one'),
      409,
      'Conflict',
    );
  });

  test('a field that two managers share stays until both managers drop it', async () => {
    expectStatus(await suite.client.apply(at('shared'), applied('shared', { a: '1' }), 'one'), 201);
    expectStatus(await suite.client.apply(at('shared'), applied('shared', { a: '1' }), 'two'), 200);
    const first = expectStatus(await suite.client.apply(at('shared'), applied('shared', {}), 'one'), 200);
    expect(first.body.metadata.labels).toEqual({ a: '1' });
    const second = expectStatus(await suite.client.apply(at('shared'), applied('shared', {}), 'two'), 200);
    expect(second.body.metadata.labels).toBeUndefined();
  });

  test('ports of a Service have separate owners', async () => {
    expectStatus(await suite.client.apply(at('ports'), applied('ports'), 'one'), 201);
    const more = applied('ports', undefined, [{ name: 'more', port: 7 }]);
    const two = expectStatus(await suite.client.apply(at('ports'), more, 'two'), 200);
    expect(two.body.spec.ports.map(({ port }: { port: number }) => port)).toEqual([6443, 7]);
    const other = applied('ports', undefined, [{ name: 'other', port: 8 }]);
    const three = expectStatus(await suite.client.apply(at('ports'), other, 'two'), 200);
    expect(three.body.spec.ports.map(({ port }: { port: number }) => port)).toEqual([6443, 8]);
  });

  test('an update by another manager takes ownership of the fields that it changes', async () => {
    expectStatus(await suite.client.apply(at('updated-by'), applied('updated-by', { a: '1' }), 'one'), 201);
    expectStatus(await suite.client.patch(at('updated-by'), { metadata: { labels: { a: '9' } } }), 200);
    const { body } = expectStatus(
      await suite.client.apply(at('updated-by'), applied('updated-by', { a: '1' }), 'one'),
      409,
      'Conflict',
    );
    expect(body.details.causes[0].message).toContain('conflict with "behaviour"');
  });

  test('an apply with an old resourceVersion is a conflict', async () => {
    const { body } = expectStatus(
      await suite.client.apply(at('version'), applied('version', { a: '1' }), 'one'),
      201,
    );
    const next = applied('version', { a: '2' });
    expectStatus(await suite.client.apply(at('version'), next, 'one'), 200);
    const old = { ...next, metadata: { ...next.metadata, resourceVersion: body.metadata.resourceVersion } };
    expectStatus(await suite.client.apply(at('version'), old, 'one'), 409, 'Conflict');
  });

  test('an apply without a field manager is rejected', async () => {
    const type = 'application/apply-patch+yaml';
    const answer = await suite.client.patch(at('nameless'), applied('nameless', {}), type);
    expect([400, 422]).toContain(answer.status);
    expect(answer.body.message).toContain('fieldManager');
  });

  test('an apply that creates an object must have the name in its body too', async () => {
    const { metadata: _metadata, ...rest } = applied('unnamed', {});
    const { body } = expectStatus(
      await suite.client.apply(at('unnamed'), { ...rest, metadata: {} }, 'one'),
      400,
      'BadRequest',
    );
    expect(body.message).toContain('name must be provided');
    expectStatus(await suite.client.apply(at('unnamed'), applied('other', {}), 'one'), 400, 'BadRequest');
  });

  test('the list of endpoints of a slice is applied as one field', async () => {
    const path = slices(suite.namespace, 'applied');
    expectStatus(await suite.client.apply(path, slice('applied'), 'one'), 201);
    const other = slice('applied', {}, { endpoints: [{ addresses: ['192.0.2.77'] }] });
    expectStatus(await suite.client.apply(path, other, 'two'), 409, 'Conflict');
    const { body } = expectStatus(await suite.client.apply(path, other, 'one'), 200);
    expect(body.endpoints).toHaveLength(1);
    expect(body.endpoints[0].addresses).toEqual(['192.0.2.77']);
  });
}
