// Parses the arguments of commands that query a running proxy: `--admin <addr:port>`, `--json`, the command's own, and words. Pure.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { ConfigProblem } from './config/config.ts';
import { type Endpoint, endpoint, type Reader } from './config/values.ts';

export interface AdminQuestion {
  readonly endpoint: Endpoint;
  readonly json: boolean;
  readonly words: readonly string[];
  /** The switches that are given. */
  readonly switches: ReadonlySet<string>;
}

export type AdminArguments<V = object> =
  | (AdminQuestion & { readonly kind: 'read'; readonly values: V })
  /** An argument is missing, unknown or given too often. */
  | { readonly kind: 'usage' }
  | { readonly kind: 'problems'; readonly problems: readonly ConfigProblem[] };

/** What a command accepts besides --admin and --json. */
export interface OwnArguments<V> {
  readonly words?: number;
  readonly switches?: readonly string[];
  readonly values?: { readonly [N in keyof V]: { readonly fallback: string; readonly reader: Reader<V[N]> } };
}

const ADMIN = { fallback: '127.0.0.1:9580', reader: endpoint };
const VARIABLE = 'ISTHMUS_ADMIN';

export function adminArguments<V extends object = object>(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  own: OwnArguments<V> = {},
): AdminArguments<V> {
  const readers: Readonly<Record<string, typeof ADMIN>> = { admin: ADMIN, ...own.values };
  const options: ParseArgsOptionsConfig = {};
  for (const name of ['json', ...(own.switches ?? [])]) options[name] = { type: 'boolean' };
  for (const name of Object.keys(readers)) options[name] = { type: 'string', multiple: true };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch {
    return { kind: 'usage' };
  }
  const { values: given, positionals: words } = parsed;
  const isTwice = Object.values(given).some((value) => Array.isArray(value) && value.length > 1);
  if (isTwice || words.length !== (own.words ?? 0)) return { kind: 'usage' };
  const { values, problems } = readValues(readers, given, environment);
  if (problems.length > 0) return { kind: 'problems', problems };
  const { admin, ...others } = values;
  return {
    kind: 'read',
    endpoint: admin as Endpoint,
    json: given.json === true,
    words,
    switches: new Set(own.switches?.filter((name) => given[name])),
    values: others as V,
  };
}

function readValues(
  readers: Readonly<Record<string, { readonly fallback: string; readonly reader: Reader<unknown> }>>,
  given: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly values: Readonly<Record<string, unknown>>; readonly problems: readonly ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { fallback, reader }] of Object.entries(readers)) {
    const [flag] = (given[name] ?? []) as string[];
    const variable = name === 'admin' ? environment[VARIABLE] : undefined;
    const value = flag ?? variable ?? fallback;
    const read = reader(value);
    const where = flag === undefined && variable !== undefined ? VARIABLE : `--${name}`;
    if ('value' in read) values[name] = read.value;
    else problems.push({ where, value, wanted: read.wanted });
  }
  return { values, problems };
}
