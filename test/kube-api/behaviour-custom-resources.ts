// OpenStackClusters: a kind that appears with its definition, in several versions, with separate spec and status. Runs with our
// reduced definition and, if available, with the definitions of CAPO's releases.
import { describe, expect, test } from 'vitest';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import { MACHINE_VERSIONS, machineDefinition } from '../fake-kube-api/types/cluster-api-definitions.ts';
import { until } from '../support/tcp.ts';
import { expectStatus, type Suite } from './suite.ts';

const GROUP = 'infrastructure.cluster.x-k8s.io';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const DEFINITION = `${DEFINITIONS}/openstackclusters.${GROUP}`;

interface Version {
  name: string;
  served: boolean;
  storage: boolean;
}

const versionsOf = (definition: StoredObject): Version[] =>
  (definition.spec as { versions: Version[] }).versions;

/** A valid cluster in each version. */
export function openStackCluster(version: string, name: string, spec: object = {}): object {
  const identity = version.startsWith('v1alpha')
    ? { kind: 'Secret', name: 'cloud' }
    : { name: 'cloud', cloudName: 'default' };
  const flag =
    version === 'v1beta2' ? { apiServer: { enableFloatingIP: false } } : { disableAPIServerFloatingIP: true };
  return {
    apiVersion: `${GROUP}/${version}`,
    kind: 'OpenStackCluster',
    metadata: { name, labels: { 'cluster.x-k8s.io/cluster-name': name } },
    spec: { identityRef: identity, ...flag, ...spec },
  };
}

