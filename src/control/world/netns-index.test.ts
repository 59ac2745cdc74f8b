import { describe, expect, test } from 'vitest';
import { netnsIndex } from './netns-index.ts';

const ID = '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66';
const entry = (name: string) => ({ name, path: `/run/netns/${name}`, identity: name });
const found = (id: string, ...names: string[]) =>
  netnsIndex(names.map(entry), [])
    .find(id)
    .map(({ name }) => name);

describe('the netns of a network', () => {
  test('are ordered: OVN metadata, DHCP, then the prefixes of the operator in their given order', () => {
    const names = [`zone-${ID}`, `qdhcp-${ID}`, `tenant-${ID}`, `ovnmeta-${ID}`];
    const ordered = [`ovnmeta-${ID}`, `qdhcp-${ID}`, `zone-${ID}`, `tenant-${ID}`];
    const index = (list: readonly string[]) =>
      netnsIndex(list.map(entry), [], ['zone-', 'tenant-', 'qdhcp-'])
        .find(ID)
        .map(({ name }) => name);
    expect(index(names)).toEqual(ordered);
    expect(index(names.reverse())).toEqual(ordered);
  });

  test.each(['qrouter-', 'snat-', 'fip-', 'cni-', 'tenant-', '', '-', 'x-qdhcp-', 'QDHCP-', 'qdhcp'])(
    'never include a netns with %j before the id',
    (prefix) => {
      expect(found(ID, `${prefix}${ID}`)).toEqual([]);
    },
  );

  test('depend on the prefixes of the operator', () => {
    const entries = [entry(`tenant-${ID}`)];
    expect(netnsIndex(entries, []).find(ID)).toEqual([]);
    const index = netnsIndex(entries, [], ['tenant-']);
    expect(index.find(ID)).toEqual(entries);
    expect(index.expectedNames(ID)).toEqual([`ovnmeta-${ID}`, `qdhcp-${ID}`, `tenant-${ID}`]);
  });

  test.each([
    ['the last group of a UUID', '1c1a2f0b7e66', `qdhcp-${ID}`],
    ['the last two groups', '9d53-1c1a2f0b7e66', `qdhcp-${ID}`],
    ['the last digit of a name', '1', 'something-1'],
    ['nothing', '', 'qdhcp-'],
    ['a UUID with text before it', ID, `x${ID}`],
    ['a UUID with text after it', ID, `qdhcp-${ID}-1`],
    ['another network', ID, `qdhcp-${ID.replace('8', '9')}`],
  ])('are not found by %s', (_title, id, name) => {
    expect(found(id, name)).toEqual([]);
  });

  test('are not found by an id that is not a UUID, for any netns name', () => {
    expect(found('net-1', 'qdhcp-net-1', 'ovnmeta-net-1', 'net-1', 'my-net-1', 'xnet-1')).toEqual([]);
    expect(found('mgmt', 'mgmt', 'qdhcp-mgmt')).toEqual([]);
  });

  test('that are unusable are found with their reason', () => {
    const index = netnsIndex([], [{ name: `qdhcp-${ID}`, reason: 'not a netns' }]);
    expect(index.find(ID)).toEqual([]);
    expect(index.findUnusable(ID)).toEqual([{ name: `qdhcp-${ID}`, reason: 'not a netns' }]);
  });
});
