// The life cycle of one cluster from creation to deletion, as external observers see it: Service, slices, kubeconfig, Events, and the
// forwarding rules of kube-proxy. Each step prints its duration.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from './client.ts';
import { Site } from './site.ts';
import { DIRECT_SERVER, proxiedServer, type Workload } from './workload.ts';

const NET_1 = '10.250.0.21';

let site: Site;
let alpha: Workload;
let kubeconfig: string;

beforeAll(async () => {
  site = await Site.start({ modes: ['nftables', 'iptables'] });
  // net-2 has no port on this network: all effects in this file come from net-1.
  alpha = await site.addWorkload({ name: 'alpha', prefix: 'ovnmeta' }, ['net-1']);
  for (const each of site.instances.values()) each.start();
  await site.until('both instances are there', async () => {
    const leases = await site.management.names('leases');
    return leases.includes('isthmus-net-1') && leases.includes('isthmus-net-2');
  });
});
afterAll(async () => await site?.stop());

/** A short timeout: a connection that starts before kube-proxy has its rules never succeeds. */
const answers = async (client: Client) => {
  const asked = client.kubectl(kubeconfig, 'get', '--raw', '/', '--request-timeout=5s');
  return (await asked.catch(() => '')) === 'I am alpha';
};
const both = () => [...site.clients.values()];

/** Several effects of one cause, each with its delay. */
async function follows(what: string, expected: Readonly<Record<string, () => boolean | Promise<boolean>>>) {
  const times = await Promise.all(
    Object.entries(expected).map(
      async ([name, condition]) => [name, await site.until(name, condition)] as const,
    ),
  );
  const lines = times.map(([name, seconds]) => `  ${seconds.toFixed(1).padStart(5)} s  ${name}`);
  console.log(`${what}\n${lines.join('\n')}`);
}

test('a new cluster gets a Service, a slice, forwarding rules, and a kubeconfig that works', async () => {
  await site.management.addCluster(alpha);
  kubeconfig = (await site.management.kubeconfig('alpha')).replace(DIRECT_SERVER, proxiedServer('alpha'));
  await follows('created', {
    'its Service is there': async () => (await site.management.service('alpha')) !== null,
    'its slice leads to net-1': async () =>
      JSON.stringify(await site.management.slices('alpha')).includes(`["${NET_1}"],"ready":true`),
    'the nftables rules lead to net-1': () => site.client('nftables').leadsTo(NET_1),
    'the iptables rules lead to net-1': () => site.client('iptables').leadsTo(NET_1),
    'its kubeconfig leads to the Service': async () =>
      (await site.management.kubeconfig('alpha')) === kubeconfig,
    'it answers through name and Service (nftables)': () => answers(site.client('nftables')),
    'it answers through name and Service (iptables)': () => answers(site.client('iptables')),
  });
  expect(await site.management.slices('alpha')).toHaveLength(1);
  const { metadata, spec } = await site.management.service('alpha');
  expect(metadata.ownerReferences).toMatchObject([{ kind: 'OpenStackCluster', blockOwnerDeletion: false }]);
  expect(spec.selector).toBeUndefined();
});

test('after its API server dies no client is sent there, and Service and kubeconfig stay', async () => {
  await alpha.kill();
  await follows('its API server died', {
    'its slice is gone': async () => (await site.management.slices('alpha')).length === 0,
    'no nftables rule leads to net-1': () => !site.client('nftables').leadsTo(NET_1),
    'no iptables rule leads to net-1': () => !site.client('iptables').leadsTo(NET_1),
  });
  expect(await site.management.service('alpha')).not.toBeNull();
  expect(await site.management.kubeconfig('alpha')).toBe(kubeconfig);
  await site.until('it is explained', async () =>
    (await site.instance('net-1').ask('explain', 'alpha')).includes('BROKEN'),
  );
});

test('when its API server returns, everything is restored', async () => {
  await alpha.revive();
  await follows('its API server is back', {
    'its slice is back': async () => (await site.management.slices('alpha')).length === 1,
    'it answers through name and Service (nftables)': () => answers(site.client('nftables')),
    'it answers through name and Service (iptables)': () => answers(site.client('iptables')),
  });
  await site.until(
    'it is explained',
    async () => !(await site.instance('net-1').ask('explain', 'alpha')).includes('BROKEN'),
  );
});

test('when its namespace is recreated under the same name, the cluster is reachable again', async () => {
  site.detach(alpha, 'net-1');
  site.attach(alpha, 'net-1');
  await follows('its namespace was deleted and made again', {
    'it answers through name and Service (nftables)': () => answers(site.client('nftables')),
    'it answers through name and Service (iptables)': () => answers(site.client('iptables')),
  });
});

test('after its deletion no object of Isthmus remains, and the Events show its history', async () => {
  const events = await site.management.events('alpha');
  await site.management.deleteCluster('alpha');
  await follows('deleted', {
    'its slice is gone': async () => (await site.management.slices('alpha')).length === 0,
    'its Service is gone': async () => (await site.management.service('alpha')) === null,
    'no nftables rule leads to net-1': () => !site.client('nftables').leadsTo(NET_1),
    'no iptables rule leads to net-1': () => !site.client('iptables').leadsTo(NET_1),
  });
  console.log(`Events on it: ${events.join(', ')}`);
  expect(events.length).toBeGreaterThan(0);
  for (const client of both()) expect(await answers(client)).toBe(false);
});
