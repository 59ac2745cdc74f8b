// Rollouts that cannot work, under load. Each must stop at the first node: its old Pod goes on beside the new one, the other node stays
// untouched, no client notices, and the cause can be read. Then the rollout is taken back.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NAMESPACE } from '../e2e/workload.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { Bed, NODES } from './bed.ts';
import { type Seen, type StoryOptions, whileConnected } from './clients.ts';
import {
  type Change,
  CRASHES_WHEN_READY,
  FAULTS,
  type Fault,
  NO_NETNS,
  TAKEN_PORT,
  WRONG_TOKEN,
} from './faults.ts';
import { long } from './long.ts';
import { ONE_AT_A_TIME, type PodView, Release, ROLLOUT_MS, SURGE, type Values } from './release.ts';

let bed: Bed;
let release: Release;
let holders: NetnsServer[] = [];

beforeAll(async () => {
  bed = await Bed.start();
  release = new Release(bed);
  await bed.addWorkload('alpha', NODES);
  await bed.addWorkload('beta', ['net-1']);
  holders = await Promise.all(
    NODES.map((node) => NetnsServer.start(node, 'silent', '0.0.0.0', `${TAKEN_PORT}`)),
  );
  await installed(SURGE);
});
afterAll(async () => {
  for (const each of holders) await each.stop();
  await bed?.stop();
});

async function installed(values: Values): Promise<void> {
  await release.install(values);
  await release.untilOldPodsAreGone();
  await release.untilPublished('alpha');
  await release.untilPublished('beta', 1);
}

async function rollOut(change: Change, values: Values): Promise<void> {
  if ('values' in change) return release.upgrade({ ...values, ...change.values });
  await change.prepare?.(bed);
  const patch = JSON.stringify({ spec: { template: { spec: change.podSpec } } });
  await bed.kubectl('-n', NAMESPACE, 'patch', 'daemonset', 'isthmus', '--type=strategic', '-p', patch);
}

/** Clients connect to the clusters while this change is rolled out and `act` runs. Then the change is taken back. */
async function whileRolledOut<Name extends string>(
  { change }: Fault,
  values: Values,
  options: StoryOptions<Name>,
  act: (before: readonly PodView[]) => Promise<void>,
): Promise<Readonly<Record<Name, Seen>>> {
  await release.untilAvailable();
  try {
    return await whileConnected(bed, options, async () => {
      const before = await release.pods();
      await rollOut(change, values);
      await act(before);
    });
  } finally {
    if ('values' in change) await bed.helm('rollback', 'isthmus');
    else await bed.kubectl('-n', NAMESPACE, 'rollout', 'undo', 'daemonset/isthmus');
    // The Pods that the rollout did not touch keep the number of their template.
    await release.until(
      'only healthy Pods are left',
      async () => {
        const pods = await release.pods();
        return pods.length === NODES.length && pods.every(({ ready, terminating }) => ready && !terminating);
      },
      ROLLOUT_MS,
    );
  }
}

/** More probes than a new Pod needs: it waits ten seconds at most for its first health checks. */
const FAILED_PROBES = 3;

/** The new Pod, once the kubelet has found it not ready again and again, or has started it again. */
async function failedPod(before: readonly PodView[]): Promise<PodView> {
  let found: PodView | undefined;
  await release.until('the new Pod is seen to fail', async () => {
    found = (await release.pods()).find(({ name }) => before.every((old) => old.name !== name));
    if (found === undefined || found.ready) return false;
    const failures = (await release.eventsOn('Pod', found.name)).filter((each) =>
      each.startsWith('Readiness probe failed'),
    );
    return found.restarts > 0 || failures.length >= FAILED_PROBES;
  });
  return found as PodView;
}

/** The Pod that does not become ready. An operator can read its cause. */
async function explainedPod({ log, doctor }: Fault, before: readonly PodView[]): Promise<PodView> {
  const failed = await failedPod(before);
  // A program that waits for a port ends after a minute: the doctor comes first.
  if (doctor !== undefined) {
    const { code, text } = await release.execIn(failed.name, 'doctor');
    expect(text).toMatch(doctor);
    expect(code).not.toBe(0);
  }
  if (log !== undefined)
    await release.until(
      `the log says ${log}`,
      async () => log.test(await release.lastLog(failed.name)),
      120_000,
    );
  return failed;
}

/** The DaemonSet controller has decided with the newest template, and shows these numbers. */
async function daemonSetShows(numbers: object): Promise<void> {
  const { metadata, status } = await release.daemonSet();
  // The API server omits a number that is 0.
  expect({ updatedNumberScheduled: 0, numberUnavailable: 0, ...status }).toMatchObject({
    observedGeneration: metadata.generation,
    desiredNumberScheduled: NODES.length,
    ...numbers,
  });
}

