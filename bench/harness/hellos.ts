// The ClientHellos that the generator sends. They are captured from real clients (test/captures). The new server name has the same
// length as the captured one, so no other byte changes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CAPTURES } from '../../test/captures/captures.ts';

const CAPTURED_NAME = 'demo-cluster';

/** Cluster names are as long as the captured name. */
export const clusterName = (index: number): string =>
  `c${String(index).padStart(CAPTURED_NAME.length - 1, '0')}`;

export const HELLO_KINDS = {
  /** curl 7.88 with OpenSSL 3.0: 517 bytes, one segment. */
  classic: 'curl-7.88',
  /** Chromium 156: a post-quantum key share, 2 KB, one record. */
  'post-quantum': 'chromium-156-a',
} as const;
export type HelloKind = keyof typeof HELLO_KINDS;

export function helloFor(kind: HelloKind, cluster: string): Buffer {
  const capture = CAPTURES.find(({ name }) => name === HELLO_KINDS[kind])!;
  const bytes = Buffer.from(capture.bytes);
  const at = bytes.indexOf(CAPTURED_NAME);
  if (at < 0 || cluster.length !== CAPTURED_NAME.length) throw new Error(`no place for ${cluster}`);
  bytes.write(cluster, at, 'latin1');
  return bytes;
}

/** Writes the generator's file format, [length: u32 little-endian][hello]…. A fixed step shuffles the order. */
export function writeHellos(directory: string, kind: HelloKind, clusters: readonly string[]): string {
  const path = join(directory, `hellos-${kind}-${clusters[0]}-${clusters.length}`);
  const parts: Buffer[] = [];
  for (let i = 0; i < clusters.length; i += 1) {
    const hello = helloFor(kind, clusters[(i * 7919) % clusters.length]!);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(hello.length);
    parts.push(length, hello);
  }
  writeFileSync(path, Buffer.concat(parts));
  return path;
}
