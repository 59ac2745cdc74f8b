// Attacks on names, on the built program with --cluster-namespace '*': a tenant's objects claim names that other tenants use. Clients of
// these names must still reach the tenants that hold them, and the objects published for these tenants must not change.
import { get } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashedName } from '../../src/control/objects/service-names.ts';
import type { Isthmus } from '../support/isthmus.ts';
import { NAMESPACE } from '../support/kubernetes/management.ts';
import { FAST, PublishSite } from '../support/kubernetes/publish-site.ts';
import { Tenant } from '../support/kubernetes/tenant.ts';
import { ip } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { until } from '../support/tcp.ts';
import { ADDRESS } from '../support/two-clusters.ts';

const MACHINE = '10.0.0.11';
const PORT = 8443;
const EVERYWHERE = ['--cluster-namespace', '*'] as const;
const WEB = {
  clusterName: 'alpha',
  port: 443,
  targetPort: PORT,
  protocol: 'TLS',
  selector: { matchLabels: { app: 'web' } },
};
/** Too long for a plain name: its Service name ends with a hash, which the attacker can compute. */
const LONG = 'x'.repeat(60);
const HASHED = hashedName({ key: `${NAMESPACE}/long`, cluster: 'alpha', poolName: LONG });

let site: PublishSite;
let isthmus: Isthmus;
let attacker: Tenant;
let victim: Tenant;
let machine: NetnsServer;

beforeAll(async () => {
  site = await PublishSite.start();
  const { alpha, beta } = site.clusters;
  // This cluster sorts first by name, and its old object is older than every other object.
  attacker = new Tenant(site.api.store, 'tenant-a');
  victim = new Tenant(site.api.store, 'tenant-v');
  attacker.addCluster('old-object', 'harmless', beta.networkId);
  victim.addCluster('prod-db-x', 'prod-db', alpha.networkId);
  site.add(alpha);
  ip('-n', alpha.netns, 'address', 'add', `${MACHINE}/32`, 'dev', 'lo');
  const { certFile, keyFile } = alpha.certificate;
  machine = await NetnsServer.start(alpha.netns, 'https', MACHINE, String(PORT), 'web', certFile, keyFile);
  site.management.addMachine('m-1', 'alpha', MACHINE, { app: 'web' });
  site.management.addListener('web', WEB);
  site.management.addListener('long', { ...WEB, defaultPoolName: LONG });
  isthmus = await site.instance('net-1', ...EVERYWHERE);
  await site.published('alpha-net-1', 'prod-db-net-1', 'harmless-net-1', 'alpha-web-net-1');
  await until('the listener with a long name is published', () => site.isReachable(HASHED));
  await until('kubeconfigs lead here', () => leadsHere(victim, 'prod-db'));
  await site.atRest(1500, 'net-1');
});
afterAll(async () => {
  await machine?.stop();
  await site?.stop();
});

const leadsHere = (tenant: Tenant, name: string): boolean =>
  JSON.stringify(tenant.kubeconfig(name)?.metadata.annotations ?? {}).includes(NAMESPACE);

/** The backend that answers under this name, or the reason why none does. */
const ask = (name: string, namespace = NAMESPACE): Promise<string> =>
  new Promise((resolve) => {
    const options = {
      host: isthmus.host,
      port: isthmus.port,
      servername: `${name}.${namespace}`,
      rejectUnauthorized: false,
      agent: false,
    };
    get(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text.replace('I am ', '').trim()));
    }).on('error', (error) => resolve(error.message));
  });

/** Every Kubernetes object that leads clients to this name, as one text. A change of any object changes the text. */
function publishedFor(service: string): string {
  const { store } = site.api;
  const slices = store
    .list({ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: NAMESPACE })
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service);
  const secrets = store
    .list({ apiVersion: 'v1', kind: 'Secret' })
    .filter(({ metadata }) => metadata.name === `${service}-kubeconfig`);
  return JSON.stringify([site.management.get('v1', 'Service', service), slices, secrets]);
}

const statusOf = async (namespace: string, name: string) =>
  (await isthmus.status()).clusters.find((each) => each.namespace === namespace && each.name === name);
const explained = async (name: string) =>
  (await isthmus.get(`/explain/${name}`)).body.replaceAll(/\s+/g, ' ');

