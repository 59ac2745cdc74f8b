// Whether our output goes straight into systemd's journal, which then has the time and asks for the priority.
import { fstatSync } from 'node:fs';

/** `variable` is JOURNAL_STREAM, `<device>:<inode>`: it is inherited by children whose output goes elsewhere. */
export function isJournal(variable: string | undefined, fd: number): boolean {
  if (variable === undefined || variable === '') return false;
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return variable === `${dev}:${ino}`;
  } catch {
    return false; // closed
  }
}
