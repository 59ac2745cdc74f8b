// The content of files that others rotate: tokens, certificates, the kubeconfig itself. Read again when they changed, and once a
// minute whatever the file system says about changes.
import { open, stat } from 'node:fs/promises';
import { KubeconfigError } from './kubeconfig-error.ts';

interface Known {
  readonly stamp: string;
  readonly content: Buffer;
  readonly readAtMs: number;
}

export interface FollowedFilesDeps {
  readonly now?: () => number;
  readonly maxAgeMs?: number;
}

const MAX_AGE_MS = 60_000;
const MAX_BYTES = 4 * 1024 * 1024;

export class FollowedFiles {
  readonly #known = new Map<string, Known>();
  readonly #now: () => number;
  readonly #maxAgeMs: number;

  constructor({ now = () => performance.now(), maxAgeMs = MAX_AGE_MS }: FollowedFilesDeps = {}) {
    this.#now = now;
    this.#maxAgeMs = maxAgeMs;
  }

  /** The same Buffer as long as the bytes are the same. Throws when the file cannot be read: what then stands is the caller's. */
  async read(path: string, force: boolean): Promise<Buffer> {
    const known = this.#known.get(path);
    try {
      // Follows symbolic links: the files of a projected volume change by renaming `..data`.
      const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      const stamp = `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
      const now = this.#now();
      if (!force && known?.stamp === stamp && now - known.readAtMs < this.#maxAgeMs) return known.content;
      const bytes = await boundedContent(path);
      const content = known?.content.equals(bytes) ? known.content : bytes;
      this.#known.set(path, { stamp, content, readAtMs: now });
      return content;
    } catch (error) {
      if (error instanceof KubeconfigError) throw error;
      // Node's own message: code, call and path.
      throw new KubeconfigError('unreadable', (error as Error).message);
    }
  }
}

async function boundedContent(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const buffer = Buffer.allocUnsafe(64 * 1024);
    const parts: Buffer[] = [];
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return Buffer.concat(parts, length);
      length += bytesRead;
      if (length > MAX_BYTES)
        throw new KubeconfigError('malformed', `${path}: larger than ${MAX_BYTES} bytes`);
      parts.push(Buffer.from(buffer.subarray(0, bytesRead)));
    }
  } finally {
    await file.close();
  }
}