/** These Pods, and no others, are beside the one that failed. */
async function onlyTheseServe(pods: readonly PodView[], failed: PodView): Promise<void> {
  const now = await release.pods();
  expect(now.map(({ name }) => name).sort()).toEqual([failed, ...pods].map(({ name }) => name).sort());
  expect(now.find(({ name }) => name === failed.name)?.ready).toBe(false);
  for (const { name } of pods)
    expect(now.find((each) => each.name === name)).toMatchObject({
      ready: true,
      terminating: false,
      restarts: 0,
    });
}

/** How long a rollout that has stopped is watched, and how often. */
const HOLD_MS = 30_000;
const SAMPLE_MS = 2000;

/** Looks at the Pods again and again until the time is over. Returns the number of looks. */
async function watched(milliseconds: number, look: () => Promise<void>): Promise<number> {
  const end = performance.now() + milliseconds;
  for (let looks = 1; ; looks += 1) {
    await look();
    if (performance.now() > end) return looks;
    await sleep(SAMPLE_MS);
  }
}

interface StopOptions {
  readonly story: string;
  readonly values: Values;
  readonly holdMs?: number;
}

/** With a surge each node keeps its old Pod. The DaemonSet counts the oldest Pod of a node only. */
async function stopsBesideTheOldPod(fault: Fault, options: StopOptions): Promise<void> {
  const { story, values, holdMs = HOLD_MS } = options;
  const clusters = ['alpha', 'beta'] as const;
  const seen = await whileRolledOut(fault, values, { story, clusters }, async (before) => {
    const failed = await explainedPod(fault, before);
    const [updatedNumberScheduled, numberReady, numberUnavailable] = [0, NODES.length, 0];
    await daemonSetShows({ updatedNumberScheduled, numberReady, numberUnavailable });
    const looks = await watched(holdMs, () => onlyTheseServe(before, failed));
    console.log(`${story}: ${looks} looks within ${holdMs / 1000} s found the old Pods ready`);
  });
  for (const each of Object.values(seen)) expect(each).toMatchObject({ failed: {}, cuts: [] });
}

for (const fault of FAULTS)
  (fault.short ? test : long)(`a rollout stops at the first node: ${fault.title}`, () =>
    stopsBesideTheOldPod(fault, { story: fault.title, values: SURGE }),
  );

long(
  `a rollout that is left alone for longer than the readiness probe waits stays at the first node: ${WRONG_TOKEN.title}`,
  () => stopsBesideTheOldPod(WRONG_TOKEN, { story: 'eleven minutes', values: SURGE, holdMs: 11 * 60_000 }),
  20 * 60_000,
);

long('a version that crashes soon after it was ready stops at the first node', async () => {
  const fault: Fault = { title: 'crashes after it was ready', change: CRASHES_WHEN_READY };
  const options = { story: fault.title, clusters: ['alpha', 'beta'] } as const;
  let failedNode = '';
  const { alpha, beta } = await whileRolledOut(fault, SURGE, options, async (before) => {
    const find = async () =>
      (await release.pods()).find(({ name }) => before.every((old) => old.name !== name));
    await release.until('the new Pod is ready', async () => (await find())?.ready === true);
    await release.until('the new Pod has crashed', async () => ((await find())?.restarts ?? 0) > 0);
    const failed = (await find()) as PodView;
    failedNode = failed.node;
    const others = before.filter(({ node }) => node !== failed.node);
    await watched(2 * HOLD_MS, async () => {
      const now = await release.pods();
      for (const other of others) expect(now.filter(({ node }) => node === other.node)).toEqual([other]);
    });
  });
  // The sockets of the first node end with the program. The other node serves the clients.
  expect(alpha.gapSeconds).toBeLessThan(10);
  // net-1 alone reaches beta. Its clients notice nothing of a failure of net-2, and they are refused after a failure of net-1.
  if (failedNode === 'net-1') expect(beta.failed).not.toEqual({});
  else expect(beta).toMatchObject({ failed: {}, cuts: [] });
});

long(`on the network of the Pods a rollout stops at the first node: ${NO_NETNS.title}`, async () => {
  const values = { hostNetwork: false };
  await installed(values);
  await stopsBesideTheOldPod(NO_NETNS, { story: `on the network of the Pods: ${NO_NETNS.title}`, values });
});

long(`one node at a time, a rollout stops at the first node: ${NO_NETNS.title}`, async () => {
  await installed(ONE_AT_A_TIME);
  const options = { story: `one node at a time: ${NO_NETNS.title}`, clusters: ['alpha'] } as const;
  const { alpha } = await whileRolledOut(NO_NETNS, ONE_AT_A_TIME, options, async (before) => {
    const failed = await explainedPod(NO_NETNS, before);
    await daemonSetShows({ updatedNumberScheduled: 1, numberReady: 1, numberUnavailable: 1 });
    const untouched = before.filter(({ node }) => node !== failed.node);
    await watched(HOLD_MS, () => onlyTheseServe(untouched, failed));
  });
  expect(alpha.failed).toEqual({});
});
