// `isthmus reload`: has the process that serves start its successor, and says what came of it. What `systemctl reload` runs.
import { connect } from 'node:net';
import { meetingPath } from '../lifecycle/handover-directory.ts';
import { type FromPredecessor, fromPredecessor, messageLine } from '../lifecycle/handover-messages.ts';
import { readLines } from '../lifecycle/line-reader.ts';
import { settingsOf } from '../lifecycle/settings-environment.ts';

export interface ReloadOptions {
  readonly directory: string;
  /** Settings in it take the place of the running process's own; null: it keeps its own. */
  readonly environment: Readonly<Record<string, string | undefined>> | null;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

/** 0 when the successor serves, 1 when the old process goes on or none was found. */
export async function reload({ directory, environment, print, complain }: ReloadOptions): Promise<number> {
  const answer = await ask(directory, environment === null ? null : settingsOf(environment));
  switch (answer?.kind) {
    case 'upgraded':
      print(
        `isthmus ${answer.version} (pid ${answer.pid}) serves now; its predecessor finishes its connections\n`,
      );
      return 0;
    case 'failed':
    case 'refused':
      complain(`isthmus: not reloaded, the running process goes on: ${answer.reason}\n`);
      return 1;
    default:
      complain(
        `isthmus: nobody answers at ${meetingPath(directory)}; is isthmus run --handover ${directory} running?\n`,
      );
      return 1;
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
