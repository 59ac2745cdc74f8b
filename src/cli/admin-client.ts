// Requests pages from the admin port of a running proxy, and runs the commands that print them. Bounded in time and size, and the answer
// is checked: any program may listen on that port.
import { get } from 'node:http';
import type { Endpoint } from './config/values.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly body: string;
}

const DEADLINE_MS = 5000;
/** Enough for the complete status of ten thousand clusters. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Replaces a wildcard address: in `Host` the admin port accepts only localhost, loopback and its own address. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export function askAdmin(
  { host: given = '127.0.0.1', port }: Endpoint,
  path: string,
  deadlineMs = DEADLINE_MS,
): Promise<AdminAnswer> {
  const host = LOOPBACK[given] ?? given;
  return new Promise((resolve, reject) => {
    const request = get({ host, port, path, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) request.destroy(new Error(`the answer is larger than ${MAX_BYTES} bytes`));
        chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    const timer = setTimeout(() => request.destroy(new Error('timed out')), deadlineMs);
    request.on('close', () => clearTimeout(timer));
    request.on('error', reject);
  });
}
