#!/usr/bin/env node
// The command line: selects the command, reads its configuration, maps signals to a drain and errors to exit codes.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { type ConfigResult, formatProblems, type RunConfig, readConfig } from './cli/config/config.ts';
import { nearest } from './cli/config/nearest.ts';
import { type CommandName, EXIT, type ExitCode, signalExit } from './cli/exit-codes.ts';
import {
  DEMO_HELP,
  DOCTOR_HELP,
  EXPLAIN_HELP,
  MAIN_HELP,
  RELOAD_HELP,
  runHelp,
  STATUS_HELP,
  TOP_HELP,
} from './cli/help.ts';
import { reloadArguments } from './cli/reload-arguments.ts';
import { CLOCK_FIX, clockProblem } from './lifecycle/clock-check.ts';
import { nodeProblem } from './lifecycle/node-version.ts';
import { isJournal } from './telemetry/log/journal-stream.ts';
import type { Log } from './telemetry/log/log-fields.ts';
import { createLogger, type Logger } from './telemetry/log/logger.ts';
import { version } from './version.ts';

const COMMANDS: Readonly<Record<CommandName, (args: readonly string[]) => Promise<ExitCode>>> = {
  run,
  status: async (args) => {
    if (wantsHelp(args)) return print(STATUS_HELP);
    const { showStatus } = await import('./cli/status-command.ts');
    return showStatus(args, process.env);
  },
  top: async (args) => {
    if (wantsHelp(args)) return print(TOP_HELP);
    const { showTop } = await import('./cli/top/top-command.ts');
    return showTop(args, process.env);
  },
  explain: async (args) => {
    if (wantsHelp(args)) return print(EXPLAIN_HELP);
    const { showExplanation } = await import('./cli/explain-command.ts');
    return showExplanation(args, process.env);
  },
  doctor: async (args) => {
    if (wantsHelp(args)) return print(DOCTOR_HELP);
    const json = args.includes('--json');
    const config = configuration(args.filter((arg) => arg !== '--json'));
    if (config === null) return EXIT.invalid;
    const { doctor } = await import('./cli/doctor/doctor.ts');
    return doctor({ ...config, json, environment: process.env, version: version(), print, tell: complain });
  },
  reload: async (args) => {
    if (wantsHelp(args)) return print(RELOAD_HELP);
    const asked = reloadArguments(args, process.env);
    if ('problem' in asked) {
      complain(`isthmus reload: ${asked.problem}\n\n${RELOAD_HELP}`);
      return EXIT.invalid;
    }
    const { reload } = await import('./cli/reload-command.ts');
    return reload({ ...asked, print, complain });
  },
  demo: async (args) => {
    if (wantsHelp(args)) return print(DEMO_HELP);
    complain(DEMO_HELP);
    return EXIT.invalid;
  },
  version: async () => print(`isthmus ${version()} (Node ${process.versions.node})\n`),
};

async function main([command, ...args]: readonly string[]): Promise<ExitCode> {
  const tooOld = nodeProblem(process.versions.node, process.execPath);
  if (tooOld !== null) {
    complain(`${tooOld}\n`);
    return EXIT.failed;
  }
  if (command === undefined || command === 'help' || command === '--help' || command === '-h') {
    print(MAIN_HELP);
    return command === undefined ? EXIT.invalid : EXIT.ok;
  }
  const name = command === '--version' || command === '-v' ? 'version' : command;
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name as CommandName](args);
  const close = nearest(command, Object.keys(COMMANDS));
  complain(
    `isthmus: unknown command '${command}'${close ? `; did you mean '${close}'?` : ''}\n\n${MAIN_HELP}`,
  );
  return EXIT.invalid;
}

/** Returns null for an invalid configuration, after printing every problem. */
function configuration(args: readonly string[]): Exclude<ConfigResult, { problems: unknown }> | null {
  const result = readConfig(args, process.env, { directoryProblem, isFile, readText });
  if (!('problems' in result)) return result;
  complain(`${formatProblems(result.problems)}\n`);
  return null;
}

async function run(args: readonly string[]): Promise<ExitCode> {
  if (wantsHelp(args)) return print(runHelp());
  const read = configuration(args);
  if (read === null) return EXIT.invalid;
  const { config, warnings } = read;
  const format = config.logFormat ?? (isJournal(process.env.JOURNAL_STREAM, 1) ? 'journal' : null);
  const { logger, close } = await createLogger({ level: config.logLevel, format });
  for (const warning of warnings) logger.warn({}, warning);
  const doubt = clockProblem(Date.now());
  if (doubt !== null) logger.warn({ fix: CLOCK_FIX }, doubt);
  try {
    return await serve(config, logger);
  } catch (error) {
    const expected = startFailure(error);
    if (expected === null) logger.fatal({ err: error }, (error as Error).message);
    else logger.fatal({ code: (error as NodeJS.ErrnoException).code }, expected);
    return EXIT.failed;
  } finally {
    await close();
  }
}

/** How long an orderly close may take after the second signal. */
const AT_ONCE_MS = 1000;
/** Extra time for the work around the drain: requests to an API that may not answer, and the end of the threads. */
const ENDING_ROOM_MS = 10_000;
/**
 * How long the kubelet may take to end a replaced Pod after its successor starts to serve: one readiness probe and one pass of the
 * DaemonSet controller.
 */
const REPLACED_WITHIN_MS = 120_000;

