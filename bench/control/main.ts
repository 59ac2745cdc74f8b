// `npm run bench -- control`, inside its sandbox: measures the cost and the reaction time of the control loop, next to the measured
// values of the program that Isthmus replaces. `--quick` skips the large site. Names (`reaction`, `rest-10`, `rest-50`, `probes`, `fleet`)
// select single parts. The results file is written once all parts have been measured.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { machineFacts, machineText } from '../harness/machine.ts';
import { atRest } from './at-rest.ts';
import { fleet } from './fleet.ts';
import { probes } from './probes.ts';
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
  ...(quick ? [] : [['probes', () => probes(1000, 3, say)] as const]),
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

\`npm run bench -- control\` measures each part once: the built program with default settings, the in-memory management API, and tenants in real
namespaces. Time of each part (UTC), load average of the machine, and priority of the benchmark: ${times}.
The column "measured" shows this run. The column "upstream" shows magnum-cluster-api-proxy 0.38.2 on a real Kubernetes 1.35, measured once.
¹ includes DNS, Service and kube-proxy. The measured value does not include them; the end-to-end suite measures with them.

${table(all)}

CPU is the user and system time of all threads. The program itself measures each turn by the wall clock (\`isthmus_control_turn_seconds\`). The
in-memory API runs on the same machine. If the load average shows other work, the turn time includes that load.
\`node bench/control/turn.ts\` measures only the CPU time of a turn.

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
