// The settings of the isthmus that runs here, for commands that an operator starts beside it. They come from the settings file of the
// package, or from the flags of the first process of the container.
import { containerSettings } from './container-settings.ts';
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
