// Access rules and the wording of refusals, which the log and `isthmus doctor` quote.
import { expect, test } from 'vitest';
import type { RawClient } from './raw-client.ts';
import { expectStatus, leases, type Suite, secret, secrets, service, services } from './suite.ts';

export function accessBehaviour(suite: Suite): void {
  const listOnly = () =>
    suite.api.restricted([
      { apiGroups: [''], resources: ['services'], verbs: ['get', 'list'], namespace: suite.namespace },
    ]);
  const nameOf = async (client: RawClient): Promise<string> => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { body } = await client.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
    return body.status.userInfo.username;
  };

  test('an unknown token is unauthorized', async () => {
    const answer = await suite.client.get(services(suite.namespace), { token: 'nobody' });
    expect(expectStatus(answer, 401, 'Unauthorized').body.message).toBe('Unauthorized');
  });

  test('a client without a token reaches only the public paths', async () => {
    expectStatus(await suite.client.get('/version', { token: null }), 200);
    expectStatus(await suite.client.get('/readyz', { token: null }), 200);
    const { body } = expectStatus(
      await suite.client.get(services(suite.namespace), { token: null }),
      403,
      'Forbidden',
    );
    expect(body.message).toContain('User "system:anonymous" cannot list resource "services"');
  });

  test('an allowed request succeeds, and discovery is open to every user', async () => {
    const client = await listOnly();
    expectStatus(await client.get(services(suite.namespace)), 200);
    expectStatus(await client.get('/apis'), 200);
    expectStatus(await client.get('/api/v1'), 200);
  });

  test('a refusal names the user, the verb, the resource, the group and the place', async () => {
    const client = await listOnly();
    const name = await nameOf(client);
    const message = async (answer: Promise<Parameters<typeof expectStatus>[0]>) =>
      expectStatus(await answer, 403, 'Forbidden').body.message;
    expect(await message(client.post(services(suite.namespace), service('refused')))).toBe(
      `services is forbidden: User "${name}" cannot create resource "services" in API group "" in the namespace "${suite.namespace}"`,
    );
    expect(await message(client.get(`${services(suite.namespace)}?watch=true`))).toBe(
      `services is forbidden: User "${name}" cannot watch resource "services" in API group "" in the namespace "${suite.namespace}"`,
    );
    expect(await message(client.delete(services(suite.namespace, 'a')))).toBe(
      `services "a" is forbidden: User "${name}" cannot delete resource "services" in API group "" in the namespace "${suite.namespace}"`,
    );
    expect(await message(client.get('/api/v1/services'))).toBe(
      `services is forbidden: User "${name}" cannot list resource "services" in API group "" at the cluster scope`,
    );
    expect(await message(client.get(leases(suite.namespace, 'a')))).toBe(
      `leases.coordination.k8s.io "a" is forbidden: User "${name}" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "${suite.namespace}"`,
    );
    expect(await message(client.patch(`${services(suite.namespace, 'a')}/status`, {}))).toBe(
      `services "a" is forbidden: User "${name}" cannot patch resource "services/status" in API group "" in the namespace "${suite.namespace}"`,
    );
    expect(await message(client.get('/api/v1/nodes/a'))).toBe(
      `nodes "a" is forbidden: User "${name}" cannot get resource "nodes" in API group "" at the cluster scope`,
    );
    const { body } = await client.get(leases(suite.namespace, 'a'));
    expect(body.details).toMatchObject({ name: 'a', group: 'coordination.k8s.io', kind: 'leases' });
  });

  test('a rule can name objects, and then allows a watch of one of them', async () => {
    const client = await suite.api.restricted([
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['named'],
        verbs: ['get', 'list', 'watch'],
        namespace: suite.namespace,
      },
    ]);
    expectStatus(await suite.client.post(secrets(suite.namespace), secret('named')), 201);
    expectStatus(await client.get(secrets(suite.namespace, 'named')), 200);
    expectStatus(await client.get(secrets(suite.namespace, 'other')), 403, 'Forbidden');
    expectStatus(await client.get(secrets(suite.namespace)), 403, 'Forbidden');
    expectStatus(await client.get(`${secrets(suite.namespace)}?fieldSelector=metadata.name%3Dnamed`), 200);
  });

  test('an apply that would create an object needs both verbs', async () => {
    const client = await suite.api.restricted([
      { apiGroups: [''], resources: ['services'], verbs: ['patch'], namespace: suite.namespace },
    ]);
    const answer = await client.apply(
      services(suite.namespace, 'apply-create'),
      service('apply-create'),
      'one',
    );
    expect(expectStatus(answer, 403, 'Forbidden').body.message).toContain(
      'cannot create resource "services"',
    );
    expectStatus(await suite.client.post(services(suite.namespace), service('apply-create')), 201);
    const labelled = { apiVersion: 'v1', kind: 'Service', metadata: { labels: { a: 'b' } } };
    expectStatus(await client.apply(services(suite.namespace, 'apply-create'), labelled, 'one'), 200);
  });

  test('every user may query its own rights', async () => {
    const client = await listOnly();
    const ask = async (verb: string, resource: string, group = '') => {
      const { body } = expectStatus(
        await client.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { namespace: suite.namespace, verb, resource, group } },
        }),
        201,
      );
      return body.status.allowed;
    };
    expect(await ask('list', 'services')).toBe(true);
    expect(await ask('delete', 'services')).toBe(false);
    expect(await ask('list', 'leases', 'coordination.k8s.io')).toBe(false);
  });
}
