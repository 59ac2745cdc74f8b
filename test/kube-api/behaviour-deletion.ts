// Deletions: preconditions, finalizers, collections, and the garbage collector that follows owners.
import { expect, test } from 'vitest';
import { until } from '../support/tcp.ts';
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

export function deletionBehaviour(suite: Suite): void {
  const at = (name = '') => slices(suite.namespace, name);
  const create = async (name: string, extra: object = {}) =>
    expectStatus(await suite.client.post(at(), slice(name, extra)), 201).body;

  test('a deletion answers with a Status that names the uid, or with the object where the kind does so', async () => {
    const { metadata } = await create('deleted');
    const { body } = expectStatus(await suite.client.delete(at('deleted')), 200);
    expect(body).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name: 'deleted', group: 'discovery.k8s.io', kind: 'endpointslices', uid: metadata.uid },
    });
    expectStatus(await suite.client.delete(at('deleted')), 404, 'NotFound');
    expectStatus(await suite.client.post(services(suite.namespace), service('deleted')), 201);
    const answer = expectStatus(await suite.client.delete(services(suite.namespace, 'deleted')), 200);
    expect(answer.body.kind).toBe('Service');
  });

  test('a deletion with another uid or version as precondition is a conflict', async () => {
    const { metadata } = await create('guarded');
    const uid = '11111111-2222-3333-4444-555555555555';
    const wrongUid = await suite.client.delete(at('guarded'), { preconditions: { uid } });
    expect(expectStatus(wrongUid, 409, 'Conflict').body.message).toContain(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid})`,
    );
    expectStatus(await suite.client.patch(at('guarded'), { metadata: { labels: { a: '1' } } }), 200);
    const { resourceVersion } = metadata;
    const old = await suite.client.delete(at('guarded'), {
      preconditions: { uid: metadata.uid, resourceVersion },
    });
    expect(expectStatus(old, 409, 'Conflict').body.message).toContain(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record`,
    );
    expectStatus(await suite.client.delete(at('guarded'), { preconditions: { uid: metadata.uid } }), 200);
  });

  test('a finalizer keeps the object until it is removed', async () => {
    await create('kept', { finalizers: ['example.com/keep'] });
    const { body: marked } = expectStatus(await suite.client.delete(at('kept')), 200);
    expect(marked.kind).toBe('EndpointSlice');
    expect(marked.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(marked.metadata.deletionGracePeriodSeconds).toBe(0);
    const { body: again } = expectStatus(await suite.client.delete(at('kept')), 200);
    expect(again.metadata.resourceVersion).toBe(marked.metadata.resourceVersion);
    const added = await suite.client.patch(at('kept'), {
      metadata: { finalizers: ['example.com/keep', 'example.com/more'] },
    });
    expect(expectStatus(added, 422, 'Invalid').body.message).toContain('no new finalizers can be added');
    expectStatus(await suite.client.post(at(), slice('kept')), 409, 'AlreadyExists');
    expectStatus(await suite.client.patch(at('kept'), { metadata: { finalizers: null } }), 200);
    expectStatus(await suite.client.get(at('kept')), 404);
  });

  test('a collection is deleted by label selector', async () => {
    for (const name of ['many-a', 'many-b', 'other'])
      await create(name, { labels: { many: name.slice(0, 4) } });
    expectStatus(await suite.client.delete(`${at()}?labelSelector=many%3Dmany`), 200);
    expectStatus(await suite.client.get(at('many-a')), 404);
    expectStatus(await suite.client.get(at('many-b')), 404);
    expectStatus(await suite.client.get(at('other')), 200);
  });

  test('a dry run deletes nothing', async () => {
    await create('dry-deleted');
    expectStatus(await suite.client.delete(`${at('dry-deleted')}?dryRun=All`), 200);
    expectStatus(await suite.client.get(at('dry-deleted')), 200);
  });

  test('deleting a namespace deletes its objects, and the namespace accepts no new ones', async () => {
    const name = `${suite.namespace}-gone`;
    const path = `/api/v1/namespaces/${name}`;
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    expectStatus(await suite.client.post('/api/v1/namespaces', body), 201);
    const finalizers = ['example.com/keep'];
    expectStatus(await suite.client.post(slices(name), slice('kept', { finalizers })), 201);
    expectStatus(await suite.client.post(slices(name), slice('taken-along')), 201);
    const marked = expectStatus(await suite.client.delete(path), 200).body;
    expect(marked).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
    const late = await suite.client.post(slices(name), slice('late'));
    expect(expectStatus(late, 403, 'Forbidden').body.details.causes[0].reason).toBe('NamespaceTerminating');
    const isGone = async (at: string) => (await suite.client.get(at)).status === 404;
    await until('its content goes', () => isGone(slices(name, 'taken-along')));
    expectStatus(await suite.client.patch(slices(name, 'kept'), { metadata: { finalizers: null } }), 200);
    await until('the namespace goes', () => isGone(path));
  });

  test('an object is collected after its only owner is deleted, and stays if it has another owner', async () => {
    const path = secrets(suite.namespace);
    const first = expectStatus(await suite.client.post(path, secret('owner-1')), 201).body;
    const second = expectStatus(await suite.client.post(path, secret('owner-2')), 201).body;
    const reference = ({ metadata }: { metadata: { name: string; uid: string } }) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      name: metadata.name,
      uid: metadata.uid,
      blockOwnerDeletion: false,
    });
    await create('owned', { ownerReferences: [reference(first)] });
    await create('owned-twice', { ownerReferences: [reference(first), reference(second)] });
    expectStatus(await suite.client.delete(secrets(suite.namespace, 'owner-1')), 200);
    await until(
      'the dependent is collected',
      async () => (await suite.client.get(at('owned'))).status === 404,
    );
    const left = async () => (await suite.client.get(at('owned-twice'))).body.metadata.ownerReferences;
    await until('the dead owner is forgotten', async () => (await left()).length === 1);
    expect(await left()).toEqual([reference(second)]);
  });

  test('an object whose owner does not exist is collected', async () => {
    const uid = '11111111-2222-3333-4444-555555555555';
    const owner = { apiVersion: 'v1', kind: 'Secret', name: 'never-was', uid };
    await create('orphan', { ownerReferences: [owner] });
    await until('it is collected', async () => (await suite.client.get(at('orphan'))).status === 404);
  });

  test('an owner that is deleted in the foreground waits for its blocking dependents', async () => {
    const path = leases(suite.namespace, 'front');
    const { body } = expectStatus(await suite.client.post(leases(suite.namespace), lease('front')), 201);
    const owner = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      name: 'front',
      uid: body.metadata.uid,
      blockOwnerDeletion: true,
    };
    await create('blocking', { ownerReferences: [owner], finalizers: ['example.com/keep'] });
    // The collector must see the dependent before the owner is deleted. It processes events in order: once it has deleted the
    // witness, it has seen the dependent.
    const missing = { ...owner, name: 'never-was', uid: '11111111-2222-3333-4444-666666666666' };
    await create('witness', { ownerReferences: [missing] });
    await until('it knows', async () => (await suite.client.get(at('witness'))).status === 404);
    expectStatus(await suite.client.delete(path, { propagationPolicy: 'Foreground' }), 200);
    const { body: waiting } = expectStatus(await suite.client.get(path), 200);
    expect(waiting.metadata.finalizers).toEqual(['foregroundDeletion']);
    await until(
      'the dependent is marked',
      async () => (await suite.client.get(at('blocking'))).body.metadata.deletionTimestamp !== undefined,
    );
    expectStatus(await suite.client.patch(at('blocking'), { metadata: { finalizers: null } }), 200);
    await until('the owner is gone', async () => (await suite.client.get(path)).status === 404);
  });
}
