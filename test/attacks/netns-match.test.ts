// Network ids and netns names that resemble each other. A cluster's network leads only into `ovnmeta-<uuid>` and `qdhcp-<uuid>`, unless the
// operator adds a prefix.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Isthmus, manifest } from '../support/isthmus.ts';
import { type AttackNetwork, AttackNetworks, answerOf, TARGET } from '../support/network/attack-networks.ts';

const networks = new AttackNetworks();
let isthmus: Isthmus;
const traps = new Map<string, AttackNetwork>();

/** Names that no Neutron agent gives to the netns of a tenant's network. */
const TRAPS: Readonly<Record<string, (id: string) => string>> = {
  bare: (id) => id,
  cni: (id) => `cni-${id}`,
  qrouter: (id) => `qrouter-${id}`,
  snat: (id) => `snat-${id}`,
  fip: (id) => `fip-${id}`,
  tenant: (id) => `tenant-${id}`,
  dashed: (id) => `-${id}`,
  glued: (id) => `qdhcp${id}`,
  before: (id) => `x-qdhcp-${id}`,
  behind: (id) => `qdhcp-${id}-1`,
  twice: (id) => `qdhcp-qdhcp-${id}`,
  upper: (id) => `QDHCP-${id}`,
};

beforeAll(async () => {
  for (const [name, nameOf] of Object.entries(TRAPS)) traps.set(name, await networks.add(name, nameOf));
});
afterAll(() => networks.stop());

const write = (name: string, networkId: string) =>
  isthmus.writeManifest(`${name}.yaml`, manifest({ name, networkId, ...TARGET }));

async function start(...flags: string[]): Promise<void> {
  isthmus = new Isthmus();
  for (const [name, { networkId }] of traps) write(name, networkId);
  await isthmus.start('--health-interval', '100ms', ...flags);
}

/** The witness is written last. Once it is served, the proxy has read all other clusters and has made every dial that it would make. */
async function witnessIsServed(name: string, nameOf?: (id: string) => string): Promise<void> {
  const { networkId } = await networks.add(name, nameOf);
  write(name, networkId.toUpperCase());
  await isthmus.untilState(name, 'serving');
  expect(await answerOf(isthmus, name)).toBe(`I am ${name}`);
}

test('a UUID matches only the netns of the DHCP agent and of the OVN metadata agent', async () => {
  await start();
  try {
    for (const [name, { networkId }] of traps) {
      const { backends, reason } = await isthmus.untilState(name, 'no-netns');
      expect([name, backends]).toEqual([name, []]);
      expect(reason).toContain(`(expected ovnmeta-${networkId} or qdhcp-${networkId})`);
      expect(await answerOf(isthmus, name)).toMatch(/alert internal error/);
    }
    await witnessIsServed('dhcp');
    await witnessIsServed('ovn', (id) => `ovnmeta-${id}`);
    for (const [name, { dials }] of traps) expect([name, dials()]).toEqual([name, 0]);
  } finally {
    await isthmus.stop();
  }
});

test('an id that is not a UUID is invalid, whatever this host names its namespaces', async () => {
  const words = { mgmt: 'mgmt', word: 'qdhcp-storage' } as const;
  const named: AttackNetwork[] = [];
  for (const [name, netns] of Object.entries(words)) named.push(await networks.add(name, () => netns));
  await start();
  try {
    write('mgmt', 'mgmt');
    write('word', 'storage');
    write('path', '../net');
    write('whole', `qdhcp-${traps.get('tenant')?.networkId}`);
    for (const name of ['mgmt', 'word', 'path', 'whole']) {
      const { backends, reason } = await isthmus.untilState(name, 'invalid');
      expect([name, backends]).toEqual([name, []]);
      expect(reason).toMatch(/^status\.network\.id is ".*": expected the UUID of a Neutron network/);
    }
    await witnessIsServed('later');
    for (const { owner, dials } of named) expect([owner, dials()]).toEqual([owner, 0]);
  } finally {
    await isthmus.stop();
  }
});

test('--netns-prefixes adds exactly the prefixes that it names', async () => {
  await start('--netns-prefixes', 'tenant-');
  try {
    await isthmus.untilState('tenant', 'serving');
    expect(await answerOf(isthmus, 'tenant')).toBe('I am tenant');
    for (const name of traps.keys()) if (name !== 'tenant') await isthmus.untilState(name, 'no-netns');
    const { reason } = await isthmus.untilState('cni', 'no-netns');
    const id = traps.get('cni')?.networkId;
    expect(reason).toContain(`(expected ovnmeta-${id} or qdhcp-${id} or tenant-${id})`);
    for (const [name, { dials }] of traps) if (name !== 'tenant') expect([name, dials()]).toEqual([name, 0]);
  } finally {
    await isthmus.stop();
  }
});
