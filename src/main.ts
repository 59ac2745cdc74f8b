#!/usr/bin/env node
// The command line: selects the command, reads its configuration, maps signals to a drain and errors to exit codes.
import type { App } from './app.ts';
import {
  formatProblems,
  problemText,
  type RunConfig,
  readConfig,
  readWithDefaults,
} from './cli/config/config.ts';
import { nearest } from './cli/config/nearest.ts';
import { thisMachine } from './cli/config/this-machine.ts';
import { type CommandName, EXIT, type ExitCode, signalExit } from './cli/exit-codes.ts';
import { HELP, MAIN_HELP } from './cli/help.ts';
import type { Service } from './lifecycle/service.ts';
import type { Environment } from './lifecycle/settings-environment.ts';
import { CLOCK_FIX, clockProblem, nodeProblem } from './lifecycle/start-checks.ts';
import type { Log } from './telemetry/log/log-fields.ts';
import { createLogger, isJournal, type Logger } from './telemetry/log/logger.ts';
import { version } from './version.ts';

const COMMANDS: Readonly<Record<CommandName, (args: readonly string[]) => Promise<ExitCode>>> = {
  run,
  status: async (args) => (await import('./cli/status-command.ts')).showStatus(args, await environmentHere()),
  top: async (args) => (await import('./cli/top/top-command.ts')).showTop(args, await environmentHere()),
  explain: async (args) =>
    (await import('./cli/status-command.ts')).showExplanation(args, await environmentHere()),
  doctor: async (args) => {
    const { settings, sources, warnings: serviceWarnings } = await serviceSettings();
    const environment = { ...process.env, ...settings };
    const flags = args.filter((arg) => arg !== '--json');
    const { config, ...read } = readWithDefaults(flags, environment, thisMachine);
    const { doctor } = await import('./cli/doctor/doctor.ts');
    const output = { json: args.includes('--json'), print, tell: complain };
    const problems = read.problems.map(problemText);
    const warnings = [...read.warnings, ...serviceWarnings];
    return doctor({ config, problems, warnings, sources, ...output, environment, version: version() });
  },
  reload: async (args) => {
    const { reload, reloadArguments } = await import('./cli/reload-command.ts');
    const asked = reloadArguments(args, process.env);
    if (!('problem' in asked)) return reload({ ...asked, print, complain });
    complain(`isthmus reload: ${asked.problem}\n\n${HELP.reload}`);
    return EXIT.invalid;
  },
  demo: async () => {
    complain(HELP.demo);
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
  const wantsHelp = args.includes('--help') || args.includes('-h');
  if (wantsHelp && Object.hasOwn(HELP, name)) return print(HELP[name as keyof typeof HELP]);
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name as CommandName](args);
  const close = nearest(command, Object.keys(COMMANDS));
  complain(
    `isthmus: unknown command '${command}'${close ? `; did you mean '${close}'?` : ''}\n\n${MAIN_HELP}`,
  );
  return EXIT.invalid;
}

/** For a command that queries the running isthmus: the settings of that isthmus take precedence over those of the shell. */
async function environmentHere(): Promise<Environment> {
  return { ...process.env, ...(await serviceSettings()).settings };
}

const serviceSettings = async () => (await import('./cli/service-settings.ts')).serviceSettings();

