// Asks the admin port of a running proxy for one page. Bounded in time and size; whoever answers there may be anybody.
import { get } from 'node:http';
import type { Endpoint } from './config/values.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly body: string;
}

const DEADLINE_MS = 5000;
/** Ten thousand clusters with all that is known of each. */
const MAX_BYTES = 64 * 1024 * 1024;

/** An address to listen on that means all of them leads to this host; the admin port answers requests for an address of its own only. */
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
        if (bytes > MAX_BYTES) request.destroy(new Error('the answer has no end'));
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
