// The IPv4 addresses that an IPv6 address embeds for a translator or a tunnel. A packet to such an address arrives at the IPv4 address.
// An address that is rejected as IPv4 is therefore rejected in this form too. Pure.

export interface EmbeddedIpv4 {
  /** The name of the form. */
  readonly form: string;
  /** In dotted notation. */
  readonly address: string;
}

interface Form {
  readonly form: string;
  matches(bytes: Uint8Array): boolean;
  /** Positions of the four bytes of the IPv4 address. */
  readonly at: readonly [number, number, number, number];
  /** Teredo inverts the client's address, so that translators do not rewrite it (RFC 4380, 4). */
  readonly inverted?: true;
}

const startsWith = (bytes: Uint8Array, ...prefix: readonly number[]): boolean =>
  prefix.every((byte, i) => bytes[i] === byte);

/** RFC 6052, 3.1: the well-known prefix is a /96. */
const isNat64 = (bytes: Uint8Array): boolean =>
  startsWith(bytes, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0);
/** RFC 8215: a site may use other prefix lengths, which move the address. This is the usual position. */
const isLocalNat64 = (bytes: Uint8Array): boolean => startsWith(bytes, 0, 0x64, 0xff, 0x9b, 0, 1);
const isTeredo = (bytes: Uint8Array): boolean => startsWith(bytes, 0x20, 0x01, 0, 0);
/** RFC 5214, 6.1: the interface identifier marks ISATAP in any network. The bit 0x02 marks globally unique addresses. */
const isIsatap = (bytes: Uint8Array): boolean =>
  ((bytes[8] as number) & ~2) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;

const LAST = [12, 13, 14, 15] as const;

const FORMS: readonly Form[] = [
  { form: 'NAT64', matches: (bytes) => isNat64(bytes) || isLocalNat64(bytes), at: LAST },
  { form: '6to4', matches: (bytes) => startsWith(bytes, 0x20, 0x02), at: [2, 3, 4, 5] },
  { form: 'Teredo', matches: isTeredo, at: LAST, inverted: true },
  { form: 'Teredo', matches: isTeredo, at: [4, 5, 6, 7] },
  { form: 'ISATAP', matches: isIsatap, at: LAST },
];

/** Empty if the address embeds no IPv4 address. `address` is IPv6 text without a zone. */
export function embeddedIpv4s(address: string): readonly EmbeddedIpv4[] {
  const bytes = ipv6Bytes(address);
  return FORMS.filter(({ matches }) => matches(bytes)).map(({ form, at, inverted }) => ({
    form,
    address: at.map((i) => (bytes[i] as number) ^ (inverted ? 0xff : 0)).join('.'),
  }));
}

function ipv6Bytes(address: string): Uint8Array {
  const [head = '', tail] = address.split('::');
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const zeros = new Array<number>(8 - first.length - last.length).fill(0);
  return Uint8Array.from([...first, ...zeros, ...last].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Groups of 16 bits. The last two may be written as IPv4. */
function groupsOf(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
