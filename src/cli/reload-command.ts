// `isthmus reload`: asks the running process to start its successor and prints the result. `systemctl reload` runs this command.
import { connect } from 'node:net';
import { meetingPath } from '../lifecycle/handover-directory.ts';
import {
  type FromPredecessor,
  fromPredecessor,
  messageLine,
  readLines,
} from '../lifecycle/handover-messages.ts';
import type { Environment } from '../lifecycle/settings-environment.ts';
import { settingsOf } from '../lifecycle/settings-environment.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export interface ReloadQuestion {
  readonly directory: string;
  /** Its settings replace those of the running process; null: the running process keeps its own. */
  readonly environment: Environment | null;
}

export function reloadArguments(
  args: readonly string[],
  environment: Environment,
): ReloadQuestion | { readonly problem: string } {
  let directory = environment.ISTHMUS_HANDOVER ?? '';
  let withEnvironment = false;
  for (let i = 0; i < args.length; i += 1) {
    const [name, value] = (args[i] as string).split(/=(.*)/s, 2);
    if (name === '--with-environment') withEnvironment = true;
    else if (name === '--handover') directory = value ?? args[++i] ?? '';
    else return { problem: `the flag ${args[i]} does not exist` };
  }
  if (directory !== '') return { directory, environment: withEnvironment ? environment : null };
  const problem =
    'the handover directory is missing. Use --handover <dir> with the directory of the running proxy';
  return { problem };
}

export interface ReloadOptions extends ReloadQuestion {
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

export async function reload({ directory, environment, print, complain }: ReloadOptions): Promise<ExitCode> {
  const answer = await ask(directory, environment === null ? null : settingsOf(environment));
  switch (answer?.kind) {
    case 'upgraded':
      print(
        `isthmus ${answer.version} (pid ${answer.pid}) serves now; its predecessor finishes its connections\n`,
      );
      return EXIT.ok;
    case 'failed':
    case 'refused':
      complain(`isthmus: not reloaded, the running process continues to serve: ${answer.reason}\n`);
      return EXIT.failed;
    default:
      complain(
        `isthmus: no proxy answers at ${meetingPath(directory)}; is isthmus run --handover ${directory} running?\n`,
      );
      return EXIT.failed;
  }
}

function ask(
  directory: string,
  environment: Readonly<Record<string, string>> | null,
): Promise<FromPredecessor | null> {
  return new Promise((resolve) => {
    const socket = connect(meetingPath(directory));
    socket.on('error', () => {}); // `close` follows
    socket.once('close', () => resolve(null));
    readLines(socket, (line) => {
      resolve(fromPredecessor(line));
      socket.destroy();
    });
    socket.write(messageLine({ kind: 'upgrade', environment }));
  });
}
