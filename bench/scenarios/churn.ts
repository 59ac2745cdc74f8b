// Routes change every 100 ms: what becomes of established connections, and of new ones? Each measurement compares Isthmus with
// itself a moment before and after. Established connections stay the same throughout: 64 others are up to a tenth faster or slower.
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
/** The last change of a stretch is read, decided and handed over in that time: it is no part of the next one. */
const SETTLE_MS = 200;
/** Many and short: a host that changes its pace spoils one or two of them, and the median does not notice. */
const CHANGING_STRETCHES = 12;

/**
 * Adds and removes a route to the same backend (which is known to be healthy, so that the table really changes). In JSON, as an API server
 * would tell it: to read YAML takes longer than all that a change of routes needs.
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

/** One run on the same connections: still, changing, still… Each stretch with changes is compared with the still ones beside it. */
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
  // Those that broke made no requests any more: there is nothing to compare, and a run without any ends early.
  return { requests: errors > 0 ? 0 : oddAgainstNeighbours(progress, stretches), broken: errors };
}

/** New ones are others at any rate: runs of their own, one kind within the other, so that a machine that gets slower does so for both. */
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
  wish: ONE_ROUTE,
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
