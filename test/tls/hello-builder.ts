// Builds ClientHellos for tests and benchmarks, well-formed by default. Independent of the parser.

export interface HelloParts {
  readonly version?: number;
  readonly sessionId?: Uint8Array;
  readonly cipherSuites?: Uint8Array;
  readonly compression?: Uint8Array;
  /** `null` omits the block, as TLS 1.0 clients may. */
  readonly extensions?: readonly Uint8Array[] | null;
}

export function bytesOf(...parts: readonly (Uint8Array | readonly number[] | string)[]): Uint8Array {
  return new Uint8Array(
    Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
    ),
  );
}

export function uint16(value: number): readonly number[] {
  return [value >> 8, value & 0xff];
}

export function extension(type: number, body: Uint8Array): Uint8Array {
  return bytesOf(uint16(type), uint16(body.length), body);
}

/** One entry of a server_name list; type 0 is a host name. */
export function nameEntry(name: Uint8Array | string, type = 0): Uint8Array {
  return bytesOf([type], uint16(name.length), name);
}

export function serverNameExtension(...entries: readonly Uint8Array[]): Uint8Array {
  const list = bytesOf(...entries);
  return extension(0, bytesOf(uint16(list.length), list));
}

export function hostNameExtension(name: Uint8Array | string): Uint8Array {
  return serverNameExtension(nameEntry(name));
}

/** The handshake message: header and body. */
export function helloMessage(parts: HelloParts = {}): Uint8Array {
  const sessionId = parts.sessionId ?? new Uint8Array(32).fill(0x5e);
  const cipherSuites = parts.cipherSuites ?? Uint8Array.of(0x13, 0x01, 0xc0, 0x2f);
  const compression = parts.compression ?? Uint8Array.of(0);
  const extensions = parts.extensions === undefined ? [hostNameExtension('demo.example')] : parts.extensions;
  const block = extensions === null ? [] : bytesOf(...extensions);
  return message(
    1,
    bytesOf(
      uint16(parts.version ?? 0x0303),
      new Uint8Array(32).fill(0x7a),
      [sessionId.length],
      sessionId,
      uint16(cipherSuites.length),
      cipherSuites,
      [compression.length],
      compression,
      extensions === null ? [] : uint16(block.length),
      block,
    ),
  );
}

export function message(type: number, body: Uint8Array): Uint8Array {
  return bytesOf([type, body.length >> 16], uint16(body.length & 0xffff), body);
}

export function record(payload: Uint8Array, type = 22, version = 0x0301): Uint8Array {
  return bytesOf([type], uint16(version), uint16(payload.length), payload);
}

/** The message over records of the given sizes; the rest goes into as few records as possible. */
export function records(payload: Uint8Array, sizes: readonly number[] = []): Uint8Array {
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (let i = 0; at < payload.length; i += 1) {
    const size = Math.min(sizes[i] ?? 1 << 14, payload.length - at);
    pieces.push(record(payload.subarray(at, at + size)));
    at += size;
  }
  return bytesOf(...pieces);
}

export function oneByteRecords(payload: Uint8Array): Uint8Array {
  return records(payload, new Array<number>(payload.length).fill(1));
}

/** A well-formed hello whose message has exactly `length` bytes, most of them in extensions without a body. */
export function longHello(length: number): Uint8Array {
  const name = hostNameExtension('demo.example');
  const room = length - helloMessage({ extensions: [name] }).length;
  const padding = extension(21, new Uint8Array((room % 4) + 4));
  const empty = new Array<Uint8Array>((room - padding.length) / 4).fill(extension(0x2a2a, new Uint8Array(0)));
  return helloMessage({ extensions: [padding, ...empty, name] });
}

/** The message of a hello, extracted from its records. */
export function messageIn(raw: Uint8Array): Uint8Array {
  const payloads: Uint8Array[] = [];
  for (let at = 0; at < raw.length; ) {
    const length = ((raw[at + 3] as number) << 8) | (raw[at + 4] as number);
    payloads.push(raw.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return bytesOf(...payloads);
}
