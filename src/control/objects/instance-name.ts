// The name of an instance and the names derived from it. A host always gets the same name, so a restarted instance finds its objects.
// Two hosts never share a name; otherwise each would treat the other's objects as its own. Pure.

/** Maximum length of a DNS-1123 label and of a label value. */
const MAX_LABEL = 63;
/** Maximum length of the name of an EndpointSlice or Lease. */
const MAX_OBJECT_NAME = 253;

export interface HostNames {
  /** The name of the Kubernetes Node, if known. The host name of a pod changes with each restart. */
  readonly nodeName: string | null;
  readonly hostname: string;
}

/** A DNS-1123 label, valid in object names and as a label value. */
export function instanceName({ nodeName, hostname }: HostNames): string {
  const given = nodeName !== null && nodeName !== '' ? nodeName : hostname;
  const clean = trimmed(given.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'));
  // A host name that already ends like a hash gets a hash too. Otherwise it could equal the hashed name of another host.
  if (isLabel(given) && !/(?:^|-)[0-9a-f]{10}$/.test(given)) return given;
  const room = MAX_LABEL - NAME_HASH_DIGITS - 1;
  return `${trimmed(clean.slice(0, room)) || 'host'}-${nameHash(given)}`;
}

export interface SliceNameOptions {
  /** Another pair of cluster and instance already uses the plain name: `a-b` on `c` and `a` on `b-c` give the same text. */
  readonly disambiguate: boolean;
}

/** `<cluster>-<instance>`, as in the program that Isthmus replaces. */
export function sliceName(cluster: string, instance: string, { disambiguate }: SliceNameOptions): string {
  const plain = `${cluster}-${instance}`;
  if (!disambiguate && plain.length <= MAX_OBJECT_NAME) return plain;
  const room = MAX_OBJECT_NAME - NAME_HASH_DIGITS - 1;
  // Neither name contains a line break, so each pair gives a different text.
  return `${trimmed(plain.slice(0, room))}-${nameHash(`${cluster}\n${instance}`)}`;
}

export function leaseName(instance: string): string {
  return `isthmus-${instance}`;
}

const isLabel = (text: string): boolean =>
  text.length <= MAX_LABEL && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(text);

const trimmed = (text: string): string => text.replace(/^-+/, '').replace(/-+$/, '');

/** 40 bits: among a thousand hashed names, two are equal with a probability of one in two million. */
export const NAME_HASH_DIGITS = 10;

/** The hash in a name whose plain form is too long or already in use. It is the same on every instance and in every version. */
export function nameHash(text: string): string {
  // Loaded on first use: few names need a hash, and an instance that reads its clusters from files does not need cryptography.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update(text).digest('hex').slice(0, NAME_HASH_DIGITS);
}
