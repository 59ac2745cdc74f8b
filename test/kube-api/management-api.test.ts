// Features of only the in-memory API, for tests: faults, restarts, an older state, conversions, thousands of slices.
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiError } from '../fake-kube-api/api-error.ts';
import {
  type ManagementApi,
  type ManagementApiOptions,
  startManagementApi,
} from '../fake-kube-api/management-api.ts';
import { openStackClusterDefinition } from '../fake-kube-api/types/cluster-api-definitions.ts';
import { convertOpenStackCluster } from '../fake-kube-api/types/openstack-cluster-conversion.ts';
import { selfSigned } from '../support/certificates.ts';
import { until, within } from '../support/tcp.ts';
import { openStackCluster } from './behaviour-custom-resources.ts';
import { RawClient } from './raw-client.ts';
import { expectStatus, leases, service, services, slice, slices } from './suite.ts';

const NAMESPACE = 'magnum-system';
const GROUP = 'infrastructure.cluster.x-k8s.io';
const { cert, key } = selfSigned('127.0.0.1', 'localhost');
const tokens = new Map([
  ['admin-token', 'admin'],
  ['other-token', 'other'],
]);

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function start(options: Partial<ManagementApiOptions> = {}): Promise<ManagementApi> {
  const tls = { key, cert, ca: cert };
  const api = await startManagementApi({ tls, tokens, namespaces: [NAMESPACE], ...options });
  opened.push(api);
  return api;
}

function clientOf(api: ManagementApi, token = 'admin-token'): RawClient {
  const client = new RawClient({ url: api.url, ca: cert, token });
  opened.push(client);
  return client;
}

const clusterPath = (version: string, name = '') =>
  `/apis/${GROUP}/${version}/namespaces/${NAMESPACE}/openstackclusters${name === '' ? '' : `/${name}`}`;

describe('a fault', () => {
  test('is the answer to matching requests, for the requested number of times', async () => {
    const api = await start();
    const client = clientOf(api);
    const fault = api.faults.inject(
      { verb: 'list', resource: 'services' },
      { kind: 'status', code: 429, retryAfterSeconds: 7 },
      { times: 2 },
    );
    const answer = expectStatus(await client.get(services(NAMESPACE)), 429, 'TooManyRequests');
    expect(answer.headers['retry-after']).toBe('7');
    expectStatus(await client.post(services(NAMESPACE), service('unharmed')), 201);
    expectStatus(await client.get(services(NAMESPACE)), 429);
    expectStatus(await client.get(services(NAMESPACE)), 200);
    expect(fault.hits).toBe(2);
  });

  test('can apply to one user only, and can be removed', async () => {
    const api = await start();
    const fault = api.faults.inject({ user: 'other' }, { kind: 'status', code: 500 });
    expectStatus(await clientOf(api, 'other-token').get(services(NAMESPACE)), 500, 'InternalError');
    expectStatus(await clientOf(api).get(services(NAMESPACE)), 200);
    fault.remove();
    expectStatus(await clientOf(api, 'other-token').get(services(NAMESPACE)), 200);
  });

  test('can hang, cut the connection, delay the answer, or send garbage', async () => {
    const api = await start();
    const client = clientOf(api);
    api.faults.inject({ resource: 'services' }, { kind: 'cut' }, { times: 1 });
    await expect(client.get(services(NAMESPACE))).rejects.toThrow(/socket hang up|ECONNRESET/);
    api.faults.inject({ resource: 'services' }, { kind: 'body', text: '{"kind":' }, { times: 1 });
    expect((await client.get(services(NAMESPACE))).text).toBe('{"kind":');
    api.faults.inject({ resource: 'services' }, { kind: 'delay', ms: 30 }, { times: 1 });
    expectStatus(await client.get(services(NAMESPACE)), 200);
    api.faults.inject({ resource: 'services' }, { kind: 'hang' }, { times: 1 });
    const hanging = client.get(services(NAMESPACE));
    await expect(within(200, 'an answer', hanging)).rejects.toThrow('waited 200 ms');
    await api.stop();
    await expect(hanging).rejects.toThrow();
  });

  test('can affect open watches: cut, end, silence or garbage', async () => {
    const api = await start();
    const client = clientOf(api);
    const watch = (path: string) => client.watch(`${path}?resourceVersion=${api.store.revision}`);
    const [cut, ended] = [await watch(services(NAMESPACE)), await watch(slices(NAMESPACE))];
    expect(api.openWatches).toBe(2);
    expect(api.faults.cutWatches({ resource: 'services' })).toBe(1);
    await cut.ended;
    expect(api.faults.endWatches()).toBe(1);
    await ended.ended;
    await until('both are forgotten', () => api.openWatches === 0);

    const silent = await watch(services(NAMESPACE));
    api.faults.silenceWatches({ resource: 'services' });
    api.store.create({
      ...service('missed'),
      metadata: { name: 'missed', namespace: NAMESPACE },
    });
    api.faults.silenceWatches({ resource: 'services' }, false);
    api.faults.writeToWatches('{"type":"ADDED","object":{"metadata":{"name":"garbage"}}}\n');
    expect((await silent.next()).object.metadata.name).toBe('garbage');
    silent.close();
  });
});

