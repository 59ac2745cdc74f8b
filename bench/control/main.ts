// `npm run bench -- control`, inside its sandbox: what the control loop costs and how fast it reacts, beside what the program that it
// replaces was measured to do. Counts and times of one run on this machine; `--quick` leaves the large site out.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machineFacts } from '../harness/machine.ts';
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
const rows: Row[] = [];
for (const [name, measure] of parts)
  if (only.length === 0 || only.includes(name)) rows.push(...(await measure()));

const text = `# The control loop, measured

One run of \`npm run bench -- control\`: the built program against the embedded management API, tenants in real namespaces, default
settings. The column upstream is magnum-cluster-api-proxy 0.38.2 on real Kubernetes 1.35 (¹ through DNS, Service and kube-proxy, which
are not part of our number here; the end-to-end suite measures with them).

${table(rows)}

Machine: ${JSON.stringify(machineFacts())}
`;
console.log(`\n${table(rows)}\n`);
if (only.length === 0 && !quick)
  writeFileSync(fileURLToPath(new URL('../results/control.md', import.meta.url)), text);
const missed = rows.filter(({ met }) => met === false);
console.log(
  missed.length === 0 ? 'Every goal is met.' : `Missed: ${missed.map(({ what }) => what).join('; ')}`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
