// The directory of the handover socket, where a successor process finds its predecessor. Only our user and root may have access:
// a process that can connect there can take our sockets.
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The handover is not possible. The cause is temporary, or the operator can fix it. */
export class HandoverError extends Error {
  readonly code = 'EHANDOVER';
}

/** The kernel's limit for a unix socket path, minus our file name with its random suffix. */
const MOST_DIRECTORY_BYTES = 80;

export function meetingPath(directory: string): string {
  return join(directory, 'handover.sock');
}

/** Making /run or /tmp private would break other programs of the host. */
function requireOwnFiles(directory: string, flag: string): void {
  const foreign = readdirSync(directory).find((name) => !/^(handover\.sock|lease-)/.test(name));
  if (foreign !== undefined)
    throw new HandoverError(
      `${flag} ${directory}: it also contains ${foreign}; name a directory for Isthmus alone, such as /run/isthmus`,
    );
}

/** Creates the directory if necessary and makes it private to our user. Throws HandoverError if that is not possible. */
export function requirePrivateDirectory(directory: string, uid: number, flag = '--handover'): void {
  if (Buffer.byteLength(directory) > MOST_DIRECTORY_BYTES)
    throw new HandoverError(
      `${flag} ${directory}: longer than ${MOST_DIRECTORY_BYTES} bytes, too long for the path of a unix socket`,
    );
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const found = statSync(directory);
    if (found.uid === uid && (found.mode & 0o077) !== 0) {
      requireOwnFiles(directory, flag);
      chmodSync(directory, 0o700);
    }
    const { mode, uid: owner } = statSync(directory);
    if (owner !== uid && owner !== 0)
      throw new HandoverError(
        `${flag} ${directory}: it belongs to user ${owner} and not to user ${uid}, which runs this process`,
      );
    if ((mode & 0o022) !== 0)
      throw new HandoverError(
        `${flag} ${directory}: other users may write there (mode ${(mode & 0o777).toString(8)})`,
      );
  } catch (error) {
    if (error instanceof HandoverError) throw error;
    throw new HandoverError(`${flag} ${directory}: ${(error as Error).message}`, { cause: error });
  }
}
