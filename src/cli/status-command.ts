// `isthmus status`: requests the status from the admin port of a running proxy and prints it.

import { statusText } from '../telemetry/status/status-text.ts';
import { adminArguments } from './admin-arguments.ts';
import { formatProblems } from './config/config.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { requestStatus, SILENCE_HINT, silenceText } from './status-request.ts';

export async function showStatus(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ExitCode> {
  const read = adminArguments(args, environment, 0);
  if (read.kind === 'usage') {
    process.stderr.write('isthmus status takes --admin <addr:port> and --json, nothing else\n');
    return EXIT.invalid;
  }
  if (read.kind === 'problem') {
    process.stderr.write(`${formatProblems([read.problem])}\n`);
    return EXIT.invalid;
  }
  const { endpoint, json } = read;
  try {
    const status = await requestStatus(endpoint);
    const text = statusText(status);
    process.stdout.write(json ? `${JSON.stringify(status, null, 2)}\n` : text);
    return status.ready ? EXIT.ok : EXIT.failed;
  } catch (error) {
    process.stderr.write(`${silenceText(endpoint, error)}; ${SILENCE_HINT}\n`);
    return EXIT.failed;
  }
}