/** The holder keeps its name against the attacker's object. Status, an Event on the object and `explain` show this. */
async function refused(object: string, name: string, holder: string): Promise<void> {
  await expect
    .poll(async () => (await statusOf(attacker.namespace, name))?.reason ?? '', { interval: 50 })
    .toContain(`belongs to ${holder}`);
  expect(await statusOf(attacker.namespace, name)).toMatchObject({
    state: 'invalid',
    serverNames: [],
    // Names that no other namespace can derive.
    ownServerNames: [
      `${name}.${attacker.namespace}`,
      `${name}.${attacker.namespace}.svc`,
      `${name}.${attacker.namespace}.svc.cluster.local`,
    ],
  });
  await expect
    .poll(() => attacker.events(object).join('\n'), { interval: 50 })
    .toMatch(new RegExp(`NameConflict: .*belongs to ${holder}`));
  expect(await explained(name)).toContain(`belongs to ${holder}`);
}

async function restart(): Promise<void> {
  isthmus.signal('SIGKILL');
  await isthmus.ended();
  isthmus = site.management.instance('net-1');
  await isthmus.start(...FAST, ...EVERYWHERE);
}

/** Asks from the start until the right backend answers. No other backend may answer, not even once. */
async function answersOnly(name: string, backend: string): Promise<void> {
  const answers: string[] = [];
  await until(`${name} is answered by ${backend}`, async () => {
    answers.push(await ask(name));
    return answers.at(-1) === backend;
  });
  for (const other of ['alpha', 'beta', 'web'])
    if (other !== backend) expect(answers, `${name} is never answered by ${other}`).not.toContain(other);
}

describe('a younger cluster of another namespace', () => {
  test('does not take the name of a listener', async () => {
    const before = publishedFor('alpha-web');
    attacker.addCluster('thief', 'alpha-web', site.clusters.beta.networkId);
    await refused('thief', 'alpha-web', `AdditionalListener ${NAMESPACE}/web`);
    expect(await ask('alpha-web')).toBe('web');
    await site.atRest(1500, 'net-1');
    expect(publishedFor('alpha-web').replace(secretsOf('alpha-web'), '[]')).toBe(before);
    expect(leadsHere(attacker, 'alpha-web')).toBe(false);
  });

  test('does not take the hashed name of a listener', async () => {
    const before = publishedFor(HASHED);
    attacker.addCluster('hash-thief', HASHED, site.clusters.beta.networkId);
    await refused('hash-thief', HASHED, `AdditionalListener ${NAMESPACE}/long`);
    expect(await ask(HASHED)).toBe('web');
    await site.atRest(1500, 'net-1');
    expect(publishedFor(HASHED).replace(secretsOf(HASHED), '[]')).toBe(before);
  });

  test('does not take the name of a listener when the proxy restarts while both exist', async () => {
    await site.atRest(1500, 'net-1');
    const uid = () => site.management.get('v1', 'Service', 'alpha-web')?.metadata.uid;
    const before = uid();
    await restart();
    await answersOnly('alpha-web', 'web');
    await refused('thief', 'alpha-web', `AdditionalListener ${NAMESPACE}/web`);
    await answersOnly(HASHED, 'web');
    await site.published('alpha-web-net-1');
    expect(uid()).toBe(before);
  });
});

describe('a tenant’s cluster with the name of the operator’s cluster that is not proxied yet', () => {
  test('gets no route, and the operator’s cluster has its name when it is isolated later', async () => {
    const { alpha, beta } = site.clusters;
    site.management.addCluster({ ...alpha, name: 'later', address: ADDRESS, floatingIp: true });
    await expect
      .poll(async () => (await statusOf(NAMESPACE, 'later'))?.state, { interval: 50 })
      .toBe('not-proxied');
    attacker.addCluster('early-bird', 'later', beta.networkId);
    await refused('early-bird', 'later', `${NAMESPACE}/later-abcde`);
    expect(await ask('later')).not.toBe('beta');
    expect(site.management.services()).not.toContain('later');
    site.management.patchCluster('later', { spec: { disableAPIServerFloatingIP: true } });
    await answersOnly('later', 'alpha');
  });
});

