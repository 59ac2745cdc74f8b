// Measures what one turn costs the control thread with one listener of five thousand machines and no other work:
//   node bench/control/listeners-turn.ts [machines] [listeners]
// Prints the median and p99 of the thread's own CPU time in milliseconds, for three cases: nothing changes, one label changes, and
// the listener promotes another generation of machines.

import type { Desired } from '../../src/control/desired/desired-state.ts';
import { TurnCache } from '../../src/control/objects/turn-cache.ts';
import { diff } from '../../src/control/plan/diff.ts';
import { NO_MEMORY, type PlanMemory } from '../../src/control/plan/plan.ts';
import { settledResult } from '../../src/control/settled-result.ts';
import type { MachineFacts } from '../../src/control/sources/machine.ts';
import { turnResult } from '../../src/control/turn-result.ts';
import { type World, worldOf } from '../../src/control/world/world.ts';
import type { TargetHealth } from '../../src/health/target-health.ts';
import {
  desiredFor,
  keyAt,
  listener,
  machine,
  NAMESPACE,
  NETNS,
  pendingCluster,
} from '../../test/support/kubernetes/listeners.ts';
import { ModelApi, SETTINGS } from '../../test/support/kubernetes/model-api.ts';

const MACHINES = Number(process.argv[2] ?? 5000);
const LISTENERS = Number(process.argv[3] ?? 1);
const ROUNDS = 60;

const addressOf = (i: number): string => `10.${1 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
const made = (i: number, generation: string): MachineFacts =>
  machine(`m-${String(i).padStart(5, '0')}`, addressOf(i), { role: 'worker', generation });
let machines: readonly MachineFacts[] = Array.from({ length: MACHINES }, (_, i) =>
  made(i, i % 2 === 0 ? 'blue' : 'green'),
);
const listenersAt = (generation: string) =>
  Array.from({ length: LISTENERS }, (_, i) => listener(`l-${i}`, { rolloutLabels: { generation } }));
let listeners = listenersAt('blue');
const up = { up: true, sinceMs: 0, lastProbe: { ok: true, error: null } } as TargetHealth;
const health = new Map(machines.map((_, i) => [keyAt(addressOf(i)), up]));
const ports = new Map(
  listeners.map(({ key }, i) => [key, { kind: 'open' as const, port: 17_000 + i }] as const),
);
const source = { complete: true, clusters: [pendingCluster('kube-1')], problems: [] };
const netns = { complete: true, entries: [NETNS], problems: [] };
const api = new ModelApi();

const settings = { ...SETTINGS, namespace: NAMESPACE };
const cache = new TurnCache();
const times = new Map<string, number[]>();
let world: World | null = null;
let desired: Desired | null = null;
let memory: PlanMemory = NO_MEMORY;
function turn(kind: string): void {
  const kube = api.seenBy({});
  const { user, system } = process.threadCpuUsage();
  world = worldOf(
    {
      source,
      netns,
      health,
      kube,
      ports,
      listeners: {
        complete: true,
        listeners,
        machines,
        machinesKnown: true,
        machinesProblem: null,
        problems: [],
      },
    },
    world,
    { departureMs: 5000, allowMassDelete: false },
  );
  const decided = desiredFor(world, cache);
  const plan = diff(kube, decided, { settings, memory, cache });
  memory = plan.memory;
  desired = settledResult(desired, turnResult(decided, plan, cache));
  const after = process.threadCpuUsage();
  const list = times.get(kind) ?? [];
  list.push((after.user + after.system - user - system) / 1000);
  times.set(kind, list);
  api.carryOut(plan.actions);
}

for (let i = 0; i < 5; i += 1) turn('first five');
for (let i = 0; i < ROUNDS; i += 1) turn('nothing changed');
for (let i = 0; i < ROUNDS; i += 1) {
  machines = machines.with((i * 37) % MACHINES, made((i * 37) % MACHINES, i % 3 === 0 ? 'green' : 'blue'));
  turn('one label changed');
}
for (let i = 0; i < ROUNDS; i += 1) {
  listeners = listenersAt(i % 2 === 0 ? 'green' : 'blue');
  turn('promotion');
}

const { backends = [] } = desired ?? ({} as Partial<Desired>);
console.log(`${MACHINES} machines, ${LISTENERS} listener(s), ${backends.length} backends; milliseconds`);
const at = (sorted: readonly number[], share: number) =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2).padStart(8);
for (const [kind, list] of times) {
  const sorted = list.toSorted((a, b) => a - b);
  console.log(`${kind.padEnd(20)} median ${at(sorted, 0.5)}  p99 ${at(sorted, 0.99)}  n ${list.length}`);
}
