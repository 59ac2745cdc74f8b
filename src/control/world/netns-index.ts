// Finds the netns of a Neutron network by the id in its name. An index, because a thousand clusters look into a thousand
// names each turn; exact about names, because a loose match would dial inside another tenant's network, or the host's own.
import type { NetnsEntry, NetnsSnapshot } from '../../netns/netns-snapshot.ts';
import { byText } from '../objects/text-order.ts';
import { isUuid, UUID_LENGTH } from '../sources/network-id.ts';

/**
 * OVN's metadata agent and the DHCP agent are attached to the network itself: the best vantage points, in this order. `qrouter-`, `snat-`
 * and `fip-` are named after a router or an external network, never after a tenant's, and a CNI names its own `cni-<uuid>`.
 */
const AGENT_PREFIXES = ['ovnmeta-', 'qdhcp-'] as const;

type Unusable = NetnsSnapshot['problems'][number];

export interface NetnsIndex {
  /** Best first. */
  find(networkId: string): readonly NetnsEntry[];
  /** Those with that id in their name that cannot be used, with the reason. */
  findUnusable(networkId: string): readonly Unusable[];
  /** What an operator may look for by hand. */
  expectedNames(networkId: string): readonly string[];
}

interface Known {
  readonly unusable: readonly Unusable[];
  readonly addedPrefixes: readonly string[];
  readonly index: NetnsIndex;
}

const indexes = new WeakMap<readonly NetnsEntry[], Known>();
const NO_PREFIXES: readonly string[] = [];

/** The same lists give the same index: the caller changes them no more. `addedPrefixes` are the operator's own. */
export function netnsIndex(
  entries: readonly NetnsEntry[],
  unusable: readonly Unusable[],
  addedPrefixes: readonly string[] = NO_PREFIXES,
): NetnsIndex {
  const known = indexes.get(entries);
  if (known?.unusable === unusable && known.addedPrefixes === addedPrefixes) return known.index;
  const prefixes = netnsPrefixes(addedPrefixes);
  const usableById = byNetworkId(entries, prefixes);
  const unusableById = byNetworkId(unusable, prefixes);
  const index = {
    find: (id: string) => usableById.get(id) ?? [],
    findUnusable: (id: string) => unusableById.get(id) ?? [],
    expectedNames: (id: string) => prefixes.map((prefix) => `${prefix}${id}`),
  };
  indexes.set(entries, { unusable, addedPrefixes, index });
  return index;
}

/** Best first, each once. */
export const netnsPrefixes = (added: readonly string[]): readonly string[] => [
  ...new Set([...AGENT_PREFIXES, ...added]),
];

/** Whether a netns of this name belongs to some network. */
export const isNetworkNetns = (name: string, prefixes: readonly string[]): boolean =>
  prefixes.includes(prefixIn(name)) && isUuid(idIn(name));

export const isOvnNetns = (name: string): boolean => name.startsWith('ovnmeta-');

const idIn = (name: string): string => name.slice(-UUID_LENGTH);
const prefixIn = (name: string): string => name.slice(0, -UUID_LENGTH);

function byNetworkId<T extends { readonly name: string }>(
  entries: readonly T[],
  prefixes: readonly string[],
): ReadonlyMap<string, readonly T[]> {
  const byId = new Map<string, T[]>();
  for (const entry of entries) {
    if (!isNetworkNetns(entry.name, prefixes)) continue;
    const id = idIn(entry.name);
    const known = byId.get(id);
    if (known === undefined) byId.set(id, [entry]);
    else known.push(entry);
  }
  const rankOf = ({ name }: T): number => prefixes.indexOf(prefixIn(name));
  for (const found of byId.values()) found.sort((a, b) => rankOf(a) - rankOf(b) || byText(a.name, b.name));
  return byId;
}
