// Parses the command line of `npm run bench`. Reports all problems at once.
import { SCENARIOS } from '../scenarios/all.ts';

export const PEER_NAMES = [
  'direct',
  'haproxy',
  'haproxy-nosplice',
  'haproxy-pipes',
  'isthmus-native',
  'isthmus-streams',
  'nginx',
  'sniproxy',
  'envoy',
] as const;

export interface Options {
  readonly peers: readonly string[];
  readonly scenarios: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly warmup: number;
  /** Extra time for repetitions, as a share of the planned time. */
  readonly patience: number;
  readonly check: boolean;
  /** Additional HAProxy programs. Each one is a separate peer. */
  readonly haproxies: readonly string[];
  /** Additional checkouts of Isthmus. Each one is a separate peer. */
  readonly checkouts: readonly string[];
  readonly help: boolean;
}

const MODES = {
  quick: {
    peers: ['direct', 'haproxy', 'haproxy-nosplice', 'haproxy-pipes', 'isthmus-native', 'isthmus-streams'],
    scenarios: ['new-connections', 'latency', 'requests', 'bulk', 'idle-memory'],
    rounds: 3,
    seconds: 0.6,
    warmup: 0.2,
    patience: 0.3,
  },
  normal: {
    peers: [...PEER_NAMES],
    scenarios: SCENARIOS.map(({ name }) => name),
    rounds: 5,
    seconds: 1,
    warmup: 0.3,
    patience: 2,
  },
  full: {
    peers: [...PEER_NAMES],
    scenarios: SCENARIOS.map(({ name }) => name),
    rounds: 11,
    seconds: 2,
    warmup: 0.5,
    patience: 2,
  },
};

/** A run that measures less does not replace the project's last result. */
export const DEFAULTS: Pick<Options, 'peers' | 'rounds' | 'seconds'> = MODES.normal;

export const HELP = `npm run bench [-- <options>]   (npm run bench -- parser: only the ClientHello parser)

  --quick | --full       under 4 minutes | every scenario with 11 rounds of 2 s (an hour and a half)
  --peers a,b            of ${PEER_NAMES.join(', ')}
  --scenarios a,b        of ${SCENARIOS.map(({ name }) => name).join(', ')}
  --rounds n  --seconds s
  --haproxy <path>       one more HAProxy, beside the system's; repeatable
  --isthmus <checkout>   run the Isthmus of another checkout as one more peer, to compare two builds; repeatable
  --check                exit 1 when a goal is missed by the median, has failed or could not be judged
`;

export function readOptions(args: readonly string[]): Options {
  let mode: keyof typeof MODES = 'normal';
  const given: { peers?: string[]; scenarios?: string[]; rounds?: number; seconds?: number } = {};
  const haproxies: string[] = [];
  const checkouts: string[] = [];
  const problems: string[] = [];
  let check = false;
  let help = false;
  const rest = args.flatMap((each) => (/^--[a-z]+=/.test(each) ? each.split(/=(.*)/s, 2) : [each]));
  const value = (name: string): string => {
    const next = rest.shift();
    if (next === undefined) problems.push(`${name} needs a value`);
    return next ?? '';
  };
  const positive = (name: string): number => {
    const number = Number(value(name));
    if (!(number > 0)) problems.push(`${name} needs a number above 0`);
    return number;
  };
  while (rest.length > 0) {
    const name = rest.shift()!;
    if (name === '--quick' || name === '--full') mode = name.slice(2) as keyof typeof MODES;
    else if (name === '--check') check = true;
    else if (name === '--help' || name === '-h') help = true;
    else if (name === '--peers') given.peers = value(name).split(',');
    else if (name === '--scenarios') given.scenarios = value(name).split(',');
    else if (name === '--rounds') given.rounds = Math.round(positive(name));
    else if (name === '--seconds') given.seconds = positive(name);
    else if (name === '--haproxy') haproxies.push(value(name));
    else if (name === '--isthmus') checkouts.push(value(name));
    else problems.push(`there is no option ${name}`);
  }
  const known = SCENARIOS.map((each) => each.name);
  for (const each of given.scenarios ?? [])
    if (!known.includes(each)) problems.push(`there is no scenario '${each}'`);
  for (const each of given.peers ?? [])
    if (!(PEER_NAMES as readonly string[]).includes(each)) problems.push(`there is no peer '${each}'`);
  if (problems.length > 0) {
    console.error(`${problems.join('\n')}\n\n${HELP}`);
    process.exit(2);
  }
  return { ...MODES[mode], ...given, haproxies, checkouts, check, help };
}
