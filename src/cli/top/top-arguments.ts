// Parses the arguments of `isthmus top`: its own, and those of every command that queries a running proxy. Pure.

import { adminArguments } from '../admin-arguments.ts';
import type { ConfigProblem } from '../config/config.ts';
import { duration, type Endpoint, oneOf, type Reader } from '../config/values.ts';
import { TOP_SORTS, type TopSort } from './top-order.ts';

export type TopArguments =
  | {
      readonly kind: 'read';
      readonly endpoint: Endpoint;
      readonly intervalMs: number;
      readonly sort: TopSort;
      readonly once: boolean;
      readonly json: boolean;
    }
  | { readonly kind: 'usage' }
  | { readonly kind: 'problems'; readonly problems: readonly ConfigProblem[] };

const interval = duration(200, 60_000);
const sort: Reader<TopSort> = oneOf(...TOP_SORTS);

export function topArguments(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): TopArguments {
  const own = new Map<string, string>([
    ['--interval', '1s'],
    ['--sort', 'connections'],
  ]);
  const given = new Set<string>();
  const others: string[] = [];
  let once = false;
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    const [name = '', value] = splitOnce(arg);
    if (arg === '--once') once = true;
    else if (own.has(name)) {
      if (value === undefined) i += 1;
      const text = value ?? args[i];
      if (text === undefined || given.has(name)) return { kind: 'usage' };
      given.add(name);
      own.set(name, text);
    } else others.push(arg);
  }
  const admin = adminArguments(others, environment, 0);
  if (admin.kind === 'usage') return admin;
  const problems: ConfigProblem[] = admin.kind === 'problem' ? [admin.problem] : [];
  const read = <T>(where: string, reader: Reader<T>): T | null => {
    const text = own.get(where) as string;
    const result = reader(text);
    if ('value' in result) return result.value;
    problems.push({ where, value: text, wanted: result.wanted });
    return null;
  };
  const intervalMs = read('--interval', interval);
  const chosen = read('--sort', sort);
  if (admin.kind === 'problem' || intervalMs === null || chosen === null)
    return { kind: 'problems', problems };
  const { endpoint, json } = admin;
  return { kind: 'read', endpoint, intervalMs, sort: chosen, once, json };
}

function splitOnce(arg: string): [name: string, value?: string] {
  const at = arg.indexOf('=');
  return at === -1 ? [arg] : [arg.slice(0, at), arg.slice(at + 1)];
}
