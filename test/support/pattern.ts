// Position-dependent bytes that are cheap to make. A lost, duplicated or reordered chunk changes the hash.
import { createHash } from 'node:crypto';

const CHUNK_BYTES = 64 * 1024;

export function* patternChunks(total: number): Generator<Buffer> {
  const base = Buffer.alloc(CHUNK_BYTES);
  for (let i = 0; i < CHUNK_BYTES; i += 1) base[i] = (i * 31 + (i >> 8)) & 0xff;
  for (let sent = 0, n = 0; sent < total; n += 1) {
    const chunk = Buffer.from(base.subarray(0, Math.min(CHUNK_BYTES, total - sent)));
    if (chunk.length >= 4) chunk.writeUInt32LE(n, 0);
    sent += chunk.length;
    yield chunk;
  }
}

export function patternHash(total: number): string {
  const hash = createHash('sha256');
  for (const chunk of patternChunks(total)) hash.update(chunk);
  return hash.digest('hex');
}