/** The attacker has a kubeconfig of that name in its own namespace. The victim's clients do not use it. */
const secretsOf = (service: string): string =>
  JSON.stringify([attacker.kubeconfig(service)].filter((secret) => secret !== null));

describe('a younger listener of another namespace', () => {
  test('does not take the name of a cluster, and gets a Service with a hashed name instead', async () => {
    const before = publishedFor('prod-db');
    attacker.addCluster('prod-x', 'prod', site.clusters.beta.networkId);
    attacker.addListener('mirror', { ...WEB, clusterName: 'prod', defaultPoolName: 'db' });
    const own = hashedName({ key: `${attacker.namespace}/mirror`, cluster: 'prod', poolName: 'db' });
    await expect
      .poll(() => attacker.conditions('mirror').Programmed ?? '', { interval: 50 })
      .toMatch(new RegExp(`${own}.*prod-db belongs to ${victim.namespace}/prod-db-x`));
    await expect
      .poll(() => attacker.events('mirror').join('\n'), { interval: 50 })
      .toMatch(/NameConflict: .*prod-db belongs to/);
    expect(await explained('prod')).toMatch(/mirror.*prod-db belongs to/);
    expect(await ask('prod-db')).toBe('alpha');
    await site.atRest(1500, 'net-1');
    expect(publishedFor('prod-db')).toBe(before);
  });
});

describe('an older cluster of another namespace', () => {
  test('does not take the name of a cluster when it is relabelled', async () => {
    const before = publishedFor('prod-db');
    attacker.relabel('old-object', 'prod-db');
    await refused('old-object', 'prod-db', `${victim.namespace}/prod-db-x`);
    expect(await ask('prod-db')).toBe('alpha');
    // Each of the two keeps the names of its own namespace.
    expect(await ask('prod-db', victim.namespace)).toBe('alpha');
    await expect.poll(() => ask('prod-db', attacker.namespace), { interval: 20 }).toBe('beta');
    await until('its own name is free', () => !site.management.services().includes('harmless'));
    await site.atRest(1500, 'net-1');
    expect(publishedFor('prod-db')).toBe(before);
    // If the attacker has a kubeconfig of that name, the proxy does not redirect it.
    expect(leadsHere(attacker, 'prod-db')).toBe(false);
  });

  test('does not take the name of a cluster when the proxy restarts while both exist', async () => {
    await restart();
    await answersOnly('prod-db', 'alpha');
    await refused('old-object', 'prod-db', `${victim.namespace}/prod-db-x`);
  });

  test('does not take the name while the holder has no status, before and after a restart', async () => {
    const { networkId } = site.clusters.alpha;
    victim.patchStatus('prod-db-x', { network: null, apiServerLoadBalancer: null, ready: false });
    await expect
      .poll(async () => (await statusOf(victim.namespace, 'prod-db'))?.state, { interval: 50 })
      .toBe('pending');
    expect(await ask('prod-db')).toBe('alpha');
    await restart();
    await refused('old-object', 'prod-db', `${victim.namespace}/prod-db-x`);
    expect(await ask('prod-db')).not.toBe('beta');
    victim.patchStatus('prod-db-x', victim.statusOf(networkId));
    await answersOnly('prod-db', 'alpha');
  });

  test('takes the name only after the holder is no longer proxied and its objects are cleaned up', async () => {
    await site.published('prod-db-net-1');
    await until('the kubeconfig leads here', () => leadsHere(victim, 'prod-db'));
    const uid = site.management.get('v1', 'Service', 'prod-db')?.metadata.uid;
    // As long as this Service exists for clients of the victim, it never leads them to the attacker.
    const early = site.watch(() => {
      const service = site.management.get('v1', 'Service', 'prod-db');
      const holder = service?.metadata.annotations?.['isthmus.dev/name-holder'];
      return service?.metadata.uid === uid && holder !== `${victim.namespace}/prod-db-x` ? holder : null;
    });
    victim.patchCluster('prod-db-x', { spec: { disableAPIServerFloatingIP: false } });
    await expect.poll(() => ask('prod-db'), { interval: 20 }).toBe('beta');
    expect(early).toEqual([]);
    expect(leadsHere(victim, 'prod-db')).toBe(false);
  });
});
