// Makes the program's logger: JSON for machines, one readable line for people. Nothing secret is ever handed to it: the proxy
// sees no plaintext of TLS, and kubeconfigs are never logged.
import { destination, type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger };

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const LAST_LINES_MS = 1000;

export interface LoggerSettings {
  readonly level: string;
  /** null: pretty on a terminal, else JSON. */
  readonly format: 'pretty' | 'json' | 'journal' | null;
}

export interface OwnedLogger {
  readonly logger: Logger;
  /** Writes what is left, if anybody reads it: at most a second. To be called before the process ends, and nothing logged after. */
  close(): Promise<void>;
}

export async function createLogger(settings: LoggerSettings): Promise<OwnedLogger> {
  const options = {
    level: settings.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // Asynchronous: a reader of our output that stalls must not stall the proxy. Bounded: then lines are dropped, not memory eaten.
  const output = destination({ fd: 1, sync: false, maxLength: MAX_BUFFERED_BYTES });
  const format = settings.format ?? (process.stdout.isTTY ? 'pretty' : 'json');
  const written = await WRITERS[format]();
  // Nothing but write(): pino would flush synchronously after a fatal line, and wait for ever if nobody reads any more.
  const stream = { write: (line: string) => void output.write(written(line)) };
  return { logger: pino(options, stream), close: () => closeOutput(output) };
}

const WRITERS: Readonly<Record<'json' | 'pretty' | 'journal', () => Promise<(line: string) => string>>> = {
  json: async () => (line) => line,
  pretty: prettifier,
  journal: async () => (await import('./journal-lines.ts')).journalLines,
};

/** Loaded only where people read: it is 40 modules. */
async function prettifier(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  // In this thread, not as a transport: a worker thread would lose the last lines of a process that is killed.
  const prettify = prettyFactory({
    colorize: process.stdout.isTTY === true,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  return (line) => prettify(line) ?? '';
}

function closeOutput(output: ReturnType<typeof destination>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(deadline);
      // The same at the exit of the process.
      output.flushSync = () => {};
      resolve();
    };
    const deadline = setTimeout(done, LAST_LINES_MS);
    for (const event of ['finish', 'close', 'error']) output.once(event, done);
    output.end();
  });
}
