// `isthmus status`: asks the admin port of a running proxy and prints it for a person.
import { formatProblems } from '../config/config.ts';
import type { Endpoint } from '../config/values.ts';
import { endpointText } from '../routing/endpoint.ts';
import { adminArguments } from './admin-arguments.ts';
import { askAdmin } from './admin-client.ts';
import type { StatusView } from './status.ts';
import { statusText } from './status-text.ts';

export async function showStatus(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const read = adminArguments(args, environment, 0);
  if (read.kind === 'usage') {
    process.stderr.write('isthmus status takes --admin <addr:port> and --json, nothing else\n');
    return 2;
  }
  if (read.kind === 'problem') {
    process.stderr.write(`${formatProblems([read.problem])}\n`);
    return 2;
  }
  const { endpoint, json } = read;
  const { host = '127.0.0.1', port } = endpoint;
  const shown = endpointText({ address: host, port });
  try {
    const status = await fetchStatus(endpoint);
    const text = statusText(status);
    process.stdout.write(json ? `${JSON.stringify(status, null, 2)}\n` : text);
    return status.ready ? 0 : 1;
  } catch (error) {
    process.stderr.write(
      `no proxy answers at ${shown} (${(error as Error).message}); is it running? --admin names its port\n`,
    );
    return 1;
  }
}

async function fetchStatus(endpoint: Endpoint): Promise<StatusView> {
  const { body } = await askAdmin(endpoint, '/status');
  try {
    return JSON.parse(body) as StatusView;
  } catch {
    throw new Error('the answer is no status');
  }
}
