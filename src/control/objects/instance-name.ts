// What an instance is called, and the names that follow from it. The same host always gets the same name, so that a restart
// finds its own objects again; two hosts never get one name, or each would take the other's objects for its own. Pure.

/** Of a DNS-1123 label, and of a label's value. */
const MAX_LABEL = 63;
/** Of the name of an EndpointSlice or Lease. */
const MAX_OBJECT_NAME = 253;

export interface HostNames {
  /** The name of the Kubernetes Node, where it is known: a pod's host name changes with each restart. */
  readonly nodeName: string | null;
  readonly hostname: string;
}

/** Usable in object names and as a label's value: a DNS-1123 label. */
export function instanceName({ nodeName, hostname }: HostNames): string {
  const given = nodeName !== null && nodeName !== '' ? nodeName : hostname;
  const clean = trimmed(given.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'));
  // A name that looks like one of ours with a hash gets a hash too, or a host could be named after another's.
  if (isLabel(given) && !/(?:^|-)[0-9a-f]{10}$/.test(given)) return given;
  const room = MAX_LABEL - NAME_HASH_DIGITS - 1;
  return `${trimmed(clean.slice(0, room)) || 'host'}-${nameHash(given)}`;
}

export interface SliceNameOptions {
  /** The plain name belongs to another pair already: `a-b` on `c` and `a` on `b-c` read alike. */
  readonly disambiguate: boolean;
}

/** `<cluster>-<instance>`, as the program we replace has it. */
export function sliceName(cluster: string, instance: string, { disambiguate }: SliceNameOptions): string {
  const plain = `${cluster}-${instance}`;
  if (!disambiguate && plain.length <= MAX_OBJECT_NAME) return plain;
  const room = MAX_OBJECT_NAME - NAME_HASH_DIGITS - 1;
  // A line break is in neither name, so that no two pairs give one text.
  return `${trimmed(plain.slice(0, room))}-${nameHash(`${cluster}\n${instance}`)}`;
}

export function leaseName(instance: string): string {
  return `isthmus-${instance}`;
}

const isLabel = (text: string): boolean =>
  text.length <= MAX_LABEL && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(text);

const trimmed = (text: string): string => text.replace(/^-+/, '').replace(/-+$/, '');

/** 40 bits: among a thousand names that all need one, two alike in one of two million installations. */
export const NAME_HASH_DIGITS = 10;

/** The hash in a name that would be too long, or taken. The same on every instance and in every version. */
export function nameHash(text: string): string {
  // Late: few names need one, and without it an instance that serves from files need not load any cryptography.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update(text).digest('hex').slice(0, NAME_HASH_DIGITS);
}
