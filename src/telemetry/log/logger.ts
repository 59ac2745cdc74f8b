// Creates the program's logger: JSON for machines, one readable line for people. Log records contain no secrets: the proxy sees no
// TLS plaintext, and kubeconfigs are never logged.
import { fstatSync } from 'node:fs';
import { destination, pino, stdTimeFunctions } from 'pino';
import type { LogLevel, LogLine } from './log-fields.ts';

export interface Logger extends Readonly<Record<LogLevel | 'fatal', LogLine>> {
  isLevelEnabled(level: LogLevel): boolean;
}

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const LAST_LINES_MS = 1000;

export interface LoggerSettings {
  readonly level: string;
  /** null: pretty on a terminal, else JSON. */
  readonly format: 'pretty' | 'json' | 'journal' | null;
}

export interface OwnedLogger {
  readonly logger: Logger;
  /** Writes the buffered lines, for at most one second. Call it before the process exits and log nothing afterwards. */
  close(): Promise<void>;
}

export async function createLogger(settings: LoggerSettings): Promise<OwnedLogger> {
  const options = {
    level: settings.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // Asynchronous: a reader that stalls must not stall the proxy. Bounded: a full buffer drops lines and does not grow.
  const output = destination({ fd: 1, sync: false, maxLength: MAX_BUFFERED_BYTES });
  const format = settings.format ?? (process.stdout.isTTY ? 'pretty' : 'json');
  const written = await WRITERS[format]();
  // The stream has only write(). With flushSync(), pino flushes after a fatal line and blocks forever if the reader has stalled.
  const stream = { write: (line: string) => void output.write(written(line)) };
  return { logger: pino(options, stream), close: () => closeOutput(output) };
}

const WRITERS: Readonly<Record<'json' | 'pretty' | 'journal', () => Promise<(line: string) => string>>> = {
  json: async () => (line) => line,
  pretty: prettifier,
  journal: async () => (await import('./journal-lines.ts')).journalLines,
};

/** Imported on demand: pino-pretty has 40 modules, and JSON output does not need them. */
async function prettifier(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  // Runs in this thread. A transport's worker thread would lose the last lines of a process that is killed.
  const prettify = prettyFactory({
    colorize: process.stdout.isTTY === true,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  return (line) => prettify(line) ?? '';
}

/**
 * Whether the output goes directly to systemd's journal, which adds the time and reads a priority from each line. `variable` is
 * JOURNAL_STREAM, `<device>:<inode>`. It is compared with `fd`: a child inherits it even if its output goes elsewhere.
 */
export function isJournal(variable: string | undefined, fd: number): boolean {
  if (variable === undefined || variable === '') return false;
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return variable === `${dev}:${ino}`;
  } catch {
    return false; // closed
  }
}

function closeOutput(output: ReturnType<typeof destination>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(deadline);
      // pino also flushes at process exit, and would block there in the same way.
      output.flushSync = () => {};
      resolve();
    };
    const deadline = setTimeout(done, LAST_LINES_MS);
    for (const event of ['finish', 'close', 'error']) output.once(event, done);
    output.end();
  });
}
