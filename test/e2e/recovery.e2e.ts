// The management cluster fails and returns, once unchanged and once restored from a backup. Clients see no failure, Isthmus restores all
// its objects, and touches no other object.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectStatus } from '../kube-api/suite.ts';
import type { Loop } from './client.ts';
import { Site } from './site.ts';
import { DIRECT_SERVER, NAMESPACE, proxiedServer } from './workload.ts';

const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;

let site: Site;
let loop: Loop;

beforeAll(async () => {
  site = await Site.start();
  const alpha = await site.addWorkload({ name: 'alpha', real: true }, ['net-1', 'net-2']);
  await site.addWorkload({ name: 'beta' }, ['net-1']);
  await site.addWorkload({ name: 'gamma' }, ['net-2']);
  await site.management.addCluster(alpha);
  await makeForeignObjects();
  for (const each of site.instances.values()) each.start();
  const kubeconfig = await site.proxiedKubeconfig('alpha');
  await site.until('both serve', async () => (await site.management.slices('alpha')).length === 2);
  await site.until('the rules lead to both', () =>
    ['10.250.0.21', '10.250.0.22'].every((address) => site.client().leadsTo(address)),
  );
  loop = site.client().loop(kubeconfig, 100);
});
afterAll(async () => {
  await loop?.stop();
  await site?.stop();
});

/** Objects that resemble ours but belong to another owner. */
async function makeForeignObjects(): Promise<void> {
  const { client } = site.management;
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'unrelated', labels: { 'cluster.x-k8s.io/cluster-name': 'unrelated' } },
    spec: { ports: [{ name: 'https', port: 6443 }] },
  };
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'unrelated-net-1', labels: { 'kubernetes.io/service-name': 'unrelated' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.250.0.99'], conditions: { ready: true } }],
    ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  };
  expectStatus(await client.post(`/api/v1/namespaces/${NAMESPACE}/services`, service), 201);
  expectStatus(await client.post(SLICES, slice), 201);
}

/** Name and uid of every object: a recreated object has another uid. */
async function identities(): Promise<string[]> {
  const lists = [
    `/api/v1/namespaces/${NAMESPACE}/services`,
    `/api/v1/namespaces/${NAMESPACE}/secrets`,
    SLICES,
  ];
  const found: string[] = [];
  for (const path of lists) {
    const { body } = expectStatus(await site.management.client.get(path), 200);
    for (const { metadata } of body.items) found.push(`${metadata.name} ${metadata.uid}`);
  }
  return found.sort();
}

/** With the current kubeconfig of the management cluster. */
async function answers(name: string): Promise<boolean> {
  const kubeconfig = await site.management.kubeconfig(name);
  if (!kubeconfig.includes(`server: ${proxiedServer(name)}\n`)) return false;
  const answer = site.client().kubectl(kubeconfig, 'get', '--raw', '/', '--request-timeout=5s');
  return (await answer.catch(() => '')) === `I am ${name}`;
}

/** Waits until both have renewed their Leases: all their pending writes were possible since then. */
async function untilRenewed(): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
  const times = async () => {
    const { body } = expectStatus(await site.management.client.get(path), 200);
    return new Map<string, string>(
      // biome-ignore lint/suspicious/noExplicitAny: as the API server has it
      body.items.map(({ metadata, spec }: any) => [metadata.name, spec.renewTime]),
    );
  };
  for (let round = 0; round < 2; round += 1) {
    const before = await times();
    await site.until('both Leases are renewed', async () => {
      const now = await times();
      return ['isthmus-net-1', 'isthmus-net-2'].every(
        (name) => now.has(name) && now.get(name) !== before.get(name),
      );
    });
  }
}

test('during a 45 s outage of the API server no client fails, and nothing is deleted or recreated', async () => {
  const before = await identities();
  await site.management.controlPlane.stopApiServer();
  await new Promise((resolve) => setTimeout(resolve, 45_000)); // longer than a Lease duration
  await site.management.controlPlane.startApiServer();
  await untilRenewed();
  expect(await identities()).toEqual(before);
  expect(loop.failures).toEqual([]);
});

test('a cluster that is added after the outage is published', async () => {
  await site.management.addCluster(site.workload('beta'));
  await site.proxiedKubeconfig('beta');
  expect(await site.management.slices('beta')).toHaveLength(1);
});

