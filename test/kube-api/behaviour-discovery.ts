// The served groups and resources, and the answer for a path that is not served.
import { expect, test } from 'vitest';
import { expectStatus, type Suite } from './suite.ts';

export function discoveryBehaviour(suite: Suite): void {
  test('returns its version and reports that it is ready', async () => {
    expect((await suite.client.get('/version')).body).toMatchObject({ major: '1', gitVersion: /^v1\./ });
    expect((await suite.client.get('/readyz')).text).toBe('ok');
    expect((await suite.client.get('/livez')).text).toBe('ok');
  });

  test('lists the core version, and every group with its preferred version', async () => {
    expect((await suite.client.get('/api')).body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    const { body } = await suite.client.get('/apis');
    expect(body.kind).toBe('APIGroupList');
    for (const name of ['discovery.k8s.io', 'coordination.k8s.io', 'events.k8s.io', 'apiextensions.k8s.io'])
      expect(body.groups).toContainEqual(
        expect.objectContaining({
          name,
          preferredVersion: { groupVersion: `${name}/v1`, version: 'v1' },
        }),
      );
    expect((await suite.client.get('/apis/discovery.k8s.io')).body).toMatchObject({
      kind: 'APIGroup',
      name: 'discovery.k8s.io',
    });
  });

  test('lists the resources of a version with their verbs, and status as a separate resource', async () => {
    const core = (await suite.client.get('/api/v1')).body;
    expect(core).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' });
    expect(core.resources).toContainEqual(
      expect.objectContaining({
        name: 'services',
        namespaced: true,
        kind: 'Service',
        singularName: 'service',
        verbs: expect.arrayContaining(['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']),
      }),
    );
    expect(core.resources).toContainEqual(expect.objectContaining({ name: 'services/status' }));
    const discovery = (await suite.client.get('/apis/discovery.k8s.io/v1')).body;
    expect(discovery.resources).toContainEqual(
      expect.objectContaining({ name: 'endpointslices', namespaced: true, kind: 'EndpointSlice' }),
    );
  });

  test('answers an unknown group with a 404 in plain text', async () => {
    for (const path of ['/apis/nowhere.example.com', '/apis/nowhere.example.com/v1', '/nowhere']) {
      const answer = expectStatus(await suite.client.get(path), 404);
      // An admin may get a Status for /nowhere.
      if (path.startsWith('/apis')) expect(answer.text).toBe('404 page not found\n');
    }
    const answer = await suite.client.get('/apis/nowhere.example.com/v1/namespaces/default/things');
    expect([answer.status, answer.text]).toEqual([404, '404 page not found\n']);
  });

  test('answers an unknown resource of a known group with a Status', async () => {
    const { body } = expectStatus(await suite.client.get('/api/v1/things'), 404, 'NotFound');
    expect(body.message).toBe('the server could not find the requested resource');
    expectStatus(await suite.client.get('/apis/discovery.k8s.io/v1/things'), 404, 'NotFound');
    expectStatus(
      await suite.client.get('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/a/status'),
      404,
    );
  });
}
