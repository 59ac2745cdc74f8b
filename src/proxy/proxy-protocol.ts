// The parser of the PROXY protocol header, versions 1 and 2, which a load balancer sends before the client's bytes.
// Pure. The caller decides whether to trust the sender.
// https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt

export interface ProxySource {
  /** Canonical (RFC 5952). An IPv4-mapped address becomes its IPv4 address, so that one allow-list covers both forms. */
  readonly address: string;
  readonly port: number;
}

export type ProxyHeaderResult =
  /** The header has `length` bytes. No source: the load balancer connects for itself, or sends no TCP address. */
  | { readonly kind: 'header'; readonly length: number; readonly source?: ProxySource }
  | { readonly kind: 'absent' }
  /** Call again when at least `minBytes` bytes, counted from the first, have arrived. Fewer bytes give the same answer. */
  | { readonly kind: 'incomplete'; readonly minBytes: number }
  | { readonly kind: 'invalid'; readonly reason: ProxyHeaderProblem };

/** Each meaning continues the sentence "the header …". */
export const PROXY_HEADER_PROBLEMS = {
  'v1-too-long': 'has no line end within 107 bytes',
  'v1-malformed': 'is not a list of fields separated by single spaces and ended by CR LF',
  'v1-bad-family': 'has a family other than TCP4, TCP6 and UNKNOWN',
  'v1-bad-address': 'has an address that is not valid for its family',
  'v1-bad-port': 'has a port that is not a number up to 65535, or has leading zeros',
  'v2-bad-version': 'has a version other than 2 after the signature',
  'v2-bad-command': 'has a command other than LOCAL and PROXY',
  'v2-bad-family': 'has a family or transport that the specification reserves',
  'v2-too-short': 'is too short for the addresses of its family',
  'v2-too-long': 'is longer than 4096 bytes; headers with the usual TLVs are far shorter',
} as const;

export type ProxyHeaderProblem = keyof typeof PROXY_HEADER_PROBLEMS;

const V1_PREFIX = Uint8Array.from('PROXY ', (letter) => letter.charCodeAt(0));
const V1_MAX_BYTES = 107;
const V2_SIGNATURE = Uint8Array.of(0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a);
const V2_FIXED_BYTES = 16;
const V2_MAX_BYTES = 4096;
/** Size of the address block by family: unspecified, IPv4, IPv6, Unix. */
const V2_ADDRESS_BYTES = [0, 12, 36, 216] as const;
const V2_MAX_TRANSPORT = 2;
const V2_STREAM = 1;

const CR = 0x0d;
const LF = 0x0a;

/**
 * Parses the header at the start of `bytes`, which are all bytes received so far. Each call parses from the start,
 * because the header is short.
 */
export function parseProxyHeader(bytes: Uint8Array): ProxyHeaderResult {
  if (bytes.length === 0) return incomplete(1);
  if (startsAs(bytes, V1_PREFIX)) {
    return bytes.length < V1_PREFIX.length ? incomplete(bytes.length + 1) : parseLine(bytes);
  }
  if (startsAs(bytes, V2_SIGNATURE)) {
    return bytes.length < V2_SIGNATURE.length ? incomplete(bytes.length + 1) : parseBinary(bytes);
  }
  return { kind: 'absent' };
}

function startsAs(bytes: Uint8Array, expected: Uint8Array): boolean {
  const count = Math.min(bytes.length, expected.length);
  for (let i = 0; i < count; i += 1) {
    if (bytes[i] !== expected[i]) return false;
  }
  return true;
}

function incomplete(minBytes: number): ProxyHeaderResult {
  return { kind: 'incomplete', minBytes };
}

function invalid(reason: ProxyHeaderProblem): ProxyHeaderResult {
  return { kind: 'invalid', reason };
}

function parseLine(bytes: Uint8Array): ProxyHeaderResult {
  let line = '';
  for (let i = 0; i < V1_MAX_BYTES - 1; i += 1) {
    const byte = bytes[i];
    if (byte === undefined) return incomplete(i + 1);
    if (byte === CR) {
      const end = bytes[i + 1];
      if (end === undefined) return incomplete(i + 2);
      return end === LF ? parseFields(line.split(' '), i + 2) : invalid('v1-malformed');
    }
    if (byte < 0x20 || byte > 0x7e) return invalid('v1-malformed');
    line += String.fromCharCode(byte);
  }
  return invalid('v1-too-long');
}

