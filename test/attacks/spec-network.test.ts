// A tenant that may write OpenStackClusters names a victim's network in their spec. Only the status that the provider writes may choose the
// netns: no route and no probe enters the victim's network.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Explanation } from '../../src/telemetry/status/explanation.ts';
import {
  OPENSTACK_CLUSTER_VERSIONS as VERSIONS,
  type OpenStackClusterVersion as Version,
} from '../fake-kube-api/types/cluster-api-definitions.ts';
import { Isthmus } from '../support/isthmus.ts';
import { Management } from '../support/kubernetes/management.ts';
import { FAST } from '../support/kubernetes/publish-site.ts';
import { type AttackNetwork, AttackNetworks, answerOf, TARGET } from '../support/network/attack-networks.ts';

const TENANT = 'tenant-b';
const NOT_NOW = /alert internal error/;

const networks = new AttackNetworks();
let victim: AttackNetwork;
let own: AttackNetwork;

beforeAll(async () => {
  victim = await networks.add('victim');
  own = await networks.add('tenant');
});
afterAll(() => networks.stop());

/** A spec as a tenant writes it: the load balancer's network is the victim's, and address and port are arbitrary. */
function specOf(version: Version): object {
  const { address, port } = TARGET;
  const loadBalancer = { enabled: true, network: { id: victim.networkId } };
  const controlPlaneEndpoint = { host: address, port };
  const identityRef = { kind: 'Secret', name: 'clouds', cloudName: 'default' };
  return version === 'v1beta2'
    ? {
        identityRef,
        apiServer: { enableFloatingIP: false, fixedIP: address, port, managedLoadBalancer: loadBalancer },
        controlPlaneEndpoint,
      }
    : {
        identityRef,
        disableAPIServerFloatingIP: true,
        apiServerFixedIP: address,
        apiServerPort: port,
        apiServerLoadBalancer: loadBalancer,
        controlPlaneEndpoint,
      };
}

const attackOf = (version: Version, name: string, status?: object) => ({
  apiVersion: `infrastructure.cluster.x-k8s.io/${version}`,
  kind: 'OpenStackCluster',
  metadata: {
    name: `${name}-x`,
    namespace: TENANT,
    labels: { 'cluster.x-k8s.io/cluster-name': name },
  },
  spec: specOf(version),
  ...(status !== undefined && { status }),
});

/** A status as the provider writes it: the tenant's own network. */
const ownStatus = () => ({ ready: true, network: { id: own.networkId, name: 'own' } });

async function notesOn(isthmus: Isthmus, cluster: string): Promise<string> {
  const { body } = await isthmus.get(`/explain/${cluster}?format=json`);
  const explanation = JSON.parse(body) as Explanation;
  return explanation.kind === 'explained' ? explanation.notes.join('\n') : '';
}

/** A cluster that is added after the attacks. Once it is served, the proxy has read, judged and probed the attacks. */
async function afterAnotherIsServed(isthmus: Isthmus): Promise<void> {
  const witness = await networks.add('witness');
  const status = { network: { id: witness.networkId } };
  isthmus.writeManifest('witness.json', JSON.stringify(attackOf('v1beta1', 'witness', status)));
  await isthmus.untilState('witness', 'serving');
  expect(await answerOf(isthmus, 'witness')).toBe('I am witness');
}

