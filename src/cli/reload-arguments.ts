// Parses the command line of `isthmus reload`. Pure.

type Environment = Readonly<Record<string, string | undefined>>;

export type ReloadArguments =
  | { readonly directory: string; readonly environment: Environment | null }
  | { readonly problem: string };

export function reloadArguments(args: readonly string[], environment: Environment): ReloadArguments {
  let directory = environment.ISTHMUS_HANDOVER ?? '';
  let withEnvironment = false;
  for (let i = 0; i < args.length; i += 1) {
    const [name, value] = (args[i] as string).split(/=(.*)/s, 2);
    if (name === '--with-environment') withEnvironment = true;
    else if (name === '--handover') directory = value ?? args[++i] ?? '';
    else return { problem: `the flag ${args[i]} does not exist` };
  }
  if (directory === '')
    return {
      problem:
        'the handover directory is missing. Use --handover <dir> with the directory of the running proxy',
    };
  return { directory, environment: withEnvironment ? environment : null };
}
