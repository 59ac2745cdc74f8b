// The suite that defines the Kubernetes API behaviour we rely on. `npm test` runs it against the in-memory management API,
// `npm run test:e2e` against a real kube-apiserver. If the two differ, the in-memory API is wrong.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import { accessBehaviour } from './behaviour-access.ts';
import { additionalListenerBehaviour } from './behaviour-additional-listeners.ts';
import { applyBehaviour } from './behaviour-apply.ts';
import { customResourceBehaviour } from './behaviour-custom-resources.ts';
import { deletionBehaviour } from './behaviour-deletion.ts';
import { discoveryBehaviour } from './behaviour-discovery.ts';
import { listBehaviour } from './behaviour-lists.ts';
import { patchBehaviour } from './behaviour-patches.ts';
import { restartBehaviour } from './behaviour-restarts.ts';
import { validationBehaviour } from './behaviour-validation.ts';
import { watchBehaviour } from './behaviour-watches.ts';
import { writeBehaviour } from './behaviour-writes.ts';
import { type ApiUnderTest, expectStatus, type Suite } from './suite.ts';

/** `definitions` of OpenStackCluster for the suite, by a name for the test title. */
export function apiBehaviour(
  start: () => Promise<ApiUnderTest>,
  definitions: ReadonlyMap<string, StoredObject>,
): void {
  const namespace = `behaviour-${randomBytes(4).toString('hex')}`;
  let api: ApiUnderTest | null = null;
  const suite: Suite = {
    get api() {
      return api as ApiUnderTest;
    },
    get client() {
      return (api as ApiUnderTest).client;
    },
    namespace,
  };

  beforeAll(async () => {
    api = await start();
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
    expectStatus(await api.client.post('/api/v1/namespaces', body), 201);
  });
  afterAll(async () => {
    api?.client.close();
    await api?.stop();
  });

  describe('discovery', () => discoveryBehaviour(suite));
  describe('writes', () => writeBehaviour(suite));
  describe('patches', () => patchBehaviour(suite));
  describe('server-side apply', () => applyBehaviour(suite));
  describe('validation', () => validationBehaviour(suite));
  describe('lists', () => listBehaviour(suite));
  describe('watches', () => watchBehaviour(suite));
  describe('deletions', () => deletionBehaviour(suite));
  describe('access', () => accessBehaviour(suite));
  describe('a restart', () => restartBehaviour(suite));
  describe('custom resources', () => customResourceBehaviour(suite, definitions));
  describe('additional listeners', () => additionalListenerBehaviour(suite));
}
