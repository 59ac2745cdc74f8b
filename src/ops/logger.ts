// Makes the program's logger: JSON for machines, one readable line for people. Nothing secret is ever handed to it: the proxy
// sees no plaintext of TLS, and kubeconfigs are never logged.
import { type Logger, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

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
  if (format === 'json') return pino(options);
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
