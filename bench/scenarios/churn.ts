// Measures established and new connections while routes change every 100 ms. Each measurement compares Isthmus with itself shortly
// before and after. The established connections stay the same throughout: another set of 64 is up to a tenth faster or slower.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterName } from '../harness/hellos.ts';
import type { Timing } from '../harness/load.ts';
import { pause } from '../harness/processes.ts';
import { manifest, manifestsOf, type Site } from '../harness/site.ts';
import { oddAgainstNeighbours, type Stretch } from '../harness/stretches.ts';
import type { RunningPeer } from '../peers/peer.ts';
import { type Context, ONE_ROUTE, type Scenario } from './scenario.ts';

const EVERY_MS = 100;
/** In this time, Isthmus reads and applies the last change of a stretch. It therefore does not affect the next stretch. */
const SETTLE_MS = 200;
/** Many short stretches: a change in the host's speed spoils only one or two, and the median ignores them. */
const CHANGING_STRETCHES = 12;

/**
 * Adds and removes a route to the same backend. That backend is already healthy, so the table really changes. The file is JSON, like an
 * API server's answer: parsing YAML takes longer than the route change itself.
 */
export async function whileRoutesChange<T>(instance: string, site: Site, work: () => Promise<T>): Promise<T> {
  const file = join(manifestsOf(site, instance), 'churn.json');
  let turn = 0;
  const timer = setInterval(() => {
    turn += 1;
    const name = clusterName(90_000 + (turn % 2));
    writeFileSync(file, JSON.stringify(manifest({ ...site.clusters[0]!, name })));
  }, EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    rmSync(file, { force: true });
  }
}

const stretchSeconds = ({ seconds }: Timing): number => seconds / 2;
const secondsOf = (timing: Timing): number =>
  (2 * CHANGING_STRETCHES + 1) * (stretchSeconds(timing) + SETTLE_MS / 1000);

/** One run on the same connections. Stretches with changes alternate with still ones, and each is compared with its neighbours. */
async function established(
  peer: RunningPeer,
  { load, site, timing }: Context,
): Promise<{ requests: number; broken: number }> {
  const marginSeconds = 0.5;
  const running = load.requests(
    peer.target,
    site.hellos('classic'),
    { warmup: timing.warmup, seconds: secondsOf(timing) + 2 * marginSeconds },
    64,
    { mayBreak: true, tickMs: 20 },
  );
  const stretch = async (): Promise<Stretch> => {
    await pause(SETTLE_MS);
    const fromMs = Date.now();
    await pause(1000 * stretchSeconds(timing));
    return { fromMs, toMs: Date.now() };
  };
  const inTurn = async (): Promise<Stretch[]> => {
    await pause(1000 * (timing.warmup + marginSeconds));
    const stretches = [await stretch()];
    for (let i = 0; i < CHANGING_STRETCHES; i += 1)
      stretches.push(await whileRoutesChange(peer.name, site, stretch), await stretch());
    return stretches;
  };
  const [{ progress, errors }, stretches] = await Promise.all([running, inTurn()]);
  // A broken connection makes no more requests, so there is nothing to compare. A run without any connection ends early.
  return { requests: errors > 0 ? 0 : oddAgainstNeighbours(progress, stretches), broken: errors };
}

/** New connections always differ, so each kind gets its own runs. One kind runs between two of the other, so a slowdown affects both. */
async function fresh(peer: RunningPeer, { load, site, timing }: Context): Promise<number> {
  const hello = site.hellos('classic');
  const still = async (): Promise<number> => (await load.connections(peer.target, hello, timing)).perSecond;
  const changing = (): Promise<number> => whileRoutesChange(peer.name, site, still);
  const inside = Math.random() < 0.5;
  const [first, second] = inside ? [still, changing] : [changing, still];
  const before = await first();
  const within = (await second()) + (await second());
  const around = before + (await first());
  return inside ? within / around : around / within;
}

export const churn: Scenario = {
  name: 'churn',
  title: `Routes that change every ${EVERY_MS} ms`,
  needs: ONE_ROUTE,
  metrics: [
    { name: 'broken', title: 'established connections broken', unit: '', better: 'lower' },
    {
      name: 'requests',
      title: 'requests/s on established connections, of undisturbed',
      unit: '×',
      better: 'higher',
    },
    { name: 'connections', title: 'new connections/s, of undisturbed', unit: '×', better: 'higher' },
  ],
  seconds: (timing) => secondsOf(timing) + timing.warmup + 1 + 4 * (timing.seconds + timing.warmup),
  participants: (peers, site) =>
    peers.filter(({ name }) => name.startsWith('isthmus-')).map((peer) => ({ name: peer.name, peer, site })),
  measure: async (peer, context) => {
    const { requests, broken } = await established(peer, context);
    return { values: { requests, broken, connections: await fresh(peer, context) } };
  },
};
