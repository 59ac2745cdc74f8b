// The settings of the isthmus that runs here, for commands that an operator starts beside it. They come from the settings file of the
// package, or from the flags of the first process of the container.
import { readFileSync, realpathSync } from 'node:fs';
import { flagVariables } from './config/config.ts';
import { readSettingsFile, SETTINGS_FILE } from './settings-file.ts';

export interface SettingsInUse {
  readonly settings: Readonly<Record<string, string>>;
  /** Where they come from, as the doctor names it. */
  readonly sources: readonly string[];
  readonly warnings: readonly string[];
}

/** The caller lets these settings win over the variables of the shell, as they do for the service. */
export function serviceSettings(
  file = readSettingsFile(),
  container: Readonly<Record<string, string>> = containerSettings(),
): SettingsInUse {
  const sources: string[] = [];
  const [variables, flags] = [Object.keys(file.settings), Object.keys(container)];
  if (variables.length > 0) sources.push(`the settings of ${SETTINGS_FILE} (${variables.join(', ')})`);
  if (flags.length > 0) sources.push(`the flags of process 1 of this container (${flags.join(', ')})`);
  return { settings: { ...file.settings, ...container }, sources, warnings: file.warnings };
}

export interface FirstProcess {
  /** The null-separated arguments of process 1, as /proc has them; null if they cannot be read. */
  readonly commandLine: string | null;
  /** The script that this process runs. */
  readonly script: string;
  /** The file that a path leads to; null if there is none. */
  readonly realPath: (path: string) => string | null;
}

/**
 * The flags of the isthmus that is the first process of this container, as variables. A command that `kubectl exec` starts inherits the
 * variables of the container, but not the arguments of its first process (the chart's extraArgs). Empty if process 1 is another program,
 * as on a host.
 */
export function containerSettings(first: FirstProcess = firstProcess()): Readonly<Record<string, string>> {
  const [, script, command, ...args] = first.commandLine?.replace(/\0$/, '').split('\0') ?? [];
  if (command !== 'run' || script === undefined) return {};
  const path = first.realPath(script);
  return path !== null && path === first.realPath(first.script) ? flagVariables(args) : {};
}

function firstProcess(): FirstProcess {
  return { commandLine: attempt(() => readFileSync('/proc/1/cmdline', 'utf8')), script, realPath };
}

const script = process.argv[1] ?? '';

const realPath = (path: string) => attempt(() => realpathSync(path));

/** A container can hide its processes from each other: then this command has only its own settings. */
function attempt(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}
