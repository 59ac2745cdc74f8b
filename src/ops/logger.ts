// Makes the program's logger: JSON for machines, one readable line for people. Nothing secret is ever handed to it: the proxy
// sees no plaintext of TLS, and kubeconfigs are never logged.
import { destination, type Logger, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

export interface LoggerSettings {
  readonly level: string;
  /** null: pretty on a terminal, else JSON. */
  readonly format: 'pretty' | 'json' | null;
}

export function createLogger(settings: LoggerSettings): Logger {
  const options = {
    level: settings.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const format = settings.format ?? (process.stdout.isTTY ? 'pretty' : 'json');
  // Asynchronous: a reader of our output that stalls must not stall the proxy. Bounded: then lines are dropped, not memory eaten.
  if (format === 'json') return pino(options, destination({ sync: false, maxLength: MAX_BUFFERED_BYTES }));
  // In this thread, not as a transport: a worker thread would lose the last lines of a process that is killed.
  return pino(
    options,
    pretty({
      colorize: process.stdout.isTTY === true,
      translateTime: 'SYS:HH:MM:ss.l',
      sync: true,
      singleLine: true,
    }),
  );
}