test('an etcd restore to before a publication: the cluster is published again, and the others stay available', async () => {
  const { management } = site;
  await management.addClusterObject('gamma', site.workload('gamma').networkId, { floatingIp: true });
  await management.addKubeconfig('gamma', site.workload('gamma').kubeconfig());
  await management.controlPlane.backUp();
  const before = await identities();
  // After the backup: gamma is published, beta is deleted, and other clients write a lot.
  await management.patchCluster('gamma', { spec: { disableAPIServerFloatingIP: true } });
  await site.proxiedKubeconfig('gamma');
  await management.deleteCluster('beta');
  await site.until('beta is gone', async () => (await management.service('beta')) === null);
  const unrelated = `/api/v1/namespaces/${NAMESPACE}/services/unrelated`;
  for (let round = 0; round < 200; round += 1)
    expectStatus(
      await management.client.patch(unrelated, { metadata: { labels: { round: `${round}` } } }),
      200,
    );

  await management.controlPlane.restore();
  const served = await site.until('beta, which is there again, is served again', async () =>
    /^beta is reachable/.test(await site.instance('net-1').ask('explain', 'beta')),
  );
  // Watches of the other components also start at a future version and get no events until the restored history catches up. The test
  // restarts them, as etcd's manual requires; Isthmus is not restarted.
  await management.restartDns();
  await site.client().restartKubeProxy();
  const beta = await site.until('beta answers again', () => answers('beta'));
  // This takes a moment: an instance that sees the restored kubeconfig before the restored cluster rewrites it and then restores it.
  await site.until('the kubeconfig of gamma, which is not proxied, is direct', async () =>
    (await management.kubeconfig('gamma')).includes(`server: ${DIRECT_SERVER}\n`),
  );
  await management.patchCluster('gamma', { spec: { disableAPIServerFloatingIP: true } });
  const gamma = await site.until('gamma, which is proxied again, answers again', () => answers('gamma'));
  await management.patchCluster('beta', { spec: { disableAPIServerFloatingIP: false } });
  const given = await site.until(
    'beta, which is proxied no more, is given back',
    async () => (await management.service('beta')) === null,
  );
  expect(await management.kubeconfig('beta')).toContain(`server: ${DIRECT_SERVER}\n`);
  console.log(
    `etcd restored: a cluster that was deleted since is served after ${served.toFixed(1)} s, and clients get there ` +
      `${beta.toFixed(1)} s later; one that was published since answers ${gamma.toFixed(1)} s after it is wanted again, ` +
      `one is given back in ${given.toFixed(1)} s`,
  );
  await untilRenewed();
  const after = await identities();
  const kept = before.filter((each) => !each.startsWith('beta'));
  expect(after).toEqual(expect.arrayContaining(kept));
  // Names did not resolve while CoreDNS restarted.
  expect(loop.failures.filter(({ error }) => error !== 'EAI_AGAIN')).toEqual([]);
});

test('a moved cluster without a status keeps its Service and kubeconfig, and is served as before once it has a status', async () => {
  const { management } = site;
  const kubeconfig = await management.kubeconfig('alpha');
  const uidOf = async () => (await management.service('alpha')).metadata.uid as string;
  const [uid, foreign] = [await uidOf(), await management.service('unrelated')];
  await loop.stop();
  for (const each of site.instances.values()) await each.stop('SIGKILL');
  await management.moveCluster('alpha');
  for (const each of site.instances.values()) each.start();
  await site.until('it waits for its status', async () => {
    const explained = await Promise.all(
      [...site.instances.values()].map((each) => each.ask('explain', 'alpha')),
    );
    return explained.every((text) => text.includes('Wait until the OpenStack provider'));
  });
  await untilRenewed();
  expect(await uidOf()).toBe(uid);
  expect(await management.kubeconfig('alpha')).toBe(kubeconfig);

  await management.setClusterStatus('alpha', site.workload('alpha').networkId);
  const seconds = await site.until('it answers', async () => {
    const asked = site.client().kubectl(kubeconfig, 'get', '--raw', '/version', '--request-timeout=5s');
    return (await asked.catch(() => '')).includes('gitVersion');
  });
  console.log(`moved without its status: it answers ${seconds.toFixed(1)} s after it has one`);
  await site.until('both serve', async () => (await management.slices('alpha')).length === 2);
  expect(await uidOf()).toBe(uid);
  expect(await management.kubeconfig('alpha')).toBe(kubeconfig);
  expect((await management.service('unrelated')).metadata.uid).toBe(foreign.metadata.uid);
});
