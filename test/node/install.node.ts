// The installation of docs/how-to/install/kubernetes.md on real nodes: Helm, the commands that follow, and the variants of the Pods.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NAMESPACE } from '../e2e/workload.ts';
import { Bed, NODES, type NodeName } from './bed.ts';
import { Clients, whileConnected } from './clients.ts';
import { long } from './long.ts';
import { Release } from './release.ts';

const PROFILE = fileURLToPath(new URL('../../deploy/seccomp/isthmus.json', import.meta.url));

let bed: Bed;
let release: Release;

beforeAll(async () => {
  bed = await Bed.start();
  release = new Release(bed);
  await bed.addWorkload('alpha', NODES);
});
afterAll(async () => await bed?.stop());

async function doctorFindsNothing(): Promise<void> {
  for (const node of NODES) {
    const { code, text } = await release.exec(node, 'doctor');
    expect(text).toContain('no problem');
    expect(text).not.toMatch(/^(problem|warning|-)\s/m);
    expect(code).toBe(0);
  }
}

async function clientIsAnswered(): Promise<void> {
  const clients = new Clients(bed.client, await bed.proxiedKubeconfig('alpha'));
  try {
    await clients.more(1);
  } finally {
    await clients.stop();
  }
}

async function clientsAreServed(story: string): Promise<void> {
  const { alpha } = await whileConnected(bed, { story, clusters: ['alpha'] }, async () => {});
  expect(alpha).toMatchObject({ failed: {}, cuts: [] });
}

/** Lines of /proc/<pid>/status of the program on a node. */
async function processOf(node: NodeName): Promise<Record<string, string>> {
  const { machine, runtime } = bed.node(node);
  const pid = await runtime.pid((await release.pod(node)).container);
  const text = await machine.run('cat', `/proc/${pid}/status`);
  return Object.fromEntries(text.split('\n').map((line) => line.split(':\t') as [string, string]));
}

long(
  'without the label of the documentation, Pod Security refuses the Pods and the DaemonSet says why',
  async () => {
    const label = 'pod-security.kubernetes.io/enforce';
    await bed.kubectl('label', 'namespace', NAMESPACE, `${label}=baseline`);
    await release.upgrade();
    await release.until('an event names Pod Security', async () =>
      (await release.eventsOn('DaemonSet')).some((each) => each.includes('violates PodSecurity "baseline')),
    );
    expect(await release.pods()).toEqual([]);
    await bed.helm('uninstall', 'isthmus');
  },
);

test('a release becomes ready on both nodes, publishes the cluster, and doctor, status and top agree', async () => {
  const from = Date.now();
  await release.install();
  await release.untilPublished('alpha');
  const seconds = () => (Date.now() - from) / 1000;
  console.log(`from \`helm upgrade --install\` to slices of both nodes: ${seconds().toFixed(1)} s`);
  await clientIsAnswered();
  console.log(`from \`helm upgrade --install\` to the first answer of a cluster: ${seconds().toFixed(1)} s`);
  const { ISTHMUS_IMAGE_SECONDS: built } = process.env;
  const build = built === undefined ? 'built before this run' : `built in ${built} s`;
  const fromImport = bed.importSeconds + seconds();
  console.log(
    `image ${build}, imported in ${bed.importSeconds.toFixed(1)} s; from its import to the first answer: ${fromImport.toFixed(1)} s`,
  );
  // The title of docs/how-to/install/kubernetes.md.
  expect(fromImport).toBeLessThan(300);
  await doctorFindsNothing();
  const [first] = NODES;
  expect((await release.exec(first, 'status')).text).toMatch(/alpha +serving +ready +proxied/);
  expect((await release.exec(first, 'top')).text).toMatch(/alpha +serving/);
  expect(await bed.kubectl('-n', NAMESPACE, 'get', 'services', '-l', 'isthmus.dev/resource-owner')).toContain(
    'alpha',
  );
  await clientsAreServed('a quiet release on the host network');
});

test('the container has SYS_ADMIN, no way to more privileges, and a seccomp filter', async () => {
  for (const node of NODES)
    expect(await processOf(node)).toMatchObject({
      CapEff: '0000000000200000',
      CapBnd: '0000000000200000',
      NoNewPrivs: '1',
      Seccomp: '2',
    });
});

/** A seccomp profile. The runtime omits a second value of 0. */
const parsed = (json: string): unknown =>
  JSON.parse(json, (key, value) => (key === 'valueTwo' && value === 0 ? undefined : value));

/** The profile that the runtime has given to the container of a node. */
async function seccompOf(node: NodeName): Promise<unknown> {
  const { container } = await release.pod(node);
  const file = `/run/containerd/io.containerd.runtime.v2.task/k8s.io/${container}/config.json`;
  const { linux } = parsed(await bed.node(node).machine.run('cat', file)) as { linux: { seccomp: unknown } };
  return linux.seccomp;
}

/** The error of a call that RuntimeDefault allows and our profile does not. Without the filter the call fails too, with another error. */
async function symlinkError(node: NodeName): Promise<string> {
  const { name } = await release.pod(node);
  const program = "try { fs.symlinkSync('a', '/proc/a') } catch ({ code }) { console.log(code) }";
  return (await release.runIn(name, 'node', '--eval', program)).text.trim();
}

long(
  'our own seccomp profile in the directory of the kubelet is in force on each node, and is enough',
  async () => {
    for (const node of NODES) expect(await symlinkError(node)).not.toBe('ENOSYS');
    for (const node of NODES)
      copyFileSync(PROFILE, join(bed.node(node).machine.disk, 'lib', 'kubelet', 'seccomp', 'isthmus.json'));
    await release.upgrade({ seccomp: { type: 'Localhost' } });
    await release.untilRolledOut();
    for (const node of NODES) {
      expect(await processOf(node)).toMatchObject({ NoNewPrivs: '1', Seccomp: '2' });
      expect(await seccompOf(node)).toEqual(parsed(readFileSync(PROFILE, 'utf8')));
      expect(await symlinkError(node)).toBe('ENOSYS');
    }
    await doctorFindsNothing();
    await clientsAreServed('our own seccomp profile');
  },
);

long(
  'on the network of the Pods the slices contain addresses of the Pods, and clients are served',
  async () => {
    await release.upgrade({ hostNetwork: false });
    await release.untilRolledOut();
    await release.until('the slices contain addresses of the Pods', async () => {
      const slices = await bed.management.slices('alpha');
      return (
        slices.length === NODES.length && slices.every(({ addresses }) => addresses[0]?.startsWith('10.244.'))
      );
    });
    await doctorFindsNothing();
    await clientsAreServed('a quiet release on the network of the Pods');
  },
);
