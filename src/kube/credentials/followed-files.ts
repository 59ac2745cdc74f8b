// The content of files that other programs rotate: tokens, certificates, the kubeconfig itself. A file is read again when its
// metadata changes, and at least once a minute.
import { open, stat } from 'node:fs/promises';
import { KubeconfigError } from './kubeconfig-error.ts';

interface Known {
  readonly stamp: string;
  readonly content: Buffer;
  readonly readAtMs: number;
}

export interface FollowedFilesOptions {
  readonly now?: () => number;
  readonly maxAgeMs?: number;
}

const MAX_AGE_MS = 60_000;
const MAX_BYTES = 4 * 1024 * 1024;

export class FollowedFiles {
  readonly #known = new Map<string, Known>();
  readonly #now: () => number;
  readonly #maxAgeMs: number;

  constructor({ now = () => performance.now(), maxAgeMs = MAX_AGE_MS }: FollowedFilesOptions = {}) {
    this.#now = now;
    this.#maxAgeMs = maxAgeMs;
  }

  /** Returns the same Buffer while the bytes are the same. Throws if the file is unreadable; the caller decides how to continue. */
  async read(path: string, force: boolean): Promise<Buffer> {
    const known = this.#known.get(path);
    try {
      // stat follows symbolic links: the kubelet updates a projected volume by renaming `..data`.
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
      // Node's message contains code, system call and path.
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