test('a stopped API refuses connections, and returns on the same port with the same objects', async () => {
  const api = await start();
  const client = clientOf(api);
  const { body } = expectStatus(await client.post(services(NAMESPACE), service('kept')), 201);
  const { port } = api;
  await api.stop();
  await expect(client.get(services(NAMESPACE))).rejects.toThrow(/ECONNREFUSED|ECONNRESET|hang up/);
  await api.start();
  expect(api.port).toBe(port);
  expect((await client.get(services(NAMESPACE, 'kept'))).body).toEqual(body);
});

test('a restored older state has its versions and definitions, and ends every watch', async () => {
  const api = await start();
  const client = clientOf(api);
  expectStatus(await client.post(services(NAMESPACE), service('old')), 201);
  const snapshot = api.snapshot();
  const { revision } = api.store;
  expectStatus(await client.post(services(NAMESPACE), service('new')), 201);
  expectStatus(await client.delete(services(NAMESPACE, 'old')), 200);
  api.store.create(openStackClusterDefinition());
  expectStatus(await client.get(clusterPath('v1beta1')), 200);
  const watch = await client.watch(`${services(NAMESPACE)}?resourceVersion=${api.store.revision}`);
  api.restore(snapshot);
  await watch.ended;
  expect(api.store.revision).toBe(revision);
  const { body } = expectStatus(await client.get(services(NAMESPACE)), 200);
  expect(body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['old']);
  expectStatus(await client.get(clusterPath('v1beta1')), 404);
});

test('a removed token is unauthorized at once', async () => {
  const api = await start();
  const client = clientOf(api, 'other-token');
  expectStatus(await client.get(services(NAMESPACE)), 200);
  api.tokens.delete('other-token');
  expectStatus(await client.get(services(NAMESPACE)), 401, 'Unauthorized');
});

test('requests are counted by verb and resource, for each user', async () => {
  const api = await start();
  const [client, other] = [clientOf(api), clientOf(api, 'other-token')];
  await client.get(services(NAMESPACE));
  await client.get('/version');
  await other.get(leases(NAMESPACE, 'a'));
  await other.get(leases(NAMESPACE, 'a'));
  expect(api.requests()).toEqual({ 'list services': 1, 'get /version': 1, 'get leases': 2 });
  expect(api.requests('other')).toEqual({ 'get leases': 2 });
});

