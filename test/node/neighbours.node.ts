// What else happens on a node with a serving Pod: a second program in its container, and a release that is installed again while the Pods
// of the old one still end.
import { afterAll, beforeAll, expect } from 'vitest';
import { Bed, NODES } from './bed.ts';
import { type Seen, whileConnected } from './clients.ts';
import { long } from './long.ts';
import { type PodView, Release, ROLLOUT_MS, SURGE } from './release.ts';

const NOTHING_LOST = { failed: {}, cuts: [] };

let bed: Bed;
let release: Release;

beforeAll(async () => {
  bed = await Bed.start();
  release = new Release(bed);
  await bed.addWorkload('alpha', NODES);
  await bed.addWorkload('beta', ['net-1']);
  await release.install(SURGE);
  await published();
});
afterAll(async () => await bed?.stop());

async function published(): Promise<void> {
  await release.untilPublished('alpha');
  await release.untilPublished('beta', 1);
}

const seenDuring = (story: string, act: () => Promise<void>): Promise<{ alpha: Seen; beta: Seen }> =>
  whileConnected(bed, { story, clusters: ['alpha', 'beta'] }, act);

async function isUntouched(before: PodView): Promise<void> {
  expect(await release.pods()).toContainEqual(before);
}

long(
  'a second program in the container of a serving Pod gets no sockets, ends, and no client notices',
  async () => {
    const before = await release.pod('net-1');
    const seen = await seenDuring('kubectl exec … isthmus run', async () => {
      const { code, text } = await release.execIn(before.name, 'run');
      expect(text).toContain('it is the first process of its container');
      expect(code).not.toBe(0);
    });
    expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
    await isUntouched(before);
  },
);

long(
  'a release that is installed again while its old Pods still end serves without a restart of a container',
  async () => {
    const before = (await release.pods()).map(({ name }) => name);
    const { alpha, beta } = await seenDuring('uninstalled without hooks and installed again', async () => {
      await release.uninstall('--no-hooks');
      await release.install(SURGE);
      await release.until(
        'the old Pods have ended',
        async () => (await release.pods()).every(({ name }) => !before.includes(name)),
        ROLLOUT_MS,
      );
      await published();
    });
    const pods = await release.pods();
    expect(pods.map(({ node }) => node).sort()).toEqual([...NODES]);
    expect(pods.map(({ ready, restarts }) => [ready, restarts])).toEqual(NODES.map(() => [true, 0]));
    for (const { gapSeconds } of [alpha, beta]) expect(gapSeconds).toBeLessThan(60);
  },
);
