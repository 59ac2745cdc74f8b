// `npm run bench -- control`, inside its sandbox: measures the cost and the reaction time of the control loop, next to the measured
// values of the program that Isthmus replaces. `--quick` skips the large site. Names (`reaction`, `rest-10`, `rest-50`, `fleet`)
// select single parts. The results file is written once all parts have been measured.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { machineFacts, machineText } from '../harness/machine.ts';
import { atRest } from './at-rest.ts';
import { fleet } from './fleet.ts';
import { reaction } from './reaction.ts';
import { type Row, table } from './row.ts';

const quick = process.argv.includes('--quick');
const only = process.argv.slice(2).filter((arg) => !arg.startsWith('-'));
const started = performance.now();
const say = (text: string) =>
  console.log(`  ${((performance.now() - started) / 1000).toFixed(0)} s: ${text}`);

const parts: readonly (readonly [name: string, measure: () => Promise<readonly Row[]>])[] = [
  ['reaction', () => reaction(say)],
  ['rest-10', () => atRest(10, say)],
  ['rest-50', () => atRest(50, say)],
  ...(quick ? [] : [['fleet', () => fleet(1000, 20, say)] as const]),
];
/** Also keeps parts of earlier runs: a full run takes seven minutes, and a machine is rarely quiet for that long. */
const STORE = fileURLToPath(new URL('../../.cache/control-bench.json', import.meta.url));
interface Measured {
  readonly at: string;
  /** The machine's one-minute load average at the end of the part. */
  readonly load: string;
  /** The nice value of this process. */
  readonly nice: number;
  readonly rows: readonly Row[];
}
const stored: Record<string, Measured> = existsSync(STORE) ? JSON.parse(readFileSync(STORE, 'utf8')) : {};

const rows: Row[] = [];
for (const [name, measure] of parts) {
  if (only.length > 0 && !only.includes(name)) continue;
  const at = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const measured = await measure();
  rows.push(...measured);
  stored[name] = { at, load: (loadavg()[0] ?? 0).toFixed(0), nice: getPriority(), rows: measured };
}
mkdirSync(dirname(STORE), { recursive: true });
writeFileSync(STORE, JSON.stringify(stored));

const all = parts.flatMap(([name]) => stored[name]?.rows ?? []);
const times = parts
  .map(([name]) => `${name} ${stored[name]?.at}, load ${stored[name]?.load}, nice ${stored[name]?.nice}`)
  .join('; ');
const text = `# The control loop, measured

\`npm run bench -- control\`, each part once, the built program against the embedded management API, tenants in real
namespaces, default settings. When (UTC), the load of the machine then, and the priority of the benchmark: ${times}.
The column "measured" is of this run. The column "upstream" is of magnum-cluster-api-proxy 0.38.2 on real Kubernetes 1.35, measured once
(¹ through DNS, Service and kube-proxy, which are not part of our number here; the end-to-end suite measures with them).

${table(all)}

CPU is user and system time of all threads. A turn is timed by the program itself (\`isthmus_control_turn_seconds\`), by the wall clock, while
the embedded API runs on the same machine: where the load says that it was busy with other work too, that is in it, and
\`node bench/control/turn.ts\` tells the CPU time of a turn alone.

${machineText(machineFacts())}.
`;
console.log(`\n${table(rows)}\n`);
if (!quick && parts.every(([name]) => stored[name] !== undefined))
  writeFileSync(fileURLToPath(new URL('../results/control.md', import.meta.url)), text);
const missed = rows.filter(({ met }) => met === false);
console.log(
  missed.length === 0 ? 'Every goal is met.' : `Missed: ${missed.map(({ what }) => what).join('; ')}`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
