// `isthmus explain <cluster>`: requests the explanation from the admin port of a running proxy and prints it.

import { endpointText } from '../routing/endpoint.ts';
import { explanationText } from '../telemetry/status/explain-text.ts';
import type { Explanation } from '../telemetry/status/explanation.ts';
import { adminArguments } from './admin-arguments.ts';
import { askAdmin } from './admin-client.ts';
import { formatProblems } from './config/config.ts';

export async function showExplanation(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const read = adminArguments(args, environment, 1);
  if (read.kind === 'usage') {
    process.stderr.write('isthmus explain takes the name of a cluster, --admin <addr:port> and --json\n');
    return 2;
  }
  if (read.kind === 'problem') {
    process.stderr.write(`${formatProblems([read.problem])}\n`);
    return 2;
  }
  const { endpoint, json, words } = read;
  const cluster = words[0] as string;
  const { host = '127.0.0.1', port } = endpoint;
  try {
    const path = `/explain/${encodeURIComponent(cluster)}?format=json`;
    const explanation = JSON.parse((await askAdmin(endpoint, path)).body) as Explanation;
    const text = explanationText(explanation);
    process.stdout.write(json ? `${JSON.stringify(explanation, null, 2)}\n` : text);
    return explanation.kind === 'explained' && explanation.reachable && explanation.broken === null ? 0 : 1;
  } catch (error) {
    process.stderr.write(
      `no proxy that explains answers at ${endpointText({ address: host, port })} (${(error as Error).message}); ` +
        'is it running? --admin names its port\n',
    );
    return 1;
  }
}