async function run(args: readonly string[]): Promise<ExitCode> {
  const read = readConfig(args, process.env, thisMachine);
  if ('problems' in read) {
    complain(`${formatProblems(read.problems)}\n`);
    return EXIT.invalid;
  }
  const { config, warnings } = read;
  const format = config.logFormat ?? (isJournal(process.env.JOURNAL_STREAM, 1) ? 'journal' : null);
  const { logger, close } = await createLogger({ level: config.logLevel, format });
  for (const warning of warnings) logger.warn({}, warning);
  const clockWarning = clockProblem(Date.now());
  if (clockWarning !== null) logger.warn({ fix: CLOCK_FIX }, clockWarning);
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
  const service = await openService(config, control.processId, log);
  const app = new App({ config, logger, version: version(), control, handover: service });
  const signal = untilSignal();
  // Installed before this process reports ready: without a handler, SIGHUP ends the process.
  if (config.handover !== null) process.on('SIGHUP', () => void service?.upgrade(null));
  // A signal during the start stops the start. An error during the start rejects this race.
  const started = app.start().then(() => service?.serving(app));
  const dismissed = service?.dismissed.catch((error: Error) => {
    const reason = app.notAbleBecause();
    if (reason !== null) error.message += `; ${reason}`;
    throw error;
  });
  await Promise.race([started, signal.first, app.failed, ...(dismissed === undefined ? [] : [dismissed])]);
  const end = await untilEnding({ app, service, signal, logger });
  const drained = async () => {
    await service?.beforeStop();
    service?.stopping(config.propagationWaitMs + config.drainTimeoutMs + ENDING_ROOM_MS);
    await app.drain();
    // The kubelet restarts a container whose first process exits, or whose health port stops answering. The restarted process would
    // take the sockets back from the successor. So this process stays until the kubelet sends a signal.
    // A refused process replaced no other: the kubelet should show it as failed.
    const isReplaced = !signal.seen() && process.pid === 1 && !end.isRefused;
    if (isReplaced) {
      logger.info({}, 'waiting for a signal: the kubelet restarts a container that exits by itself');
      await Promise.race([signal.first, new Promise((resolve) => setTimeout(resolve, REPLACED_WITHIN_MS))]);
    }
    await app.close();
    return null;
  };
  const second = await Promise.race([drained(), signal.second, app.failed]);
  if (second === null) return signal.seen() && !end.isRefused ? EXIT.ok : end.code;
  logger.warn({ signal: second }, 'second signal: exiting immediately');
  await Promise.race([app.close(), new Promise((resolve) => setTimeout(resolve, AT_ONCE_MS))]);
  return signalExit(second);
}

interface StartedParts {
  readonly app: App;
  readonly service: Service | null;
  readonly signal: Signals;
  readonly logger: Logger;
}

/** The exit code, and whether another process refused the Lease. Both may still change during the drain. */
interface Ending {
  code: ExitCode;
  isRefused: boolean;
}

/** Waits for the first reason to drain, and logs it. */
async function untilEnding({ app, service, signal, logger }: StartedParts): Promise<Readonly<Ending>> {
  const end: Ending = { code: EXIT.ok, isRefused: false };
  const handedOver = service?.handedOver.then(({ pid, version: taken }) =>
    logger.info({ pid, version: taken }, 'handed over to successor: waiting for open connections'),
  );
  await Promise.race([
    app.failed,
    ...(handedOver === undefined ? [] : [handedOver]),
    signal.first.then((name) => logger.info({ signal: name }, 'stopping: draining open connections')),
    app.superseded.then((holder) => {
      end.code = EXIT.superseded;
      logger.error(
        { holder },
        'superseded: another process holds the Lease of this node; draining without further writes ' +
          '(two instances on one node each need their own --node-name)',
      );
    }),
    app.leaseRefused.then((reason) => {
      end.code = EXIT.superseded;
      end.isRefused = true;
      logger.fatal({ reason }, 'refused: another process holds the Lease of this node, and stays alive');
    }),
  ]);
  return end;
}

/** The service for a supervisor and for upgrades without downtime; null when the configuration asks for neither. */
async function openService(config: RunConfig, processId: string, log: Log) {
  const { handover: directory, lockDirectory } = config;
  const { env: environment, pid } = process;
  const { takeOver } = config;
  const daemonSet =
    config.daemonSet === null ? null : `${config.daemonSet.name}:${config.daemonSet.generation}`;
  if (lockDirectory !== null) {
    const { requirePrivateDirectory } = await import('./lifecycle/handover-directory.ts');
    requirePrivateDirectory(lockDirectory, process.getuid?.() ?? 0, '--lock-dir');
  }
  if (directory === null && !environment.NOTIFY_SOCKET && !environment.LISTEN_FDS) return null;
  const { Service } = await import('./lifecycle/service.ts');
  const { native: addon } = await import('./netns/native.ts');
  const uid = process.getuid?.() ?? 0;
  const identity = { version: version(), processId, daemonSet, takeOver };
  return Service.open({ addon, directory, ...identity, environment, pid, uid, log });
}

interface Signals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
  seen(): boolean;
}

function untilSignal(): Signals {
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
