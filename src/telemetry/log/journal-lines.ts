// Formats a log line for the journal: `<priority>` first (sd-daemon(3)), no time, no colours, the fields after the message.
import { prettyFactory } from 'pino-pretty';

const PRIORITIES: Readonly<Record<string, number>> = {
  trace: 7,
  debug: 7,
  info: 6,
  warn: 4,
  error: 3,
  fatal: 2,
};

const prettify = prettyFactory({ colorize: false, singleLine: true, ignore: 'time,level' });

/** An error's stack has several lines. The journal stores each line as its own entry, so each line gets the priority. */
export function journalLines(line: string): string {
  const level = /^\{"level":"(\w+)"/.exec(line)?.[1] ?? 'info';
  const prefix = `<${PRIORITIES[level] ?? 6}>`;
  const text = (prettify(line) ?? '').trimEnd();
  return `${text
    .split('\n')
    .map((each) => prefix + each)
    .join('\n')}\n`;
}
