// The management cluster goes away and comes back, once as it was and once as it was yesterday: clients notice nothing, nothing of
// ours stays lost, and nothing of others is touched.
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

/** What looks a little like ours, and is not. */
async function makeForeignObjects(): Promise<void> {
  const { client } = site.management;
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'somebody', labels: { 'cluster.x-k8s.io/cluster-name': 'somebody' } },
    spec: { ports: [{ name: 'https', port: 6443 }] },
  };
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'somebody-net-1', labels: { 'kubernetes.io/service-name': 'somebody' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.250.0.99'], conditions: { ready: true } }],
    ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  };
  expectStatus(await client.post(`/api/v1/namespaces/${NAMESPACE}/services`, service), 201);
  expectStatus(await client.post(SLICES, slice), 201);
}

/** Name and uid of everything there is: what was deleted and made again shows. */
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

/** Through the kubeconfig of the management cluster as it is now. */
async function answers(name: string): Promise<boolean> {
  const kubeconfig = await site.management.kubeconfig(name);
  if (!kubeconfig.includes(`server: ${proxiedServer(name)}\n`)) return false;
  const answer = site.client().kubectl(kubeconfig, 'get', '--raw', '/', '--request-timeout=5s');
  return (await answer.catch(() => '')) === `I am ${name}`;
}

/** Both have renewed their Leases since: whatever they wanted to do about it, they could. */
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

test('the API server is killed and is away for 45 s: no client notices, and nothing is deleted or made anew', async () => {
  const before = await identities();
  await site.management.controlPlane.stopApiServer();
  await new Promise((resolve) => setTimeout(resolve, 45_000)); // longer than a Lease lives
  await site.management.controlPlane.startApiServer();
  await untilRenewed();
  expect(await identities()).toEqual(before);
  expect(loop.failures).toEqual([]);
});

test('and a cluster that is added then is published', async () => {
  await site.management.addCluster(site.workload('beta'));
  await site.proxiedKubeconfig('beta');
  expect(await site.management.slices('beta')).toHaveLength(1);
});

test('etcd is restored from before a cluster was published: it is published again, and the others never were away', async () => {
  const { management } = site;
  await management.addClusterObject('gamma', site.workload('gamma').networkId, { floatingIp: true });
  await management.addKubeconfig('gamma', site.workload('gamma').kubeconfig());
  await management.controlPlane.backUp();
  const before = await identities();
  // After the backup: gamma is published, beta is deleted, and much is written by others.
  await management.patchCluster('gamma', { spec: { disableAPIServerFloatingIP: true } });
  await site.proxiedKubeconfig('gamma');
  await management.deleteCluster('beta');
  await site.until('beta is gone', async () => (await management.service('beta')) === null);
  const somebody = `/api/v1/namespaces/${NAMESPACE}/services/somebody`;
  for (let round = 0; round < 200; round += 1)
    expectStatus(
      await management.client.patch(somebody, { metadata: { labels: { round: `${round}` } } }),
      200,
    );

  await management.controlPlane.restore();
  const served = await site.until('beta, which is there again, is served again', async () =>
    /^beta is reachable/.test(await site.instance('net-1').ask('explain', 'beta')),
  );
  // The others watch from the future, too, and hear nothing until the restored history has caught up. They are restarted, as etcd's
  // manual asks for; we are not.
  await management.restartDns();
  await site.client().restartKubeProxy();
  const beta = await site.until('beta answers again', () => answers('beta'));
  // Not at once: whoever learns of the restored kubeconfig before it learns of the restored cluster rewrites it, and puts it back.
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
  // While CoreDNS was restarted a name could not be found.
  expect(loop.failures.filter(({ error }) => error !== 'EAI_AGAIN')).toEqual([]);
});

test('a cluster is moved while nobody looks: without a status its Service and kubeconfig stay, and with one it is served as before', async () => {
  const { management } = site;
  const kubeconfig = await management.kubeconfig('alpha');
  const uidOf = async () => (await management.service('alpha')).metadata.uid as string;
  const [uid, foreign] = [await uidOf(), await management.service('somebody')];
  await loop.stop();
  for (const each of site.instances.values()) await each.stop('SIGKILL');
  await management.moveCluster('alpha');
  for (const each of site.instances.values()) each.start();
  await site.until('it waits for its status', async () => {
    const explained = await Promise.all(
      [...site.instances.values()].map((each) => each.ask('explain', 'alpha')),
    );
    return explained.every((text) => text.includes('Wait for the OpenStack provider'));
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
  expect((await management.service('somebody')).metadata.uid).toBe(foreign.metadata.uid);
});