test('the client library reads its kubeconfig for each user', async () => {
  const api = await start();
  const config = new KubeConfig();
  config.loadFromString(api.kubeconfig('other'));
  expect(config.getCurrentCluster()).toMatchObject({ server: api.url });
  expect(config.getCurrentUser()).toMatchObject({ name: 'other', token: 'other-token' });
  expect(Buffer.from(config.getCurrentCluster()?.caData ?? '', 'base64')).toEqual(cert);
  expect(() => api.kubeconfig('nobody')).toThrow('nobody');
});

describe('a definition with a conversion webhook', () => {
  const conversions = (convert = convertOpenStackCluster) =>
    new Map([[`openstackclusters.${GROUP}`, convert]]);
  const status = {
    ready: true,
    network: { id: 'n-1', name: 'net' },
    apiServerLoadBalancer: { id: 'l', name: 'l', ip: '10.0.0.5', internalIP: '10.0.0.5' },
  };

  test('shows each version its own fields, and adapts when the storage version changes', async () => {
    const api = await start({
      conversions: conversions(),
      definitions: [
        openStackClusterDefinition({ served: ['v1alpha6', 'v1alpha7', 'v1beta1'], conversion: 'Webhook' }),
      ],
    });
    const client = clientOf(api);
    const cluster = openStackCluster('v1beta1', 'a', { apiServerPort: 6443, apiServerFixedIP: '10.0.0.9' });
    api.store.create({ ...cluster, metadata: { name: 'a', namespace: NAMESPACE }, status });
    const alpha = expectStatus(await client.get(clusterPath('v1alpha6', 'a')), 200).body;
    expect(alpha.status.network.apiServerLoadBalancer.internalIP).toBe('10.0.0.5');
    expect(alpha.spec).toMatchObject({ disableAPIServerFloatingIP: true, cloudName: 'default' });

    const definition = openStackClusterDefinition({
      served: ['v1beta1', 'v1beta2'],
      storage: 'v1beta2',
      conversion: 'Webhook',
    });
    const watch = await client.watch(`${clusterPath('v1beta1')}?resourceVersion=${api.store.revision}`);
    api.store.update(definition);
    await watch.ended;
    expectStatus(await client.get(clusterPath('v1alpha6', 'a')), 404);
    expect((await client.get(`/apis/${GROUP}`)).body.preferredVersion.version).toBe('v1beta2');
    const beta2 = expectStatus(await client.get(clusterPath('v1beta2', 'a')), 200).body;
    expect(beta2.spec.apiServer).toEqual({ enableFloatingIP: false, fixedIP: '10.0.0.9', port: 6443 });
    expect(beta2.status.apiServerManagedLoadBalancer.internalIP).toBe('10.0.0.5');

    expectStatus(
      await client.patch(clusterPath('v1beta2', 'a'), { spec: { apiServer: { port: 7443 } } }),
      200,
    );
    const beta1 = expectStatus(await client.get(clusterPath('v1beta1', 'a')), 200).body;
    expect(beta1.spec).toMatchObject({ disableAPIServerFloatingIP: true, apiServerPort: 7443 });
    const stored = api.store.get({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      name: definition.metadata.name as string,
    });
    expect(stored?.status).toMatchObject({ storedVersions: ['v1beta1', 'v1beta2'] });
  });

  test('returns an error while the webhook is down, for the versions that need it', async () => {
    let down = false;
    const api = await start({
      conversions: conversions((object, to) => {
        if (down) throw new ApiError(500, 'InternalError', 'conversion webhook failed: connection refused');
        return convertOpenStackCluster(object, to);
      }),
      definitions: [
        openStackClusterDefinition({
          served: ['v1beta1', 'v1beta2'],
          storage: 'v1beta2',
          conversion: 'Webhook',
        }),
      ],
    });
    const client = clientOf(api);
    expectStatus(await client.post(clusterPath('v1beta2'), openStackCluster('v1beta2', 'a')), 201);
    down = true;
    expectStatus(await client.get(clusterPath('v1beta1')), 500, 'InternalError');
    expectStatus(await client.get(clusterPath('v1beta2')), 200);
    down = false;
    expectStatus(await client.get(clusterPath('v1beta1')), 200);
  });

  test('without its webhook loses the fields that the other version does not have', async () => {
    const api = await start({
      definitions: [openStackClusterDefinition({ served: ['v1beta1', 'v1beta2'], storage: 'v1beta1' })],
    });
    const client = clientOf(api);
    expectStatus(await client.post(clusterPath('v1beta1'), openStackCluster('v1beta1', 'a')), 201);
    const { body } = expectStatus(await client.get(clusterPath('v1beta2', 'a')), 200);
    expect(body.spec.disableAPIServerFloatingIP).toBeUndefined();
    expect(body.spec.apiServer).toBeUndefined();
  });
});

