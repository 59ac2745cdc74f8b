// The exit codes of all commands. The type keeps other numbers out, and the reference page is made from the table of meanings.
import { constants } from 'node:os';

/** Only EXIT and signalExit() create values of this type. */
export type ExitCode = number & { readonly isExitCode: true };

export const EXIT = {
  ok: 0 as ExitCode,
  failed: 1 as ExitCode,
  invalid: 2 as ExitCode,
  /** Neither LSB nor systemd gives this number a name. */
  superseded: 10 as ExitCode,
} as const;

/** What a shell shows for a program that this signal ended. */
export function signalExit(signal: NodeJS.Signals): ExitCode {
  return (128 + constants.signals[signal]) as ExitCode;
}

type Meanings = Readonly<Partial<Record<keyof typeof EXIT | 'signal', string>>>;

const INVALID = 'an argument is wrong';
const NO_ANSWER = 'no proxy answers';

/** For each command, what each of its exit codes means. */
export const EXIT_MEANINGS = {
  run: {
    ok: 'the proxy drained its connections: after SIGTERM or SIGINT, or after a handover',
    failed: 'the start failed, or the control thread failed; the last log line has level fatal',
    invalid: 'a flag or a variable is wrong',
    superseded:
      'another process holds the Lease of its node: it took the Lease over, or it stayed alive while this one waited; a restart would not help',
    signal: 'a second SIGTERM (143) or SIGINT (130) ended the drain',
  },
  status: {
    ok: 'the proxy is ready',
    failed: `the proxy is not ready, or ${NO_ANSWER}`,
    invalid: INVALID,
  },
  top: {
    ok: 'it printed one result, or the user ended it with `q` or Ctrl-C, or its terminal is gone',
    failed: `${NO_ANSWER} to the first requests`,
    invalid: INVALID,
    signal: 'SIGTERM (143) or SIGHUP (129) ended it',
  },
  explain: {
    ok: 'every link to the cluster works',
    failed: `a link is broken, the cluster is not known, or ${NO_ANSWER}`,
    invalid: INVALID,
  },
  doctor: {
    ok: 'no check found a problem; warnings are possible',
    failed: 'a check found a problem',
    invalid: 'a flag or a variable is wrong; the other checks ran with its default',
  },
  reload: {
    ok: 'the successor serves',
    failed: `the running process continues, or ${NO_ANSWER}`,
    invalid: INVALID,
  },
  demo: {
    ok: 'it printed the help, with `--help`',
    invalid: 'the demo is not part of the installed program',
  },
  version: { ok: 'it printed the version' },
} as const satisfies Readonly<Record<string, Meanings>>;

export type CommandName = keyof typeof EXIT_MEANINGS;
