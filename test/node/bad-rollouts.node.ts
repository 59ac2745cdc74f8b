// Rollouts that cannot work, under load. Each must stop at the first node: its old Pod goes on beside the new one, the other node stays
// untouched, no client notices, and the cause can be read. Then the rollout is taken back.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NAMESPACE } from '../e2e/workload.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { Bed, NODES } from './bed.ts';
import { whileConnected } from './clients.ts';
import { long } from './long.ts';
import { type PodView, Release, SURGE, type Values } from './release.ts';

const TAKEN_PORT = 17_777;
const TOKEN_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

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
  await release.install(SURGE);
  await release.untilPublished('alpha');
  await release.untilPublished('beta', 1);
});
afterAll(async () => {
  for (const each of holders) await each.stop();
  await bed?.stop();
});

/** Values for Helm, or a patch of the Pod template for what the chart does not offer. */
type Fault =
  | { readonly values: Values }
  | { readonly podSpec: object; readonly prepare?: () => Promise<unknown> };

interface Row {
  readonly title: string;
  readonly fault: Fault;
  /** In the report of `isthmus doctor` inside the new Pod, or in its log if its container does not stay up. */
  readonly doctor?: RegExp;
  readonly log?: RegExp;
  readonly short?: boolean;
}

const container = (change: object): object => ({ containers: [{ name: 'isthmus', ...change }] });
const secret = (name: string, token: string): Promise<unknown> =>
  bed.kubectl(
    '-n',
    NAMESPACE,
    'create',
    'secret',
    'generic',
    name,
    `--from-literal=token=${token}`,
    `--from-literal=namespace=${NAMESPACE}`,
    `--from-literal=ca.crt=${bed.management.controlPlane.ca}`,
  );

const ROWS: readonly Row[] = [
  {
    title: 'a token that the API server rejects',
    fault: {
      prepare: () => secret('wrong-token', 'not-a-token'),
      podSpec: {
        volumes: [{ name: 'credentials', secret: { secretName: 'wrong-token' } }],
        ...container({ volumeMounts: [{ name: 'credentials', mountPath: TOKEN_DIRECTORY, readOnly: true }] }),
      },
    },
    doctor: /^problem +login/m,
    short: true,
  },
  {
    title: 'a flag that does not exist',
    fault: { values: { extraArgs: ['--no-such-flag'] } },
    log: /--no-such-flag/,
    short: true,
  },
  {
    title: 'an account without a needed right',
    fault: {
      prepare: async () => {
        await bed.kubectl('-n', NAMESPACE, 'create', 'serviceaccount', 'weak');
        await bed.kubectl(
          '-n',
          NAMESPACE,
          'create',
          'role',
          'weak',
          '--verb=list,watch',
          '--resource=openstackclusters',
        );
        await bed.kubectl(
          '-n',
          NAMESPACE,
          'create',
          'rolebinding',
          'weak',
          '--role=weak',
          `--serviceaccount=${NAMESPACE}:weak`,
        );
      },
      podSpec: { serviceAccountName: 'weak' },
    },
    doctor: /^problem +rights/m,
  },
  {
    title: 'an API server that does not answer',
    fault: { values: { apiServer: { host: '10.250.0.99', port: 6443 } } },
    doctor: /^problem +api .*10\.250\.0\.99/m,
  },
  {
    title: 'an image that crashes',
    fault: { values: { image: { tag: 'crash' } } },
    log: /crashes on purpose/,
  },
  {
    title: 'a port that another program uses',
    fault: { values: { listen: { port: TAKEN_PORT } } },
    log: new RegExp(`${TAKEN_PORT}`),
  },
];

async function rollOut(fault: Fault): Promise<void> {
  if ('values' in fault) return release.upgrade({ ...SURGE, ...fault.values });
  await fault.prepare?.();
  const patch = JSON.stringify({ spec: { template: { spec: fault.podSpec } } });
  await bed.kubectl('-n', NAMESPACE, 'patch', 'daemonset', 'isthmus', '--type=strategic', '-p', patch);
}

async function takeBack(fault: Fault): Promise<void> {
  if ('values' in fault) await bed.helm('rollback', 'isthmus');
  else await bed.kubectl('-n', NAMESPACE, 'rollout', 'undo', 'daemonset/isthmus');
  await release.until('only healthy Pods of the old template are left', async () => {
    const pods = await release.pods();
    return pods.length === NODES.length && pods.every((each) => each.ready && !each.terminating);
  });
}

/** The new Pod, once the kubelet has found it not ready, or has started it again. */
async function failedPod(before: readonly PodView[]): Promise<PodView> {
  let found: PodView | undefined;
  await release.until('the new Pod is seen to fail', async () => {
    found = (await release.pods()).find(({ name }) => before.every((old) => old.name !== name));
    if (found === undefined || found.ready) return false;
    const events = await release.eventsOn('Pod', found.name);
    return found.restarts > 0 || events.some((each) => each.startsWith('Readiness probe failed'));
  });
  return found as PodView;
}

for (const { title, fault, doctor, log, short = false } of ROWS)
  (short ? test : long)(`a rollout stops at the first node: ${title}`, async () => {
    const before = await release.pods();
    const story = async () => {
      await rollOut(fault);
      const failed = await failedPod(before);
      if (log !== undefined)
        await release.until(`the log says ${log}`, async () => log.test(await release.lastLog(failed.name)));
      if (doctor !== undefined) {
        const { code, text } = await release.execIn(failed.name, 'doctor');
        expect(text).toMatch(doctor);
        expect(code).not.toBe(0);
      }
      const status = bed.kubectl('-n', NAMESPACE, 'rollout', 'status', 'daemonset/isthmus', '--timeout=1s');
      await expect(status).rejects.toThrow('timed out');
      const now = await release.pods();
      expect(now.map(({ name }) => name).sort()).toEqual([failed, ...before].map(({ name }) => name).sort());
      for (const { name } of before)
        expect(now.find((each) => each.name === name)).toMatchObject({
          ready: true,
          terminating: false,
          restarts: 0,
        });
    };
    const done = story();
    const both = await Promise.all([
      whileConnected(bed, 'alpha', `${title}, two nodes`, () => done),
      whileConnected(bed, 'beta', `${title}, one node`, () => done),
    ]);
    for (const seen of both) expect(seen).toMatchObject({ failed: {}, cut: 0 });
    await takeBack(fault);
  });
