// Finds the netns of a Neutron network by the id in the netns name. It is an index, because each turn looks up a thousand clusters among a
// thousand names. Names match exactly: a loose match could dial inside another tenant's network, or the host's own. Pure.
import type { NetnsEntry, NetnsSnapshot } from '../../netns/netns-directory.ts';
import { byText } from '../objects/text-order.ts';
import { isUuid, UUID_LENGTH } from '../sources/network-id.ts';

/**
 * The netns of OVN's metadata agent and of the DHCP agent are attached to the network itself, so they are preferred, in this order. The
 * names `qrouter-`, `snat-` and `fip-` contain the id of a router or an external network, never of a tenant's network. A CNI uses
 * `cni-<uuid>`.
 */
const AGENT_PREFIXES = ['ovnmeta-', 'qdhcp-'] as const;

type Unusable = NetnsSnapshot['problems'][number];

export interface NetnsIndex {
  /** Best first. */
  find(networkId: string): readonly NetnsEntry[];
  /** Unusable netns with this id in their name, with the reason. */
  findUnusable(networkId: string): readonly Unusable[];
  /** The names that an operator can look for by hand. */
  expectedNames(networkId: string): readonly string[];
}

/** `addedPrefixes` come from the operator. */
export function netnsIndex(
  entries: readonly NetnsEntry[],
  unusable: readonly Unusable[],
  addedPrefixes: readonly string[] = [],
): NetnsIndex {
  const prefixes = netnsPrefixes(addedPrefixes);
  const usableById = byNetworkId(entries, prefixes);
  const unusableById = byNetworkId(unusable, prefixes);
  return {
    find: (id: string) => usableById.get(id) ?? [],
    findUnusable: (id: string) => unusableById.get(id) ?? [],
    expectedNames: (id: string) => prefixes.map((prefix) => `${prefix}${id}`),
  };
}

/** Best first, without duplicates. */
export const netnsPrefixes = (added: readonly string[]): readonly string[] => [
  ...new Set([...AGENT_PREFIXES, ...added]),
];

/** Whether a netns with this name belongs to a Neutron network. */
export const isNetworkNetns = (name: string, prefixes: readonly string[]): boolean =>
  prefixes.includes(prefixIn(name)) && isUuid(idIn(name));

export const isOvnNetns = (name: string): boolean => name.startsWith('ovnmeta-');

const idIn = (name: string): string => name.slice(-UUID_LENGTH);
const prefixIn = (name: string): string => name.slice(0, -UUID_LENGTH);

function byNetworkId<T extends { readonly name: string }>(
  entries: readonly T[],
  prefixes: readonly string[],
): ReadonlyMap<string, readonly T[]> {
  const ofNetworks = entries.filter(({ name }) => isNetworkNetns(name, prefixes));
  const byId = Map.groupBy(ofNetworks, ({ name }) => idIn(name));
  const rankOf = ({ name }: T): number => prefixes.indexOf(prefixIn(name));
  for (const found of byId.values()) found.sort((a, b) => rankOf(a) - rankOf(b) || byText(a.name, b.name));
  return byId;
}
