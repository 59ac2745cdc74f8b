// Finds the netns of a Neutron network by the id in its name. An index, because a thousand clusters look into a thousand
// names each turn; strict about where an id begins, because a loose match would dial inside another tenant's network.
import type { NetnsEntry, NetnsSnapshot } from '../netns/netns-snapshot.ts';
import { isUuid } from './network-id.ts';
import { byText } from './text-order.ts';

/** OVN's metadata agent and the DHCP agent are attached to the network itself: the best vantage points, in this order. */
const GOOD_PREFIXES = ['ovnmeta-', 'qdhcp-'] as const;
/** Named after a router or an external network, not a tenant's: rarely right, so tried last. */
const POOR_PREFIXES = ['qrouter-', 'fip-', 'snat-'] as const;
const PREFIXES: readonly string[] = [...GOOD_PREFIXES, ...POOR_PREFIXES];
const UUID_LENGTH = 36;

type Unusable = NetnsSnapshot['problems'][number];

export interface NetnsIndex {
  /** Best first. */
  find(networkId: string): readonly NetnsEntry[];
  /** Those with that id in their name that cannot be used, with the reason. */
  findUnusable(networkId: string): readonly Unusable[];
}

const indexes = new WeakMap<readonly NetnsEntry[], { unusable: readonly Unusable[]; index: NetnsIndex }>();

/** Of the same lists the same index: whoever hands them in changes them no more. */
export function netnsIndex(entries: readonly NetnsEntry[], unusable: readonly Unusable[]): NetnsIndex {
  const known = indexes.get(entries);
  if (known?.unusable === unusable) return known.index;
  const usableById = byNetworkId(entries);
  const unusableById = byNetworkId(unusable);
  const index = {
    find: (id: string) => usableById.get(id) ?? [],
    findUnusable: (id: string) => unusableById.get(id) ?? [],
  };
  indexes.set(entries, { unusable, index });
  return index;
}

/** What an operator may look for by hand. */
export const expectedNetnsNames = (networkId: string): string[] =>
  GOOD_PREFIXES.map((prefix) => `${prefix}${networkId}`);

/** Named as the agents name those that are attached to a tenant's network. */
export const hasKnownPrefix = (name: string): boolean =>
  GOOD_PREFIXES.some((prefix) => name.startsWith(prefix) && name.length > prefix.length);

export const isOvnNetns = (name: string): boolean => name.startsWith('ovnmeta-');

function byNetworkId<T extends { readonly name: string }>(
  entries: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const byId = new Map<string, T[]>();
  for (const entry of entries) {
    for (const id of idsIn(entry.name)) {
      const known = byId.get(id);
      if (known === undefined) byId.set(id, [entry]);
      else known.push(entry);
    }
  }
  for (const found of byId.values())
    found.sort((a, b) => rankOf(a.name) - rankOf(b.name) || byText(a.name, b.name));
  return byId;
}

/**
 * A UUID counts after any prefix. Anything else counts only as the whole name or right after a known prefix: the last group
 * of a UUID is no id, and neither is the "1" of `something-1`.
 */
function idsIn(name: string): ReadonlySet<string> {
  const ids = new Set([name]);
  const tail = name.slice(-UUID_LENGTH);
  const before = name.charAt(name.length - UUID_LENGTH - 1);
  if ((before === '' || before === '-') && isUuid(tail)) ids.add(tail);
  for (const prefix of PREFIXES) {
    if (name.startsWith(prefix) && name.length > prefix.length) ids.add(name.slice(prefix.length));
  }
  return ids;
}

function rankOf(name: string): number {
  const known = PREFIXES.findIndex((prefix) => name.startsWith(prefix));
  if (known === -1) return GOOD_PREFIXES.length;
  return known < GOOD_PREFIXES.length ? known : GOOD_PREFIXES.length + 1;
}
