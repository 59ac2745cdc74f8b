// One instance of the built program against the in-memory management API and real namespaces: what it publishes and withdraws.
import { get } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubeconfigText, Management } from '../../support/kubernetes/management.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS, type TestCluster, TwoClusters } from '../../support/two-clusters.ts';

const clusters = new TwoClusters();
let management: Management;
let isthmus: ReturnType<Management['instance']>;
const FAST = [
  '--advertise-address',
  '192.0.2.1',
  '--health-interval',
  '200ms',
  '--propagation-wait',
  '300ms',
];

beforeAll(async () => {
  await clusters.start();
  management = await Management.start();
  isthmus = management.instance('net-1');
  await isthmus.start(...FAST);
});
afterAll(async () => {
  await management.stop();
  await clusters.stop();
});

const add = (cluster: TestCluster) => management.addCluster({ ...cluster, address: ADDRESS });
const ask = ({ name, certificate }: TestCluster): Promise<string> =>
  new Promise((resolve, reject) => {
    const servername = `${name}.magnum-system`;
    const options = { host: '127.0.0.1', port: isthmus.port, servername, ca: certificate.cert, agent: false };
    get(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });

describe('an isolated cluster', () => {
  test('gets a Service, a slice that leads here, and a kubeconfig that leads to the Service', async () => {
    const { uid } = add(clusters.alpha).metadata;
    await until('the kubeconfig leads here', () =>
      management.kubeconfig('alpha').includes('server: https://alpha.magnum-system:6443'),
    );
    expect(management.get('v1', 'Service', 'alpha')).toMatchObject({
      metadata: {
        labels: {
          'magnum-cluster-api.vexxhost.com/proxied-service': 'true',
          'isthmus.dev/resource-owner': 'alpha',
        },
        ownerReferences: [{ kind: 'OpenStackCluster', name: 'alpha-abcde', uid }],
      },
      spec: { ports: [{ name: 'https', port: 6443, protocol: 'TCP', targetPort: 6443 }] },
    });
    expect(management.get('discovery.k8s.io/v1', 'EndpointSlice', 'alpha-net-1')).toMatchObject({
      metadata: {
        labels: {
          'kubernetes.io/service-name': 'alpha',
          'isthmus.dev/instance': 'net-1',
          'endpointslice.kubernetes.io/managed-by': 'isthmus.dev',
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true }, nodeName: 'net-1' }],
      ports: [{ name: 'https', port: isthmus.port, protocol: 'TCP' }],
    });
    expect(await ask(clusters.alpha)).toContain('alpha');
  });

  test('keeps its kubeconfig unchanged except for the server', () => {
    const text = management.kubeconfig('alpha');
    expect(text.replace('https://alpha.magnum-system:6443', `https://${ADDRESS}:6443`)).toBe(
      kubeconfigText('alpha', `https://${ADDRESS}:6443`),
    );
  });

  test('causes no writes while only an unproxied cluster changes', async () => {
    const writes = () => {
      const counts = management.requestsOf('net-1');
      return Object.entries(counts)
        .filter(([what]) => !/^(list|watch) /.test(what) && !what.includes('leases'))
        .map(([what, count]) => `${what}: ${count}`);
    };
    const { calls } = (await isthmus.status()).kubernetes ?? { calls: {} };
    expect(calls).toBeDefined();
    // An Event of the last change may still be pending. An instance that keeps writing never comes to rest.
    let added = 0;
    await until('ten turns without a write', async () => {
      const before = writes();
      for (let round = 0; round < 5; round += 1) {
        added += 1;
        const name = `unproxied-${added}`;
        management.addCluster({ ...clusters.beta, name, address: ADDRESS, floatingIp: true });
        await isthmus.untilState(name, 'not-proxied');
        management.deleteCluster(name);
        await until('the cluster is gone', async () => (await isthmus.status()).clusters.length === 1);
      }
      return writes().join() === before.join();
    });
  });

  test('shows in /status how it is published', async () => {
    await expect
      .poll(async () => (await isthmus.untilState('alpha', 'serving')).publication)
      .toEqual({
        service: 'ours',
        slice: 'ready',
        readyInstances: 1,
        kubeconfig: 'proxied',
        problem: null,
      });
    await expect
      .poll(async () => (await isthmus.status()).kubernetes)
      .toMatchObject({
        instance: 'net-1',
        lease: 'held',
        liveness: 'lease',
        instances: 1,
        staleSince: null,
      });
  });

  test('is withdrawn when its API server dies, and published again when it is back', async () => {
    await clusters.servers.get('alpha')?.stop();
    await until('the slice is gone', () => management.slices().length === 0);
    expect(management.services()).toEqual(['alpha']);
    await clusters.serve(clusters.alpha);
    await until('the slice is back', () => management.slices().length === 1);
  });

  test('is released when it is no longer proxied: kubeconfig, slice, Service, route, in this order', async () => {
    management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
    await until('the kubeconfig is direct again', () =>
      management.kubeconfig('alpha').includes(`server: https://${ADDRESS}:6443`),
    );
    await until('the slice is gone', () => management.slices().length === 0);
    await until('the Service is gone', () => management.services().length === 0);
    await expect
      .poll(() => ask(clusters.alpha).catch((error: Error) => error.message))
      .toContain('unrecognized');
    management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: true } });
    await until('it is published again', () => management.slices().length === 1);
  });

  test('leaves no object behind when it is deleted', async () => {
    add(clusters.beta);
    await until('both are published', () => management.slices().length === 2);
    management.deleteCluster('alpha');
    await until('only beta is left', () => management.slices().join() === 'beta-net-1');
    await until('the Service is gone too', () => management.services().join() === 'beta');
  });
});

describe('SIGTERM', () => {
  test('withdraws every slice first, serves until then, releases the Lease, and exits 0', async () => {
    isthmus.signal('SIGTERM');
    await until('the slice is terminating', () => {
      const slice = management.get('discovery.k8s.io/v1', 'EndpointSlice', 'beta-net-1');
      return JSON.stringify(slice?.endpoints ?? []).includes('"terminating":true') || slice === null;
    });
    expect(await isthmus.ended()).toBe(0);
    expect(management.slices()).toEqual([]);
    expect(management.names('coordination.k8s.io/v1', 'Lease')).toEqual([]);
    // The Service stays: other instances, or this one after the restart, need it.
    expect(management.services()).toEqual(['beta']);
  });
});
