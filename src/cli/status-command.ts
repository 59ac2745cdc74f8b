// `isthmus status` and `isthmus explain <cluster>`: request a page from the admin port of a running proxy and print it.

import type { Environment } from '../lifecycle/settings-environment.ts';
import { explanationText } from '../telemetry/status/explain-text.ts';
import type { Explanation } from '../telemetry/status/explanation.ts';
import { statusText } from '../telemetry/status/status-text.ts';
import { adminArguments } from './admin-arguments.ts';
import { adminCommand, askAdmin, requestStatus } from './admin-client.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export function showStatus(args: readonly string[], environment: Environment): Promise<ExitCode> {
  const usage = 'isthmus status takes --admin <addr:port> and --json, nothing else';
  return adminCommand(adminArguments(args, environment), usage, async ({ endpoint, json }) => {
    const status = await requestStatus(endpoint);
    print(json, status, statusText(status));
    return status.ready ? EXIT.ok : EXIT.failed;
  });
}

export function showExplanation(args: readonly string[], environment: Environment): Promise<ExitCode> {
  const usage = 'isthmus explain takes the name of a cluster, --admin <addr:port> and --json';
  const read = adminArguments(args, environment, { words: 1 });
  return adminCommand(read, usage, async ({ endpoint, json, words: [cluster = ''] }) => {
    const { body } = await askAdmin(endpoint, `/explain/${encodeURIComponent(cluster)}?format=json`);
    const explanation = JSON.parse(body) as Explanation;
    print(json, explanation, explanationText(explanation));
    const isReachable = explanation.kind === 'explained' && explanation.reachable;
    return isReachable && explanation.broken === null ? EXIT.ok : EXIT.failed;
  });
}

function print(json: boolean, view: object, text: string): void {
  process.stdout.write(json ? `${JSON.stringify(view, null, 2)}\n` : text);
}