function parseFields(fields: readonly string[], length: number): ProxyHeaderResult {
  const [, family, source, destination, sourcePort, destinationPort] = fields;
  // The specification requires the receiver to ignore the rest of an UNKNOWN line.
  if (family === 'UNKNOWN') return { kind: 'header', length };
  if (family !== 'TCP4' && family !== 'TCP6') return invalid('v1-bad-family');
  if (source === undefined || destination === undefined || sourcePort === undefined)
    return invalid('v1-malformed');
  if (destinationPort === undefined || fields.length > 6) return invalid('v1-malformed');
  const bytesOf = family === 'TCP4' ? ipv4Bytes : ipv6Bytes;
  const address = bytesOf(source);
  if (address === undefined || bytesOf(destination) === undefined) return invalid('v1-bad-address');
  const port = portNumber(sourcePort);
  if (port === undefined || portNumber(destinationPort) === undefined) return invalid('v1-bad-port');
  return { kind: 'header', length, source: { address: addressText(address), port } };
}

function parseBinary(bytes: Uint8Array): ProxyHeaderResult {
  const versionAndCommand = bytes[12];
  if (versionAndCommand === undefined) return incomplete(13);
  if (versionAndCommand >> 4 !== 2) return invalid('v2-bad-version');
  const command = versionAndCommand & 0x0f;
  if (command > 1) return invalid('v2-bad-command');
  const isLocal = command === 0;

  const familyAndTransport = bytes[13];
  if (familyAndTransport === undefined) return incomplete(14);
  const addressBytes = V2_ADDRESS_BYTES[familyAndTransport >> 4];
  const transport = familyAndTransport & 0x0f;
  // LOCAL is the load balancer's own health check. The specification says to ignore its family.
  if (!isLocal && (addressBytes === undefined || transport > V2_MAX_TRANSPORT))
    return invalid('v2-bad-family');

  if (bytes.length < V2_FIXED_BYTES) return incomplete(V2_FIXED_BYTES);
  const rest = (bytes[14]! << 8) | bytes[15]!;
  const length = V2_FIXED_BYTES + rest;
  if (length > V2_MAX_BYTES) return invalid('v2-too-long');
  if (!isLocal && addressBytes !== undefined && rest < addressBytes) return invalid('v2-too-short');
  if (bytes.length < length) return incomplete(length);

  // Unix and datagram sources are legal, but their addresses have no meaning on a TCP listener.
  if (isLocal || transport !== V2_STREAM) return { kind: 'header', length };
  switch (addressBytes) {
    case 12:
      return { kind: 'header', length, source: sourceAt(bytes, 4) };
    case 36:
      return { kind: 'header', length, source: sourceAt(bytes, 16) };
    default:
      return { kind: 'header', length };
  }
}

/** Source and destination address come first, then source and destination port. */
function sourceAt(bytes: Uint8Array, width: number): ProxySource {
  const portAt = V2_FIXED_BYTES + 2 * width;
  return {
    address: addressText(bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + width)),
    port: (bytes[portAt]! << 8) | bytes[portAt + 1]!,
  };
}

function portNumber(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,4})$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 0xffff ? port : undefined;
}

function ipv4Bytes(text: string): Uint8Array | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return undefined;
  const parts = match.slice(1);
  // Some parsers read a number with a leading zero as octal, others as decimal.
  if (parts.some((part) => Number(part) > 255 || (part.length > 1 && part.startsWith('0')))) return undefined;
  return Uint8Array.from(parts, Number);
}

function ipv6Bytes(text: string): Uint8Array | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = ipv6Groups(halves[0]!, halves.length === 1);
  const tail = halves[1] === undefined ? [] : ipv6Groups(halves[1], true);
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  // `::` replaces at least one group. Without `::` all eight groups must be present.
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** The groups on one side of `::`. Only the last two groups of the address may be written as an IPv4 address. */
function ipv6Groups(text: string, isLast: boolean): number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [i, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const quad = isLast && i === parts.length - 1 ? ipv4Bytes(part) : undefined;
    if (quad === undefined) return undefined;
    groups.push((quad[0]! << 8) | quad[1]!, (quad[2]! << 8) | quad[3]!);
  }
  return groups;
}

/** 4 or 16 bytes as text. */
function addressText(address: Uint8Array): string {
  if (address.length === 4) return address.join('.');
  if (isIpv4Mapped(address)) return address.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => (address[2 * i]! << 8) | address[2 * i + 1]!);
  const run = longestZeroRun(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  if (run.length < 2) return hex(groups);
  return `${hex(groups.slice(0, run.start))}::${hex(groups.slice(run.start + run.length))}`;
}

function isIpv4Mapped(address: Uint8Array): boolean {
  return address.subarray(0, 10).every((byte) => byte === 0) && address[10] === 0xff && address[11] === 0xff;
}

/** RFC 5952 4.2.3: the longest run of zero groups; among equals, the first. */
function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (const [i, group] of groups.entries()) {
    if (group !== 0) start = i + 1;
    else if (i + 1 - start > best.length) best = { start, length: i + 1 - start };
  }
  return best;
}
