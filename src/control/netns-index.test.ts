import { describe, expect, test } from 'vitest';
import { netnsIndex } from './netns-index.ts';

const ID = '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66';
const entry = (name: string) => ({ name, path: `/run/netns/${name}`, identity: name });
const found = (id: string, ...names: string[]) =>
  netnsIndex(names.map(entry), [])
    .find(id)
    .map(({ name }) => name);

describe('the netns of a network', () => {
  test('are ordered: OVN metadata, DHCP, others by name, routers last', () => {
    const names = [
      `snat-${ID}`,
      `qrouter-${ID}`,
      `zone-${ID}`,
      ID,
      `qdhcp-${ID}`,
      `fip-${ID}`,
      `ovnmeta-${ID}`,
    ];
    const ordered = [
      `ovnmeta-${ID}`,
      `qdhcp-${ID}`,
      ID,
      `zone-${ID}`,
      `fip-${ID}`,
      `qrouter-${ID}`,
      `snat-${ID}`,
    ];
    expect(found(ID, ...names)).toEqual(ordered);
    expect(found(ID, ...names.reverse())).toEqual(ordered);
  });

  test.each([
    ['the last group of a UUID', '1c1a2f0b7e66', `qdhcp-${ID}`],
    ['the last two groups', '9d53-1c1a2f0b7e66', `qdhcp-${ID}`],
    ['a digit that some name ends with', '1', 'something-1'],
    ['nothing', '', 'qdhcp-'],
    ['a UUID glued to other text', ID, `x${ID}`],
    ['a UUID with more after it', ID, `qdhcp-${ID}-1`],
    ['another network', ID, `qdhcp-${ID.replace('8', '9')}`],
  ])('are not found by %s', (_title, id, name) => {
    expect(found(id, name)).toEqual([]);
  });

  test('are found by an id that is no UUID only as the whole name or after a known prefix', () => {
    expect(found('net-1', 'qdhcp-net-1', 'ovnmeta-net-1', 'net-1', 'my-net-1', 'xnet-1')).toEqual([
      'ovnmeta-net-1',
      'qdhcp-net-1',
      'net-1',
    ]);
  });

  test('that cannot be used are found with their reason', () => {
    const index = netnsIndex([], [{ name: `qdhcp-${ID}`, reason: 'not a netns' }]);
    expect(index.find(ID)).toEqual([]);
    expect(index.findUnusable(ID)).toEqual([{ name: `qdhcp-${ID}`, reason: 'not a netns' }]);
  });
});
