// `isthmus explain <cluster>`: requests the explanation from the admin port of a running proxy and prints it.

import { endpointText } from '../routing/endpoint.ts';
import { explanationText } from '../telemetry/status/explain-text.ts';
import type { Explanation } from '../telemetry/status/explanation.ts';
import { adminArguments } from './admin-arguments.ts';
import { askAdmin } from './admin-client.ts';
import { formatProblems } from './config/config.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export async function showExplanation(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ExitCode> {
  const read = adminArguments(args, environment, 1);
  if (read.kind === 'usage') {
    process.stderr.write('isthmus explain takes the name of a cluster, --admin <addr:port> and --json\n');
    return EXIT.invalid;
  }
  if (read.kind === 'problem') {
    process.stderr.write(`${formatProblems([read.problem])}\n`);
    return EXIT.invalid;
  }
  const { endpoint, json, words } = read;
  const cluster = words[0] as string;
  const { host = '127.0.0.1', port } = endpoint;
  try {
    const path = `/explain/${encodeURIComponent(cluster)}?format=json`;
    const explanation = JSON.parse((await askAdmin(endpoint, path)).body) as Explanation;
    const text = explanationText(explanation);
    process.stdout.write(json ? `${JSON.stringify(explanation, null, 2)}\n` : text);
    return explanation.kind === 'explained' && explanation.reachable && explanation.broken === null
      ? EXIT.ok
      : EXIT.failed;
  } catch (error) {
    process.stderr.write(
      `no proxy answers at ${endpointText({ address: host, port })} (${(error as Error).message}); ` +
        'is it running? --admin names its port\n',
    );
    return EXIT.failed;
  }
}