export function customResourceBehaviour(suite: Suite, definitions: ReadonlyMap<string, StoredObject>): void {
  const at = (version: string, name = '') =>
    `/apis/${GROUP}/${version}/namespaces/${suite.namespace}/openstackclusters${name === '' ? '' : `/${name}`}`;
  const isServed = async (version: string) => (await suite.client.get(at(version))).status === 200;

  const install = async (definition: StoredObject) => {
    expectStatus(await suite.client.post(DEFINITIONS, definition), 201);
    for (const { name, served } of versionsOf(definition))
      if (served) await until(`${name} is served`, () => isServed(name));
  };
  const uninstall = async () => {
    expectStatus(await suite.client.delete(DEFINITION), 200);
    await until('the definition is gone', async () => (await suite.client.get(DEFINITION)).status === 404);
    await until('the group is gone', async () => (await suite.client.get(`/apis/${GROUP}`)).status === 404);
  };

  test('a kind without a definition is not found, in plain text', async () => {
    const answer = expectStatus(await suite.client.get(at('v1beta1')), 404);
    expect(answer.text).toBe('404 page not found\n');
    expectStatus(await suite.client.get(DEFINITION), 404, 'NotFound');
  });

  describe.each([...definitions])('with the definition %s', (_title, definition) => {
    const versions = versionsOf(definition);
    const storage = (versions.find((version) => version.storage) as Version).name;
    const served = versions.filter((version) => version.served).map(({ name }) => name);
    const status = { ready: true, network: { id: 'n-1', name: 'net' } };

    test('the kind is served and discovered as soon as the definition is established', async () => {
      await install(definition);
      const statusOf = async () => expectStatus(await suite.client.get(DEFINITION), 200).body.status;
      const isEstablished = ({ type, status: is }: { type: string; status: string }) =>
        type === 'Established' && is === 'True';
      await until('it is established', async () => (await statusOf()).conditions.some(isEstablished));
      expect((await statusOf()).storedVersions).toEqual([storage]);
      const group = async () => (await suite.client.get(`/apis/${GROUP}`)).body;
      await until('the group is discovered', async () => (await group())?.kind === 'APIGroup');
      const found = await group();
      expect(found.versions.map(({ version }: { version: string }) => version).sort()).toEqual(
        [...served].sort(),
      );
      // The preferred version is the highest-ranked served version, whatever the storage version is.
      const best = ['v1beta2', 'v1beta1', 'v1alpha7', 'v1alpha6'].find((version) => served.includes(version));
      expect(found.preferredVersion.version).toBe(best);
      // A real API server discovers the group before the resources of each version.
      const discovery = () => suite.client.get(`/apis/${GROUP}/${storage}`);
      await until('the resources are discovered', async () => (await discovery()).status === 200);
      const { body: resources } = expectStatus(await discovery(), 200);
      expect(resources.resources).toContainEqual(
        expect.objectContaining({ name: 'openstackclusters', kind: 'OpenStackCluster', namespaced: true }),
      );
      expect(resources.resources).toContainEqual(
        expect.objectContaining({ name: 'openstackclusters/status' }),
      );
    });

    test('a version that is not served is not found', async () => {
      for (const { name, served: isOn } of versions)
        if (!isOn) expect((await suite.client.get(at(name))).text).toBe('404 page not found\n');
    });

    test('spec and status are written separately, and only a change of the spec increases the generation', async () => {
      const body = { ...openStackCluster(storage, 'apart'), status };
      const created = expectStatus(await suite.client.post(at(storage), body), 201).body;
      expect(created.status?.network).toBeUndefined();
      expect(created.metadata.generation).toBe(1);
      const path = at(storage, 'apart');
      const patch = { spec: { controlPlaneEndpoint: { host: '10.0.0.5', port: 6443 } }, status };
      const written = expectStatus(await suite.client.patch(path, patch), 200).body;
      expect(written.status?.network).toBeUndefined();
      expect(written.metadata.generation).toBe(2);
      const other = { spec: { controlPlaneEndpoint: { host: '10.9.9.9', port: 1 } }, status };
      const { body: reported } = expectStatus(await suite.client.patch(`${path}/status`, other), 200);
      expect(reported.status.network).toMatchObject({ id: 'n-1' });
      expect(reported.spec.controlPlaneEndpoint.host).toBe('10.0.0.5');
      expect(reported.metadata.generation).toBe(2);
      const got = expectStatus(await suite.client.get(`${path}/status`), 200).body;
      expect(got).toMatchObject({ spec: reported.spec, status: reported.status });
    });

    test('unknown fields are pruned, and invalid fields are rejected', async () => {
      const strange = openStackCluster(storage, 'strange', { bogus: { a: 1 } });
      const { body } = expectStatus(await suite.client.post(at(storage), strange), 201);
      expect(body.spec.bogus).toBeUndefined();
      const strict = await suite.client.post(`${at(storage)}?fieldValidation=Strict`, strange);
      expectStatus(strict, 400, 'BadRequest');
      const wrong = openStackCluster(storage, 'wrong', { controlPlaneEndpoint: { host: 5, port: 1 } });
      const refused = expectStatus(await suite.client.post(at(storage), wrong), 422, 'Invalid');
      expect(refused.body.message).toContain('spec.controlPlaneEndpoint.host');
      const bad = { status: { ready: true, network: { id: 'only' } } };
      expectStatus(await suite.client.patch(`${at(storage, 'strange')}/status`, bad), 422, 'Invalid');
      expectStatus(await suite.client.post(at(storage), { ...strange, kind: undefined }), 400, 'BadRequest');
    });

    test('an update needs the resourceVersion, and a strategic merge patch is not supported', async () => {
      expectStatus(await suite.client.post(at(storage), openStackCluster(storage, 'unversioned')), 201);
      const path = at(storage, 'unversioned');
      expectStatus(await suite.client.put(path, openStackCluster(storage, 'unversioned')), 422, 'Invalid');
      const answer = await suite.client.patch(path, {}, 'application/strategic-merge-patch+json');
      expectStatus(answer, 415, 'UnsupportedMediaType');
    });

    test('every served version shows the object under its own name', async () => {
      expectStatus(await suite.client.post(at(storage), openStackCluster(storage, 'everywhere')), 201);
      for (const version of served) {
        const { body } = expectStatus(await suite.client.get(at(version, 'everywhere')), 200);
        expect(body.apiVersion).toBe(`${GROUP}/${version}`);
        const list = expectStatus(await suite.client.get(at(version)), 200).body;
        expect(list).toMatchObject({ kind: 'OpenStackClusterList', apiVersion: `${GROUP}/${version}` });
        expect(list.items[0]).toMatchObject({ kind: 'OpenStackCluster', apiVersion: `${GROUP}/${version}` });
      }
    });

    test('a watch sees custom objects and changes of their status', async () => {
      const { body: list } = expectStatus(await suite.client.get(`${at(storage)}?limit=1`), 200);
      const watch = await suite.client.watch(
        `${at(storage)}?resourceVersion=${list.metadata.resourceVersion}`,
      );
      expectStatus(await suite.client.post(at(storage), openStackCluster(storage, 'watched')), 201);
      expectStatus(await suite.client.patch(`${at(storage, 'watched')}/status`, { status }), 200);
      expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'watched' } } });
      expect(await watch.next()).toMatchObject({
        type: 'MODIFIED',
        object: { status: { network: { id: 'n-1' } } },
      });
      watch.close();
    });

    test('disabling a watched version ends the watch, and the version is no longer found', async () => {
      const other = served.find((version) => version !== storage);
      if (other === undefined) return;
      const { body: list } = expectStatus(await suite.client.get(at(other)), 200);
      const watch = await suite.client.watch(
        `${at(other)}?resourceVersion=${list.metadata.resourceVersion}&timeoutSeconds=20`,
      );
      const { body } = expectStatus(await suite.client.get(DEFINITION), 200);
      for (const version of body.spec.versions) if (version.name === other) version.served = false;
      expectStatus(await suite.client.put(DEFINITION, body), 200);
      await until('it is not served', async () => !(await isServed(other)));
      await watch.ended;
      await until(
        'discovery has forgotten it',
        async () =>
          !(await suite.client.get(`/apis/${GROUP}`)).body.versions.some(
            ({ version }: { version: string }) => version === other,
          ),
      );
    });

    test('deleting the definition deletes all of its objects', async () => {
      await uninstall();
      expect((await suite.client.get(at(storage))).text).toBe('404 page not found\n');
    });
  });

  test('a Machine is valid in both of its versions', async () => {
    const definition = machineDefinition();
    expectStatus(await suite.client.post(DEFINITIONS, definition), 201);
    const path = (version: string) =>
      `/apis/cluster.x-k8s.io/${version}/namespaces/${suite.namespace}/machines`;
    for (const version of MACHINE_VERSIONS)
      await until(`${version} is served`, async () => (await suite.client.get(path(version))).status === 200);
    const machine = (version: string, infrastructureRef: object) => ({
      apiVersion: `cluster.x-k8s.io/${version}`,
      kind: 'Machine',
      metadata: { name: version },
      spec: { clusterName: 'a', bootstrap: {}, infrastructureRef },
    });
    const reference = { kind: 'OpenStackMachine', name: 'a' };
    const old = machine('v1beta1', { ...reference, apiVersion: `${GROUP}/v1beta1` });
    expectStatus(await suite.client.post(path('v1beta1'), old), 201);
    expectStatus(await suite.client.post(path('v1beta2'), machine('v1beta2', reference)), 422, 'Invalid');
    const complete = machine('v1beta2', { ...reference, apiGroup: GROUP });
    expectStatus(await suite.client.post(path('v1beta2'), complete), 201);
    expectStatus(await suite.client.delete(`${DEFINITIONS}/${definition.metadata.name}`), 200);
  });
}
