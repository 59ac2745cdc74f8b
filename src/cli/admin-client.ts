// Requests pages from the admin port of a running proxy, and runs the commands that print them. Bounded in time and size, and the answer
// is checked: any program may listen on that port.
import { get } from 'node:http';
import { endpointText } from '../routing/addresses.ts';
import type { StatusView } from '../telemetry/status/status.ts';
import type { AdminArguments } from './admin-arguments.ts';
import { formatProblems } from './config/config.ts';
import type { Endpoint } from './config/values.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

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

export async function requestStatus(endpoint: Endpoint): Promise<StatusView> {
  const { body } = await askAdmin(endpoint, '/status');
  try {
    return JSON.parse(body) as StatusView;
  } catch {
    throw new Error('the answer is not a status');
  }
}

/** `no proxy answers at 127.0.0.1:9580 (…)`. */
export function silenceText({ host = '127.0.0.1', port }: Endpoint, error: unknown): string {
  return `no proxy answers at ${endpointText({ address: host, port })} (${(error as Error).message})`;
}

/** Runs a command with its arguments, or prints what is wrong with them. `usage`: what the command accepts. */
export async function adminCommand<A extends AdminArguments>(
  read: A,
  usage: string,
  run: (asked: Extract<A, { readonly kind: 'read' }>) => Promise<ExitCode>,
): Promise<ExitCode> {
  if (read.kind !== 'read') {
    process.stderr.write(`${read.kind === 'usage' ? usage : formatProblems(read.problems)}\n`);
    return EXIT.invalid;
  }
  const asked = read as Extract<A, { readonly kind: 'read' }>;
  try {
    return await run(asked);
  } catch (error) {
    process.stderr.write(`${silenceText(asked.endpoint, error)}; is it running? --admin names its port\n`);
    return EXIT.failed;
  }
}
