// Our seccomp profile rejects what it should; traffic.image.ts shows that the program serves under it. RuntimeDefault, the other
// profile that a site may choose, is also sufficient.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PublishSite } from '../support/kubernetes/publish-site.ts';
import { buildProgram } from '../support/native-program.ts';
import { until } from '../support/tcp.ts';
import { Container, type Runtime } from './container.ts';
import { Pod } from './pod.ts';
import { podSettings } from './pod-settings.ts';
import { ourProfile, runtimeDefault } from './seccomp-profile.ts';

const ENOSYS = 38;
const EBADF = 9;
const directory = mkdtempSync(join(tmpdir(), 'isthmus-forbidden-'));

beforeAll(() =>
  buildProgram('plain', join(directory, 'forbidden_calls'), 'test/image/forbidden_calls.cc', '-static'),
);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Publishes a cluster and checks that it answers through the Pod. */
async function serves(site: PublishSite, { isthmus }: Pod): Promise<void> {
  site.add(site.clusters.alpha);
  await site.published('alpha-net-1');
  expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
}

async function errnos(runtime: Runtime, seccomp: object | null): Promise<Record<string, number>> {
  const container = new Container({
    runtime,
    seccomp,
    pod: podSettings(),
    mounts: [{ source: directory, destination: '/tmp' }],
    entrypoint: ['/tmp/forbidden_calls'],
  });
  try {
    const { stdout, stderr } = await container.run();
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as Record<string, number>;
  } finally {
    await container.remove();
  }
}

test.each<Runtime>(['crun', 'runc'])(
  'under our profile with %s no process can mount, trace, load kernel code or change another kind of namespace',
  async (runtime) => {
    const {
      'a TCP socket': tcp,
      'setns of a network namespace': enter,
      ...refused
    } = await errnos(runtime, ourProfile());
    expect(tcp).toBe(0);
    // The filter allows the call, and the kernel rejects it because the descriptor does not exist.
    expect(enter).toBe(EBADF);
    expect(new Set(Object.values(refused)), JSON.stringify(refused)).toEqual(new Set([ENOSYS]));
  },
);

test('without a profile the kernel handles most calls, so the profile was the cause of the rejections', async () => {
  const found = await errnos('crun', null);
  const byKernel = Object.entries(found).filter(([, errno]) => errno !== ENOSYS);
  expect(byKernel.length).toBeGreaterThan(8);
});

test.each<[title: string, seccomp: () => object, flags: readonly string[]]>([
  ['under RuntimeDefault', () => runtimeDefault(podSettings().capabilities), []],
  [
    'with the other engine and the other health check',
    ourProfile,
    ['--engine', 'streams', '--health', 'tls'],
  ],
])('a Pod also serves %s', async (_title, seccomp, flags) => {
  const site = await PublishSite.start();
  const pod = new Pod(site.management, { node: 'net-1', seccomp: seccomp() });
  try {
    await pod.start(...flags);
    await serves(site, pod);
  } finally {
    await pod.remove();
    await site.stop();
  }
});

test('under our profile a Pod takes over the listeners of its predecessor', async () => {
  const site = await PublishSite.start();
  const options = { node: 'net-1', seccomp: ourProfile() };
  const [old, successor] = [new Pod(site.management, options), new Pod(site.management, options)];
  try {
    await old.start();
    await serves(site, old);
    await successor.start();
    expect(successor.isthmus.port).toBe(old.isthmus.port);
    const waits = () => old.isthmus.log.some(({ msg }) => msg.startsWith('waiting for a signal'));
    await until('the old Pod has nothing more to do', waits);
    old.isthmus.signal('SIGTERM'); // as kubelet sends
    expect(await old.isthmus.ended()).toBe(0);
    expect(site.isReady('alpha-net-1')).toBe(true);
    expect(await site.ask(successor.isthmus, site.clusters.alpha)).toContain('alpha');
  } finally {
    await successor.remove();
    await old.remove();
    await site.stop();
  }
});
