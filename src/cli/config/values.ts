// Reads single configuration values. Each reader returns the value or a description of valid values. Readers never throw and do not
// read the environment.
import { BlockList, isIP, isIPv6 } from 'node:net';

export type Read<T> = { readonly value: T } | { readonly wanted: string };

export type Reader<T> = (text: string) => Read<T>;

/** For a value that can have several problems at once: one sentence per problem. */
export type ReadParts<T> = { readonly value: T } | { readonly problems: readonly string[] };

export type PartsReader<T> = (text: string) => ReadParts<T>;

export interface Endpoint {
  /** undefined listens on all addresses. */
  readonly host: string | undefined;
  readonly port: number;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

export function duration(minMs: number, maxMs: number): Reader<number> {
  const wanted = `a duration from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, such as 500ms, 10s or 2m`;
  return (text) => {
    const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text);
    if (match === null) return { wanted };
    const value = Number(match[1]) * (UNITS[match[2] as string] as number);
    return value >= minMs && value <= maxMs ? { value } : { wanted };
  };
}

export function formatDuration(ms: number): string {
  for (const [unit, size] of Object.entries(UNITS).reverse()) {
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}

export function integer(min: number, max: number): Reader<number> {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? { value } : { wanted: `a whole number from ${min} to ${max}` };
  };
}

export function oneOf<T extends string>(...choices: readonly T[]): Reader<T> {
  return (text) => {
    const value = choices.find((choice) => choice === text);
    return value === undefined ? { wanted: `one of ${choices.join(', ')}` } : { value };
  };
}

export const flag: Reader<boolean> = (text) => {
  if (/^(1|true|yes|on)$/i.test(text)) return { value: true };
  if (/^(0|false|no|off|)$/i.test(text)) return { value: false };
  return { wanted: 'true or false' };
};

export const endpoint: Reader<Endpoint> = (text) => {
  const wanted =
    'a port or <address>:<port>, such as 6443, 127.0.0.1:6443 or [::1]:6443 (port 0 takes any free one)';
  const match = /^(?:(?:\[([^\]]*)\]|([^:]*)):)?(\d{1,5})$/.exec(text);
  if (match === null) return { wanted };
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > 65_535) return { wanted };
  if (bracketed !== undefined) return isIPv6(bracketed) ? { value: { host: bracketed, port } } : { wanted };
  if (plain === undefined || plain === '' || plain === '*') return { value: { host: undefined, port } };
  if (plain === 'localhost') return { value: { host: '127.0.0.1', port } };
  return isIP(plain) === 4 ? { value: { host: plain, port } } : { wanted };
};

export const directory: Reader<string> = (text) =>
  text.startsWith('/') || text.startsWith('.') ? { value: text } : { wanted: 'a path, such as /run/netns' };

const NETNS_PREFIX = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}-$/;

/** Separated by commas. Each ends with "-": without it, a final hex digit of the prefix looks like a part of the id. */
export const netnsPrefixes: PartsReader<readonly string[]> = (text) => {
  const prefixes = text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
  const problems = prefixes.flatMap((prefix, index) => {
    if (prefixes.indexOf(prefix) < index) return [`the prefix ${JSON.stringify(prefix)} is given twice`];
    if (NETNS_PREFIX.test(prefix)) return [];
    return [
      `the prefix ${JSON.stringify(prefix)} is not valid. Use at most 64 letters, digits, ".", "_" and "-", ` +
        'a letter or digit first and "-" last, such as tenant-',
    ];
  });
  return problems.length > 0 ? { problems } : { value: prefixes };
};

/** A DNS-1123 label: the syntax of namespace and cluster names. */
export const label: Reader<string> = (text) =>
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
    ? { value: text }
    : { wanted: 'a name of lower-case letters, digits and dashes, at most 63' };

export type SourceSetting =
  | { readonly kind: 'kubernetes' }
  | { readonly kind: 'file'; readonly directory: string };

export const source: Reader<SourceSetting> = (text) => {
  if (text === 'kubernetes') return { value: { kind: 'kubernetes' } };
  const match = /^file:(.+)$/.exec(text);
  if (match !== null) return { value: { kind: 'file', directory: match[1] as string } };
  return {
    wanted:
      'kubernetes, or file:<directory> with OpenStackCluster manifests, such as file:/etc/isthmus/clusters',
  };
};

export const filePath: Reader<string> = (text) =>
  text === '' || text.includes('\0')
    ? { wanted: 'a path, such as /etc/isthmus/kubeconfig' }
    : { value: text };

/** `*` becomes null, all namespaces. No namespace can have the name `*`. */
export const namespaceOrAll: Reader<string | null> = (text) => {
  if (text === '*') return { value: null };
  const read = label(text);
  return 'value' in read ? read : { wanted: 'the name of a namespace, or * for all of them' };
};

/** Accepts any host name. The names of Kubernetes objects are derived from it later. */
export const hostName: Reader<string> = (text) =>
  /^[\x21-\x7e]{1,253}$/.test(text) ? { value: text } : { wanted: "a host's name, at most 253 letters" };

/** An empty generation means that the cluster does not set the label: the Pod then has no DaemonSet to name. */
export const daemonSetPod: Reader<{ readonly name: string; readonly generation: number } | null> = (text) => {
  const [, name, generation] = /^([a-z0-9.-]{1,63}\/[a-z0-9.-]{1,253}):(\d{0,15})$/.exec(text) ?? [];
  if (name === undefined) return { wanted: '<namespace>/<name>:<generation>, for example isthmus/isthmus:7' };
  return { value: generation === '' ? null : { name, generation: Number(generation) } };
};

export const ipAddress: Reader<string> = (text) =>
  isIP(text) !== 0 && !text.includes('%')
    ? { value: text }
    : { wanted: 'an IP address, such as 192.0.2.10 or 2001:db8::10' };

export interface PortRange {
  readonly from: number;
  readonly to: number;
}

/** Empty: no ports. */
export const portRange: Reader<PortRange | null> = (text) => {
  if (text === '') return { value: null };
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text);
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  return match !== null && from >= 1 && from <= to && to <= 65_535
    ? { value: { from, to } }
    : { wanted: 'a range of ports from 1 to 65535, such as 17000-17999, or nothing' };
};

/** Comma-separated CIDRs; a bare address is a network of one. */
export const cidrs: Reader<readonly string[]> = (text) => {
  const parts = text.split(',').map((part) => part.trim());
  const bad = parts.filter((part) => parseCidr(part) === null);
  return bad.length === 0
    ? { value: parts }
    : {
        wanted: `addresses or CIDRs separated by commas, such as 10.0.0.0/8,fd00::/8 (not one: ${bad.join(', ')})`,
      };
};

function parseCidr(text: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | null {
  const match = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text);
  if (match === null) return null;
  const address = match[1] as string;
  const family = isIP(address);
  if (family === 0) return null;
  const most = family === 4 ? 32 : 128;
  const bits = match[2] === undefined ? most : Number(match[2]);
  return bits > most ? null : { address, bits, family: family === 4 ? 'ipv4' : 'ipv6' };
}

export function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const parsed = parseCidr(network);
    if (parsed !== null) list.addSubnet(parsed.address, parsed.bits, parsed.family);
  }
  return list;
}
