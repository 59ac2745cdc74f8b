// A log line as the journal wants it: `<priority>` first (sd-daemon(3)), no time of our own, no colours, facts behind the message.
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

/** The stack of an error has several lines: each is an entry of its own there, and gets the same priority. */
export function journalLines(line: string): string {
  const level = /^\{"level":"(\w+)"/.exec(line)?.[1] ?? 'info';
  const prefix = `<${PRIORITIES[level] ?? 6}>`;
  const text = (prettify(line) ?? '').trimEnd();
  return `${text
    .split('\n')
    .map((each) => prefix + each)
    .join('\n')}\n`;
}
