#!/usr/bin/env node
// The command line: picks the command, reads its configuration, turns signals into a drain and errors into exit codes.
// 0 done, 1 failed, 2 wrong configuration, 128 + n ended by a second signal.
import { statSync } from 'node:fs';
import { constants } from 'node:os';
import { type ConfigProblem, formatProblems, type RunConfig, readConfig } from './config/config.ts';
import { MAIN_HELP, runHelp, STATUS_HELP } from './config/help.ts';
import { nearest } from './config/nearest.ts';
import { createLogger, type Logger } from './ops/logger.ts';
import { version } from './version.ts';

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  run,
  status: async (args) => {
    if (wantsHelp(args)) return print(STATUS_HELP);
    const { showStatus } = await import('./ops/status-command.ts');
    return showStatus(args);
  },
  demo: async (args) => {
    const { demo } = await import('./demo/demo.ts');
    return demo(args);
  },
  version: async () => print(`isthmus ${version()} (Node ${process.versions.node})\n`),
};

async function main([command, ...args]: readonly string[]): Promise<number> {
  if (command === undefined || command === 'help' || command === '--help' || command === '-h') {
    print(MAIN_HELP);
    return command === undefined ? 2 : 0;
  }
  const name = command === '--version' || command === '-v' ? 'version' : command;
  if (Object.hasOwn(COMMANDS, name)) return (COMMANDS[name] as (typeof COMMANDS)[string])(args);
  const close = nearest(command, Object.keys(COMMANDS));
  complain(
    `isthmus: there is no command '${command}'${close ? `; did you mean '${close}'?` : ''}\n\n${MAIN_HELP}`,
  );
  return 2;
}

async function run(args: readonly string[]): Promise<number> {
  if (wantsHelp(args)) return print(runHelp());
  const result = readConfig(args, process.env);
  const problems = 'problems' in result ? result.problems : machineProblems(result.config);
  if ('problems' in result || problems.length > 0) {
    complain(`${formatProblems(problems)}\n`);
    return 2;
  }
  const { config, warnings } = result;
  const logger = createLogger({ level: config.logLevel, format: config.logFormat });
  for (const warning of warnings) logger.warn(warning);
  try {
    return await serve(config, logger);
  } catch (error) {
    logger.fatal({ err: error }, startFailure(error));
    return 1;
  }
}

async function serve(config: RunConfig, logger: Logger): Promise<number> {
  // Late, so that --help and configuration errors need no compiled addon.
  const { App } = await import('./app.ts');
  const app = new App(config, logger, version());
  const signal = untilSignal();
  // A signal during the start ends the start; an error during the start is the start's own.
  await Promise.race([app.start(), signal.first]);
  logger.info(
    { signal: await signal.first },
    'stopping: no new connections, waiting for those that are open',
  );
  const second = await Promise.race([app.drain().then(() => null), signal.second]);
  if (second === null) return 0;
  logger.warn({ signal: second }, 'second signal: ending at once');
  await app.close();
  return 128 + constants.signals[second];
}

function untilSignal(): { first: Promise<NodeJS.Signals>; second: Promise<NodeJS.Signals> } {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = Promise.withResolvers<NodeJS.Signals>();
  let seen = 0;
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      seen += 1;
      (seen === 1 ? first : second).resolve(name);
    });
  }
  return { first: first.promise, second: second.promise };
}

/** What only the machine can tell, in the same words as the configuration's own problems. */
function machineProblems(config: RunConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { directory } = config.source;
  try {
    if (!statSync(directory).isDirectory()) {
      problems.push({ where: '--source', value: `file:${directory}`, wanted: 'a directory, this is a file' });
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    problems.push({
      where: '--source',
      value: `file:${directory}`,
      wanted: code === 'ENOENT' ? 'a directory that exists' : `a directory that can be read (${code})`,
    });
  }
  return problems;
}

function startFailure(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return `${message}: another program listens there; choose another --listen or --admin`;
  if (code === 'EACCES') return `${message}: this address or port needs a privilege we do not have`;
  if (code === 'EADDRNOTAVAIL') return `${message}: this machine does not have that address`;
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_DLOPEN_FAILED') {
    return `the native addon is missing or does not load: npm run setup builds it (${message.split('\n', 1)[0]})`;
  }
  return message;
}

function wantsHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function complain(text: string): void {
  process.stderr.write(text);
}

process.exitCode = await main(process.argv.slice(2));
// A handle that somebody forgot must not keep a finished program alive; what was printed is flushed first.
process.stdout.write('', () => process.exit());
