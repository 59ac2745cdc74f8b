// The directory in which a process and its successor meet. Only we, and root, may reach into it: whoever can connect there can take
// our sockets.
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The hand-over cannot be done, for a reason that an operator can mend or that passes. */
export class HandoverError extends Error {
  readonly code = 'EHANDOVER';
}

/** The kernel's bound on the path of a unix socket, less the name of ours with its random part. */
const MOST_DIRECTORY_BYTES = 80;

export function meetingPath(directory: string): string {
  return join(directory, 'handover.sock');
}

/** Makes the directory ours alone; throws when it cannot be. */
export function requirePrivateDirectory(directory: string, uid: number): void {
  if (Buffer.byteLength(directory) > MOST_DIRECTORY_BYTES)
    throw new HandoverError(
      `--handover ${directory}: longer than ${MOST_DIRECTORY_BYTES} bytes, which no unix socket takes`,
    );
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const found = statSync(directory);
    if (found.uid === uid && (found.mode & 0o077) !== 0) chmodSync(directory, 0o700);
    const { mode, uid: owner } = statSync(directory);
    if (owner !== uid && owner !== 0)
      throw new HandoverError(
        `--handover ${directory}: it belongs to user ${owner}, and must be ours (${uid})`,
      );
    if ((mode & 0o022) !== 0)
      throw new HandoverError(
        `--handover ${directory}: others may write there (mode ${(mode & 0o777).toString(8)})`,
      );
  } catch (error) {
    if (error instanceof HandoverError) throw error;
    throw new HandoverError(`--handover ${directory}: ${(error as Error).message}`, { cause: error });
  }
}
