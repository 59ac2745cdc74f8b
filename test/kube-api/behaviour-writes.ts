// create and update: fields that the server sets, requests that it rejects, and versions that prevent lost updates.
import { expect, test } from 'vitest';
import {
  expectStatus,
  lease,
  leases,
  type Suite,
  secret,
  secrets,
  service,
  services,
  slice,
  slices,
} from './suite.ts';

export function writeBehaviour(suite: Suite): void {
  const at = (name = '') => services(suite.namespace, name);

  test('a created object has a uid, a version, a creation time, and the defaults of its kind', async () => {
    const { body } = expectStatus(
      await suite.client.post(at(), {
        kind: 'Service',
        metadata: { name: 'created' },
        spec: { ports: [{ port: 6443 }] },
      }),
      201,
    );
    expect(body).toMatchObject({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'created',
        namespace: suite.namespace,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
      spec: {
        type: 'ClusterIP',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        clusterIP: expect.stringMatching(/^10\.\d+\.\d+\.\d+$/),
        ports: [{ port: 6443, targetPort: 6443, protocol: 'TCP' }],
      },
      status: { loadBalancer: {} },
    });
    expect(body.spec.clusterIPs).toEqual([body.spec.clusterIP]);
    expect((await suite.client.get(at('created'))).body).toMatchObject({ metadata: body.metadata });
  });

  test('an EndpointSlice port gets a default protocol and name', async () => {
    const { body } = expectStatus(
      await suite.client.post(slices(suite.namespace), slice('defaults', {}, { ports: [{ port: 1 }] })),
      201,
    );
    expect(body.ports).toEqual([{ name: '', port: 1, protocol: 'TCP' }]);
    expect(body.metadata.generation).toBe(1);
  });

  test('a Secret without a type is Opaque, and its stringData becomes data', async () => {
    const { body } = expectStatus(
      await suite.client.post(secrets(suite.namespace), {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'strings' },
        stringData: { value: 'text' },
      }),
      201,
    );
    expect(body).toMatchObject({ type: 'Opaque', data: { value: 'dGV4dA==' } });
    expect(body.stringData).toBeUndefined();
  });

  test('a create with an existing name is rejected', async () => {
    expectStatus(await suite.client.post(at(), service('taken')), 201);
    const { body } = expectStatus(await suite.client.post(at(), service('taken')), 409, 'AlreadyExists');
    expect(body.message).toBe('services "taken" already exists');
    expect(body.details).toMatchObject({ name: 'taken', kind: 'services' });
  });

  test('generateName generates a name', async () => {
    const body = { ...service(''), metadata: { generateName: 'made-' } };
    const first = expectStatus(await suite.client.post(at(), body), 201).body;
    const second = expectStatus(await suite.client.post(at(), body), 201).body;
    expect(first.metadata.name).toMatch(/^made-[a-z0-9]{5}$/);
    expect(first.metadata.name).not.toBe(second.metadata.name);
  });

  test('a missing object is not found', async () => {
    const { body } = expectStatus(await suite.client.get(at('nobody')), 404, 'NotFound');
    expect(body.message).toBe('services "nobody" not found');
    const other = expectStatus(await suite.client.get(slices(suite.namespace, 'nobody')), 404, 'NotFound');
    expect(other.body.message).toBe('endpointslices.discovery.k8s.io "nobody" not found');
    expectStatus(await suite.client.put(slices(suite.namespace, 'nobody'), slice('nobody')), 404, 'NotFound');
  });

  test('a create in a missing namespace is rejected', async () => {
    const { body } = expectStatus(
      await suite.client.post(services('no-such-namespace'), service('a')),
      404,
      'NotFound',
    );
    expect(body.message).toBe('namespaces "no-such-namespace" not found');
  });

  test('names and namespaces in the object and the path must match', async () => {
    const elsewhere = service('elsewhere', { namespace: 'default' });
    expectStatus(await suite.client.post(at(), elsewhere), 400, 'BadRequest');
    expectStatus(await suite.client.post(at(), service('path')), 201);
    const { body } = expectStatus(await suite.client.put(at('path'), service('other')), 400, 'BadRequest');
    expect(body.message).toContain('does not match the name on the URL');
  });

  test('kind and version in the object and the path must match', async () => {
    expectStatus(await suite.client.post(at(), { ...service('kind'), kind: 'Secret' }), 400, 'BadRequest');
    expectStatus(await suite.client.post(at(), { ...service('kind'), apiVersion: 'v2' }), 400, 'BadRequest');
  });

  test('an update with an old resourceVersion is a conflict', async () => {
    const { body: first } = expectStatus(await suite.client.post(at(), service('updated')), 201);
    const changed = { ...first, metadata: { ...first.metadata, labels: { a: '1' } } };
    const { body: second } = expectStatus(await suite.client.put(at('updated'), changed), 200);
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
    expect(second.metadata.uid).toBe(first.metadata.uid);
    const { body } = expectStatus(await suite.client.put(at('updated'), changed), 409, 'Conflict');
    expect(body.message).toBe(
      'Operation cannot be fulfilled on services "updated": the object has been modified; ' +
        'please apply your changes to the latest version and try again',
    );
  });

  test('an update without a resourceVersion replaces a Service and keeps its cluster IP', async () => {
    const { body: first } = expectStatus(await suite.client.post(at(), service('unconditional')), 201);
    const { body } = expectStatus(
      await suite.client.put(at('unconditional'), service('unconditional', { labels: { a: 'b' } })),
      200,
    );
    expect(body.metadata.labels).toEqual({ a: 'b' });
    expect(body.spec.clusterIP).toBe(first.spec.clusterIP);
  });

  test('a Lease is created by its first update, and later ones need the resourceVersion', async () => {
    const path = leases(suite.namespace, 'first');
    const { body } = expectStatus(await suite.client.put(path, lease('first')), 201);
    const { body: refused } = expectStatus(
      await suite.client.put(path, lease('first', { leaseTransitions: 1 })),
      422,
      'Invalid',
    );
    expect(refused.message).toContain('metadata.resourceVersion');
    const renewed = { ...body, spec: { ...body.spec, renewTime: '2026-08-01T10:00:10.000000Z' } };
    expectStatus(await suite.client.put(path, renewed), 200);
    expectStatus(await suite.client.put(path, renewed), 409, 'Conflict');
  });

  test('an update that changes nothing creates no new version', async () => {
    const { body: first } = expectStatus(
      await suite.client.post(slices(suite.namespace), slice('same', { labels: { a: 'b' } })),
      201,
    );
    const { body } = expectStatus(await suite.client.put(slices(suite.namespace, 'same'), first), 200);
    expect(body.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test('the generation of a slice counts changes of content and labels, not of annotations', async () => {
    const path = slices(suite.namespace, 'generation');
    expectStatus(await suite.client.post(slices(suite.namespace), slice('generation')), 201);
    const after = async (patch: object) =>
      expectStatus(await suite.client.patch(path, patch), 200).body.metadata.generation;
    expect(await after({ metadata: { annotations: { a: 'b' } } })).toBe(1);
    expect(await after({ metadata: { labels: { a: 'b' } } })).toBe(2);
    expect(await after({ ports: [] })).toBe(3);
  });

  test('an update for another uid is a conflict', async () => {
    const { body: first } = expectStatus(await suite.client.post(at(), service('uid')), 201);
    const other = {
      ...first,
      metadata: { ...first.metadata, uid: '11111111-2222-3333-4444-555555555555' },
    };
    const { body } = expectStatus(await suite.client.put(at('uid'), other), 409, 'Conflict');
    expect(body.message).toContain('UID in precondition');
  });

  test('a dry run is validated and not stored', async () => {
    expectStatus(await suite.client.post(`${at()}?dryRun=All`, service('dry')), 201);
    expectStatus(await suite.client.get(at('dry')), 404);
    expectStatus(await suite.client.post(`${at()}?dryRun=All`, service('1dry')), 422, 'Invalid');
  });

  test('unknown fields are dropped, or rejected if the client requests strict validation', async () => {
    const strange = { ...service('strange'), spec: { ports: [{ port: 1 }], bogus: true } };
    const { body } = expectStatus(
      await suite.client.post(`${at()}?fieldValidation=Strict`, strange),
      400,
      'BadRequest',
    );
    expect(body.message).toContain('strict decoding error: unknown field "spec.bogus"');
    const warned = expectStatus(await suite.client.post(`${at()}?fieldValidation=Warn`, strange), 201);
    expect(warned.body.spec.bogus).toBeUndefined();
    expect(warned.headers.warning).toContain('unknown field \\"spec.bogus\\"');
  });

  test('a field of the wrong type is a bad request', async () => {
    const wrong = { ...service('wrong'), spec: { ports: 'none' } };
    expectStatus(await suite.client.post(at(), wrong), 400, 'BadRequest');
    const labels = { ...service('wrong'), metadata: { name: 'wrong', labels: { a: 1 } } };
    expectStatus(await suite.client.post(at(), labels), 400, 'BadRequest');
    expectStatus(await suite.client.post(at(), '{"kind":'), 400, 'BadRequest');
    expectStatus(await suite.client.post(at(), '[]'), 400, 'BadRequest');
  });

  test('a body that is too large is rejected', async () => {
    const large = { ...secret('large'), data: { value: 'A'.repeat(3 * 1024 * 1024) } };
    expectStatus(await suite.client.post(secrets(suite.namespace), large), 413, 'RequestEntityTooLarge');
  });

  test('an unknown content type is rejected', async () => {
    const answer = await suite.client.post(at(), 'text', { contentType: 'text/plain' });
    expectStatus(answer, 415, 'UnsupportedMediaType');
  });

  test('an object can be sent as YAML', async () => {
    const yaml = 'apiVersion: v1\nkind: Service\nmetadata: {name: yaml}\nspec: {ports: [{port: 1}]}\n';
    expectStatus(await suite.client.post(at(), yaml, { contentType: 'application/yaml' }), 201);
  });

  test('a verb that the path does not support is not allowed', async () => {
    for (const answer of [
      await suite.client.post(slices(suite.namespace, 'a'), slice('a')),
      await suite.client.put(slices(suite.namespace), slice('a')),
      await suite.client.patch(slices(suite.namespace), {}),
      await suite.client.post('/apis/discovery.k8s.io/v1/endpointslices', slice('a')),
    ])
      expect(expectStatus(answer, 405, 'MethodNotAllowed').body.message).toBe(
        'the server does not allow this method on the requested resource',
      );
  });

  test('a create with a resourceVersion is rejected', async () => {
    const answer = await suite.client.post(at(), service('versioned', { resourceVersion: '1' }));
    expect([400, 500]).toContain(answer.status);
    expect(answer.body.message).toContain('resourceVersion should not be set on objects to be created');
  });
}
