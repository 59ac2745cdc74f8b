// `npm run bench -- profile --peer isthmus-native --work bulk-up`: shows as a flame graph where one proxy spends its CPU time under one
// kind of load. Runs in the benchmark's sandbox and needs `perf` (Debian: linux-perf).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Load, type Timing } from './harness/load.ts';
import { LOAD_CORE, PROXY_CORE, pause, spawnPinned } from './harness/processes.ts';
import { openSite, type Site } from './harness/site.ts';
import { cache, readTools } from './harness/tools.ts';
import { chosenPeers } from './peers/chosen.ts';
import { flameGraph, folded, hottest } from './report/flame-graph.ts';
import { whileRoutesChange } from './scenarios/churn.ts';
import { ONE_ROUTE, withCpu } from './scenarios/scenario.ts';

/** A prime rate does not align with periodic work. Virtual machines often have only the timer as a sampling clock. */
const SAMPLES_PER_SECOND = '1999';
const WORKS: Readonly<
  Record<string, (load: Load, target: string, hello: string, timing: Timing, site: Site) => Promise<object>>
> = {
  connections: (load, target, hello, timing) => load.connections(target, hello, timing),
  rate: (load, target, hello, timing) => load.connections(target, hello, timing, { rate: 4000 }),
  requests: (load, target, hello, timing) => load.requests(target, hello, timing, 64),
  'bulk-down': (load, target, hello, timing) => load.bulk(target, hello, timing, 'down', 16),
  'bulk-up': (load, target, hello, timing) => load.bulk(target, hello, timing, 'up', 16),
  churn: (load, target, hello, timing, site) =>
    whileRoutesChange(values.peer, site, () => load.requests(target, hello, timing, 64)),
};

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    peer: { type: 'string', default: 'isthmus-native' },
    work: { type: 'string', default: 'connections' },
    seconds: { type: 'string', default: '5' },
    netns: { type: 'string', default: '1' },
    mtu: { type: 'string' },
    out: { type: 'string' },
  },
});
const work = WORKS[values.work];
if (work === undefined) throw new Error(`--work is one of ${Object.keys(WORKS).join(', ')}`);
const seconds = Number(values.seconds);
const netns = Number(values.netns);
const tools = readTools();
const { peers } = chosenPeers({ peers: [values.peer], haproxies: [], checkouts: [] }, tools);
const [peer] = peers;
if (peer === undefined) throw new Error(`there is no peer ${values.peer}`);

const output = async (command: string, ...args: string[]): Promise<string> => {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${command} ${args[0]} ended with ${code}`);
  return text;
};

for (const core of [LOAD_CORE, PROXY_CORE]) spawnPinned(core, tools.load, ['spin', '--seconds', '600']);
const site = await openSite(
  { ...ONE_ROUTE, clusters: netns, netns, mtu: values.mtu === undefined ? null : Number(values.mtu) },
  tools.load,
);
const running = await peer.start(site);
const load = new Load(tools.load);
const hello = site.hellos('classic');
await work(load, running.target, hello, { seconds: 1, warmup: 0 }, site);

mkdirSync(cache, { recursive: true });
const data = join(cache, 'perf.data');
const perf = spawn(
  'perf',
  [
    'record',
    '-q',
    '-e',
    'cpu-clock',
    '-F',
    SAMPLES_PER_SECOND,
    '-g',
    '-o',
    data,
    '-p',
    running.pids().join(','),
  ],
  { stdio: 'inherit' },
);
const ended = once(perf, 'close');
await pause(300);
const [result, cpu] = await withCpu(running, () =>
  work(load, running.target, hello, { seconds, warmup: 0.3 }, site),
);
perf.kill('SIGINT');
await ended;
const stacks = folded(await output('perf', 'script', '-i', data, '-F', 'comm,ip,sym'));
await running.stop();
await site.close();

const out = resolve(
  values.out ?? join(cache, `${values.peer}-${values.work}${netns === 1 ? '' : `-${netns}`}.svg`),
);
mkdirSync(dirname(out), { recursive: true });
const where = `${netns === 1 ? '' : `, ${netns} namespaces`}${values.mtu === undefined ? '' : `, MTU ${values.mtu}`}`;
const title = `${values.peer} ${peer.version()}, ${values.work}${where}: CPU of all its threads`;
writeFileSync(out, flameGraph(stacks, title));
// Folded stacks in the format of other tools, for comparing two profiles.
writeFileSync(
  out.replace(/(\.svg)?$/, '.folded'),
  [...stacks].map(([stack, samples]) => `${stack} ${samples}\n`).join(''),
);
const { latency: _, lag: __, ...numbers } = result as Record<string, unknown>;
console.log(JSON.stringify({ ...numbers, cpuMs: Math.round(cpu / 1e6) }));
for (const [name, share] of hottest(stacks, 25))
  console.log(`${(100 * share).toFixed(1).padStart(5)} % ${name}`);
console.log(`Written to ${out}`);
process.exit(0);