test('a watch that falls behind a short history ends with 410', async () => {
  const api = await start({ historyLimit: 20 });
  const client = clientOf(api);
  const { revision } = api.store;
  for (let index = 0; index < 50; index += 1)
    api.store.create({ ...slice(''), metadata: { name: `s-${index}`, namespace: NAMESPACE } });
  const watch = await client.watch(`${slices(NAMESPACE)}?resourceVersion=${revision}`);
  expect(await watch.next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
  const first = expectStatus(await client.get(`${slices(NAMESPACE)}?limit=10`), 200).body;
  for (let index = 0; index < 50; index += 1)
    api.store.delete({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      namespace: NAMESPACE,
      name: `s-${index}`,
    });
  const rest = `${slices(NAMESPACE)}?limit=10&continue=${encodeURIComponent(first.metadata.continue)}`;
  const answer = expectStatus(await client.get(rest), 410, 'Expired');
  const again = `${slices(NAMESPACE)}?continue=${encodeURIComponent(answer.body.metadata.continue)}`;
  expect(expectStatus(await client.get(again), 200).body.items).toEqual([]);
});

test('the garbage collector runs only if a test enables it, and then also collects existing objects', async () => {
  const api = await start();
  const owner = api.store.create({ ...service('owner'), metadata: { name: 'owner', namespace: NAMESPACE } });
  const reference = { apiVersion: 'v1', kind: 'Service', name: 'owner', uid: owner.metadata.uid };
  api.store.create({
    ...slice('owned'),
    metadata: { name: 'owned', namespace: NAMESPACE, ownerReferences: [reference] },
  });
  const ref = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    namespace: NAMESPACE,
    name: 'owned',
  };
  api.store.delete({ apiVersion: 'v1', kind: 'Service', namespace: NAMESPACE, name: 'owner' });
  await new Promise((resolve) => setImmediate(resolve));
  expect(api.store.get(ref)).not.toBeNull();
  api.garbageCollector.enable();
  await until('it is collected', () => api.store.get(ref) === null);
});

test('1000 clusters with 20 slices each are listed, selected and watched', async () => {
  const api = await start();
  const client = clientOf(api);
  const watch = await client.watch(`${slices(NAMESPACE)}?labelSelector=node%3Dn-7`);
  for (let cluster = 0; cluster < 1000; cluster += 1) {
    for (let node = 0; node < 20; node += 1) {
      const labels = { cluster: `c-${cluster}`, node: `n-${node}` };
      api.store.create({
        ...slice(''),
        metadata: { name: `c-${cluster}-n-${node}`, namespace: NAMESPACE, labels },
      });
    }
    // Both sides share one event loop and take turns.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { body } = expectStatus(await client.get(slices(NAMESPACE)), 200);
  expect(body.items).toHaveLength(20_000);
  const chosen = expectStatus(
    await client.get(`${slices(NAMESPACE)}?labelSelector=cluster%3Dc-77`),
    200,
  ).body;
  expect(chosen.items).toHaveLength(20);
  const seen = await watch.until(({ object }) => object.metadata.name === 'c-999-n-7');
  expect(seen).toHaveLength(1000);
  watch.close();
});