async function serve(config: RunConfig, logger: Logger): Promise<ExitCode> {
  // Both imports are late: --help and configuration errors must work without the compiled addon. The control thread starts first,
  // because it loads its code in parallel with the main thread.
  const { ControlLink } = await import('./control-thread/control-link.ts');
  const log: Log = (level, facts, message) => logger[level](facts, message);
  const control = new ControlLink({ config, log });
  const { App } = await import('./app.ts');
  const service = await openService(config, log);
  const app = new App({ config, logger, version: version(), control, handover: service });
  const signal = untilSignal();
  // Installed before this process reports ready: without a handler, SIGHUP ends the process.
  if (config.handover !== null) process.on('SIGHUP', () => void service?.upgrade(null));
  // A signal during the start stops the start. An error during the start rejects this race.
  const started = app.start().then(() => service?.serving(app));
  await Promise.race([started, signal.first, app.failed, ...(service === null ? [] : [service.dismissed])]);
  const handedOver = service?.handedOver.then(({ pid, version: taken }) =>
    logger.info({ pid, version: taken }, 'handed over to successor: waiting for open connections'),
  );
  await Promise.race([
    app.failed,
    ...(handedOver === undefined ? [] : [handedOver]),
    signal.first.then((name) => logger.info({ signal: name }, 'stopping: draining open connections')),
    app.superseded.then((holder) =>
      logger.warn(
        { holder },
        'superseded: another process holds the Lease of this node; draining without further writes ' +
          '(two instances on one node each need their own --node-name)',
      ),
    ),
  ]);
  const drained = async () => {
    await service?.beforeStop();
    service?.stopping(config.propagationWaitMs + config.drainTimeoutMs + ENDING_ROOM_MS);
    await app.drain();
    // The kubelet restarts a container whose first process exits, or whose health port stops answering. The restarted process would
    // take the sockets back from the successor. So this process stays until the kubelet sends a signal.
    const isReplaced = !signal.seen() && process.pid === 1;
    if (isReplaced) {
      logger.info({}, 'waiting for a signal: the kubelet restarts a container that exits by itself');
      await Promise.race([signal.first, new Promise((resolve) => setTimeout(resolve, REPLACED_WITHIN_MS))]);
    }
    await app.close();
    return null;
  };
  const second = await Promise.race([drained(), signal.second, app.failed]);
  if (second === null) return EXIT.ok;
  logger.warn({ signal: second }, 'second signal: exiting immediately');
  await Promise.race([app.close(), new Promise((resolve) => setTimeout(resolve, AT_ONCE_MS))]);
  return signalExit(second);
}

/** The service for a supervisor and for upgrades without downtime; null when the configuration asks for neither. */
async function openService(config: RunConfig, log: Log) {
  const { handover: directory } = config;
  const { env: environment, pid } = process;
  if (directory === null && !environment.NOTIFY_SOCKET && !environment.LISTEN_FDS) return null;
  const { Service } = await import('./lifecycle/service.ts');
  const { native: addon } = await import('./netns/native.ts');
  const uid = process.getuid?.() ?? 0;
  return Service.open({ addon, directory, version: version(), environment, pid, uid, log });
}

function untilSignal(): {
  first: Promise<NodeJS.Signals>;
  second: Promise<NodeJS.Signals>;
  seen(): boolean;
} {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = Promise.withResolvers<NodeJS.Signals>();
  let seen = 0;
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      seen += 1;
      (seen === 1 ? first : second).resolve(name);
    });
  }
  return { first: first.promise, second: second.promise, seen: () => seen > 0 };
}

/** What a valid value would be, phrased like the other configuration problems; null when the directory is valid. */
function directoryProblem(path: string): string | null {
  try {
    return statSync(path).isDirectory() ? null : 'a directory, not a file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'a directory that exists' : `a directory that can be read (${code})`;
  }
}

function isFile(path: string): boolean {
  // A pipe is valid too: `--kubeconfig <(…)`.
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
}

/** A node selector is short. A longer file is the wrong file. */
const MAX_FILE_BYTES = 65_536;

function readText(path: string): { readonly text: string } | { readonly wanted: string } {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null);
      return length > MAX_FILE_BYTES
        ? { wanted: `a file of at most ${MAX_FILE_BYTES} bytes` }
        : { text: bytes.toString('utf8', 0, length) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { wanted: code === 'ENOENT' ? 'a file that exists' : `a file that can be read (${code})` };
  }
}

/** The message for a start that failed because of the environment; null for an unexpected error. */
function startFailure(error: unknown): string | null {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return message;
  if (code === 'EACCES') return `${message}: this process lacks the privilege for this address or port`;
  if (code === 'EADDRNOTAVAIL') return `${message}: this machine does not have that address`;
  if (code === 'EHANDOVER') return message;
  if (code === 'ENOTLISTENING')
    return 'LISTEN_FDS passes a socket that is not a listening TCP socket. Use ListenStream= in the socket unit.';
  if (code === 'EKUBECONFIG') {
    return (
      `${message}. Use --kubeconfig <path>, run in a Pod with a service account, ` +
      'or use --source file:<directory>, which needs no Kubernetes API.'
    );
  }
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_DLOPEN_FAILED') {
    return (
      'the native addon is missing or does not load: install make, a C++20 compiler and python3, then npm rebuild isthmus, or ' +
      `npm run setup in a clone (${message.split('\n', 1)[0]})`
    );
  }
  return null;
}

function wantsHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

function print(text: string): ExitCode {
  process.stdout.write(text);
  return EXIT.ok;
}

function complain(text: string): void {
  process.stderr.write(text);
}

process.exitCode = await main(process.argv.slice(2));
// A forgotten handle must not keep a finished program alive. The empty write flushes the output first.
process.stdout.write('', () => process.exit());