describe('manifests of every version', () => {
  let isthmus: Isthmus;
  const start = async (status: () => object | undefined, ...flags: string[]) => {
    isthmus = new Isthmus();
    for (const version of VERSIONS)
      isthmus.writeManifest(`${version}.json`, JSON.stringify(attackOf(version, version, status())));
    await isthmus.start('--health-interval', '100ms', ...flags);
  };

  test('without a status are not served, and the network in spec is neither dialled nor probed', async () => {
    const before = victim.dials();
    await start(() => undefined);
    try {
      for (const version of VERSIONS) {
        const { backends, apiServer } = await isthmus.untilState(version, 'pending');
        expect([version, backends, apiServer]).toEqual([version, [], undefined]);
        expect(await answerOf(isthmus, version)).toMatch(NOT_NOW);
        const notes = await notesOn(isthmus, version);
        expect(notes).toContain(`network ${victim.networkId} in spec was not used`);
        expect(notes).toContain('--trust-spec-network');
      }
      await afterAnotherIsServed(isthmus);
      expect(victim.dials() - before).toBe(0);
    } finally {
      await isthmus.stop();
    }
  });

  test('with a status are served from the network in it, and from no other', async () => {
    const before = victim.dials();
    await start(ownStatus);
    try {
      for (const version of VERSIONS) {
        const { backends, apiServer } = await isthmus.untilState(version, 'serving');
        expect(backends.map(({ netns }) => netns)).toEqual([own.netns]);
        expect(apiServer?.networkIds).toEqual([own.networkId]);
        expect(await answerOf(isthmus, version)).toBe('I am tenant');
        expect(await notesOn(isthmus, version)).toContain(`network ${victim.networkId} in spec was not used`);
      }
      await afterAnotherIsServed(isthmus);
      expect(victim.dials() - before).toBe(0);
    } finally {
      await isthmus.stop();
    }
  });

  test('with a load balancer that has no address yet do not dial an address of spec in its network', async () => {
    const before = victim.dials();
    // The provider writes this before the load balancer exists. The network can be shared with other tenants.
    const loadBalancer = { internalIP: '', loadBalancerNetwork: { id: victim.networkId } };
    await start(() => ({
      network: { id: own.networkId, apiServerLoadBalancer: loadBalancer },
      apiServerLoadBalancer: loadBalancer,
      apiServerManagedLoadBalancer: loadBalancer,
    }));
    try {
      for (const version of VERSIONS) {
        const { backends } = await isthmus.untilState(version, 'serving');
        expect([version, backends.map(({ netns }) => netns)]).toEqual([version, [own.netns]]);
        expect(await answerOf(isthmus, version)).toBe('I am tenant');
      }
      await afterAnotherIsServed(isthmus);
      expect(victim.dials() - before).toBe(0);
    } finally {
      await isthmus.stop();
    }
  });

  test('lead into the network in spec when the operator trusts spec', async () => {
    await start(() => undefined, '--trust-spec-network');
    try {
      for (const version of VERSIONS) {
        await isthmus.untilState(version, 'serving');
        expect(await answerOf(isthmus, version)).toBe('I am victim');
        expect(await notesOn(isthmus, version)).not.toContain('was not used');
      }
    } finally {
      await isthmus.stop();
    }
  });
});

describe.each(VERSIONS)('an OpenStackCluster %s in a namespace of a tenant', (version) => {
  let management: Management;
  let isthmus: Isthmus;

  beforeAll(async () => {
    management = await Management.start({ clusterVersions: [version] });
    management.api.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANT } });
    isthmus = management.instance('net-1');
    await isthmus.start(...FAST, '--cluster-namespace', '*');
  });
  afterAll(() => management.stop());

  test('reaches nothing in the network that its spec names, and publishes nothing', async () => {
    const before = victim.dials();
    management.api.store.create(attackOf(version, 'attack'));
    const { backends } = await isthmus.untilState('attack', 'pending');
    expect(backends).toEqual([]);
    management.api.store.create(attackOf(version, 'witness', ownStatus()));
    const witness = await isthmus.untilState('witness', 'serving');
    expect(witness.backends.map(({ netns }) => netns)).toEqual([own.netns]);
    expect(await answerOf(isthmus, 'witness')).toBe('I am tenant');
    expect(await answerOf(isthmus, 'attack')).toMatch(NOT_NOW);
    expect(victim.dials() - before).toBe(0);
    expect(management.slices()).not.toContain('attack-net-1');
  });
});
