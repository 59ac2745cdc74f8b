// `npm run bench -- start`: measures how long Isthmus takes to serve 1000 clusters in 1000 namespaces, and the CPU use of its threads at
// rest. It runs on one core; `--hogs` adds programs that use this core fully. `--program` (repeatable) names the builds, which start
// in turn: a ratio needs both builds in one run.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuTimeNs, PROXY_CORE, pause, spawnPinned, stopProcess } from './harness/processes.ts';
import { manifestsOf, openSite, type Site } from './harness/site.ts';
import { median } from './harness/statistics.ts';
import { readTools, root } from './harness/tools.ts';
import { allServe } from './peers/isthmus.ts';
import { nextPort } from './peers/running.ts';
import { ONE_ROUTE } from './scenarios/scenario.ts';

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    clusters: { type: 'string', default: '1000' },
    starts: { type: 'string', default: '3' },
    hogs: { type: 'string', default: '0' },
    rest: { type: 'string', default: '0' },
    calm: { type: 'string', default: '25' },
    program: { type: 'string', multiple: true, default: [join(root, 'dist', 'main.js')] },
  },
});
const clusters = Number(values.clusters);
const DEADLINE_MS = 60_000;
/** A status request uses the measured core. At this interval the effect on the result is negligible. */
const LOOK_MS = 200;
interface Started {
  readonly readyMs: number;
  readonly servedMs: number;
  /** CPU time until all clusters are served. */
  readonly cpuMs: number;
  /** CPU use at rest by thread, in percent of a core. */
  readonly rest: ReadonlyMap<string, number>;
}

/** Returns the CPU time in nanoseconds by thread name. */
function threadTimes(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const name = readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim();
    const ns = Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    const key = Number(task) === pid ? 'main' : name;
    times.set(key, (times.get(key) ?? 0) + ns);
  }
  return times;
}

const sum = (times: Iterable<number>): number => [...times].reduce((total, each) => total + each, 0);

async function start(program: string, site: Site): Promise<Started> {
  const [port, admin] = [nextPort(), nextPort()];
  const startedMs = performance.now();
  const child = spawnPinned(PROXY_CORE, process.execPath, [
    ...[program, 'run', '--source', `file:${manifestsOf(site, 'start')}`],
    ...['--listen', `127.0.0.1:${port}`, '--admin', `127.0.0.1:${admin}`, '--log-level', 'warn'],
  ]);
  child.stdout?.resume();
  child.stderr?.pipe(process.stderr);
  try {
    const pid = child.pid!;
    const until = async (what: string, holds: () => Promise<boolean>): Promise<number> => {
      for (;;) {
        // The program may not listen yet.
        if (await holds().catch(() => false)) return performance.now() - startedMs;
        if (performance.now() - startedMs > DEADLINE_MS || child.exitCode !== null)
          throw new Error(`waited ${DEADLINE_MS} ms: ${what}`);
        await pause(LOOK_MS);
      }
    };
    const readyMs = await until('ready', async () => (await fetch(`http://127.0.0.1:${admin}/readyz`)).ok);
    const servedMs = await until('all clusters serve', () => allServe(admin, clusters));
    const cpuMs = cpuTimeNs([pid]) / 1e6;
    const seconds = Number(values.rest);
    const rest = new Map<string, number>();
    if (seconds > 0) {
      // For a while after the backends come up, health checks run more often.
      await pause(Number(values.calm) * 1000);
      const before = threadTimes(pid);
      await pause(seconds * 1000);
      for (const [name, ns] of threadTimes(pid))
        rest.set(name, (ns - (before.get(name) ?? 0)) / (seconds * 1e7));
    }
    return { readyMs, servedMs, cpuMs, rest };
  } finally {
    await stopProcess(child);
  }
}

const site = await openSite({ ...ONE_ROUTE, clusters, netns: clusters }, readTools().load);
const hogs = Array.from({ length: Number(values.hogs) }, () =>
  spawnPinned(PROXY_CORE, 'sh', ['-c', 'while :; do :; done']),
);
const found = new Map<string, Started[]>(values.program.map((program) => [resolve(program), []]));
for (let round = 1; round <= Number(values.starts); round += 1) {
  for (const [program, list] of found) {
    const started = await start(program, site);
    list.push(started);
    const { readyMs, servedMs, cpuMs, rest } = started;
    const shares = [...rest].filter(([, share]) => share > 0.005);
    console.log(
      `${program}: ready after ${(readyMs / 1000).toFixed(1)} s, all served after ${(servedMs / 1000).toFixed(1)} s, ` +
        `${cpuMs.toFixed(0)} ms of CPU` +
        (shares.length === 0
          ? ''
          : `; at rest ${sum(rest.values()).toFixed(2)} % of a core: ` +
            shares.map(([name, share]) => `${name} ${share.toFixed(2)}`).join(', ')),
    );
  }
}
for (const [program, list] of found)
  console.log(
    `${program}: ${clusters} clusters served after ${(median(list.map(({ servedMs }) => servedMs)) / 1000).toFixed(1)} s, ` +
      `at most ${(Math.max(...list.map(({ servedMs }) => servedMs)) / 1000).toFixed(1)} s (${list.length} starts, ${hogs.length} hogs)`,
  );
for (const hog of hogs) await stopProcess(hog);
await site.close();
process.exit(0);
