// The life of one cluster, from its first object to its last, as everybody around it sees it: Service, slices, kubeconfig, Events,
// and the rules by which kube-proxy sends connections on. What each step takes is printed.
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
  // net-2 has no port on this network: what happens here is net-1's doing alone.
  alpha = await site.addWorkload({ name: 'alpha', prefix: 'ovnmeta' }, ['net-1']);
  for (const each of site.instances.values()) each.start();
  await site.until('both instances are there', async () => {
    const leases = await site.management.names('leases');
    return leases.includes('isthmus-net-1') && leases.includes('isthmus-net-2');
  });
});
afterAll(async () => await site?.stop());

/** Short of patience: a connection that was begun before kube-proxy had the rules for it never gets anywhere. */
const answers = async (client: Client) => {
  const asked = client.kubectl(kubeconfig, 'get', '--raw', '/', '--request-timeout=5s');
  return (await asked.catch(() => '')) === 'I am alpha';
};
const both = () => [...site.clients.values()];

/** Several things that follow from one, each with the time since then. */
async function follows(what: string, expected: Readonly<Record<string, () => boolean | Promise<boolean>>>) {
  const times = await Promise.all(
    Object.entries(expected).map(
      async ([name, condition]) => [name, await site.until(name, condition)] as const,
    ),
  );
  const lines = times.map(([name, seconds]) => `  ${seconds.toFixed(1).padStart(5)} s  ${name}`);
  console.log(`${what}\n${lines.join('\n')}`);
}

test('a cluster that is created becomes a Service, a slice, rules, and a kubeconfig that works', async () => {
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

test('when its API server dies nobody is sent there any more, and Service and kubeconfig stay', async () => {
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

test('when it is back, so is everything', async () => {
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

test('when its namespace is made anew under the same name it is reached again', async () => {
  site.detach(alpha, 'net-1');
  site.attach(alpha, 'net-1');
  await follows('its namespace was deleted and made again', {
    'it answers through name and Service (nftables)': () => answers(site.client('nftables')),
    'it answers through name and Service (iptables)': () => answers(site.client('iptables')),
  });
});

test('when it is deleted nothing of ours is left, and the Events told its story', async () => {
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
