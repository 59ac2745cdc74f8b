// Detects whether the output goes directly to systemd's journal, which adds the time and reads a priority from each line.
import { fstatSync } from 'node:fs';

/** `variable` is JOURNAL_STREAM, `<device>:<inode>`. It is compared with `fd`: a child inherits it even if its output goes elsewhere. */
export function isJournal(variable: string | undefined, fd: number): boolean {
  if (variable === undefined || variable === '') return false;
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return variable === `${dev}:${ino}`;
  } catch {
    return false; // closed
  }
}
