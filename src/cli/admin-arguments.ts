// Parses the arguments of commands that query a running proxy: `--admin <addr:port>`, `--json`, and words. Pure.
import type { ConfigProblem } from './config/config.ts';
import { type Endpoint, endpoint } from './config/values.ts';

export type AdminArguments =
  | {
      readonly kind: 'read';
      readonly endpoint: Endpoint;
      readonly json: boolean;
      readonly words: readonly string[];
    }
  /** An argument is missing, unknown or given too often. */
  | { readonly kind: 'usage' }
  | { readonly kind: 'problem'; readonly problem: ConfigProblem };

const DEFAULT_ADMIN = '127.0.0.1:9580';
const VARIABLE = 'ISTHMUS_ADMIN';

export function adminArguments(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  wordCount: number,
): AdminArguments {
  const words: string[] = [];
  const given: (string | undefined)[] = [];
  let json = false;
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    if (arg === '--json') json = true;
    else if (arg.startsWith('--admin=')) given.push(arg.slice('--admin='.length));
    else if (arg === '--admin') {
      i += 1;
      given.push(args[i]);
    } else if (arg.startsWith('--')) return { kind: 'usage' };
    else words.push(arg);
  }
  const [flag] = given;
  if (given.length > 1 || given.includes(undefined) || words.length !== wordCount) return { kind: 'usage' };
  const variable = environment[VARIABLE];
  const text = flag ?? variable ?? DEFAULT_ADMIN;
  const read = endpoint(text);
  if ('value' in read) return { kind: 'read', endpoint: read.value, json, words };
  const where = flag === undefined && variable !== undefined ? VARIABLE : '--admin';
  return { kind: 'problem', problem: { where, value: text, wanted: read.wanted } };
}
