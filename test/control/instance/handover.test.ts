// Two Pods of one DaemonSet with surge, on one host's network. The new Pod gets the listening sockets from the old one, clients see no
// interruption, and the published objects do not change. The built program, the embedded management API, real namespaces.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { freePort, until } from '../../support/tcp.ts';
import { ClientTraffic } from '../../support/traffic.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const NODE = 'net-1';
const SLICE = `alpha-${NODE}`;

/** The first process of a PID namespace of its own, as in a container. */
const IN_CONTAINER = ['unshare', '--pid', '--fork', '--kill-child'];

interface Stage {
  readonly site: PublishSite;
  readonly old: Isthmus;
  readonly traffic: ClientTraffic;
  readonly health: number;
  /** Every observed state of the slice: its version, or that it was missing or not ready. */
  readonly seen: readonly string[];
  successor(
    environment?: Record<string, string>,
    within?: readonly string[],
  ): { pod: Isthmus; serving: Promise<void> };
}

async function stage({
  within = [],
  environment: own = {},
}: {
  readonly within?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
} = {}): Promise<Stage> {
  const site = await PublishSite.start();
  cleanups.push(() => site.stop());
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-handover-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const health = await freePort();
  const flags = ['--handover', directory, '--health-listen', `127.0.0.1:${health}`];
  site.add(site.clusters.alpha);
  const old = site.management.instance(NODE);
  old.within = within;
  Object.assign(old.environment, own);
  await old.start(...FAST, ...flags);
  await site.published(SLICE);
  await until('the kubeconfig leads here', () =>
    site.management.kubeconfig('alpha').includes(`alpha.${NAMESPACE}:6443`),
  );
  const traffic = new ClientTraffic({ port: old.port, cluster: site.clusters.alpha });
  cleanups.push(() => traffic.stop());
  await traffic.residents(4);
  traffic.visitors(4);
  await traffic.goesOn(5);
  const seen = site.watch(() =>
    site.isReady(SLICE) ? (site.slice(SLICE)?.metadata.resourceVersion ?? 'gone') : 'not ready',
  );
  return {
    site,
    old,
    traffic,
    health,
    seen,
    successor: (environment = {}, inside = []) => {
      const pod = site.management.instance(NODE);
      Object.assign(pod.environment, environment);
      pod.within = inside;
      const serving = pod.start(...FAST, ...flags);
      serving.catch(() => {}); // a test may end it earlier
      return { pod, serving };
    },
  };
}

const lease = ({ site }: Stage) =>
  (site.management.get('coordination.k8s.io/v1', 'Lease', `isthmus-${NODE}`)?.spec ?? {}) as {
    holderIdentity?: string;
    leaseTransitions?: number;
  };

test('an upgrade interrupts no client and does not change the slice', async () => {
  const here = await stage();
  const { site, old, traffic, seen } = here;
  const writes = site.writesOf(NODE);
  const holder = lease(here).holderIdentity;
  const { pod, serving } = here.successor();
  await serving;
  expect(pod.port).toBe(old.port);
  await until('the Lease changes hands', () => lease(here).holderIdentity !== holder);
  expect(lease(here).leaseTransitions).toBe(1);
  // The kubelet does this once the new Pod is ready.
  old.signal('SIGTERM');
  await traffic.goesOn(10);
  expect(traffic.residing).toBe(4);
  // The control thread reports this, and it may be busy.
  await expect
    .poll(async () => await pod.status())
    .toMatchObject({ ready: true, kubernetes: { lease: 'held' } });
  await traffic.stop();
  expect(await old.ended()).toBe(0);
  expect(traffic.problems).toEqual([]);
  expect(new Set(seen)).toHaveLength(1);
  expect(new Set(seen)).not.toContain('not ready');
  expect(site.writesOf(NODE)).toEqual(writes);
});

test('the health port is not ready while the successor starts, and a SIGTERM in that time withdraws nothing', async () => {
  const here = await stage();
  const { old, traffic, seen, health } = here;
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${health}/readyz`);
    return { status: response.status, text: await response.text() };
  };
  expect((await readyz()).status).toBe(200);
  // A slow successor: it needs twenty passed checks first, and is paused during the assertions.
  const { pod, serving } = here.successor({ ISTHMUS_HEALTH_RISE: '20' });
  let answer = await readyz();
  await until('the probe meets the successor', async () => {
    answer = await readyz();
    return answer.status === 503;
  });
  pod.signal('SIGSTOP');
  expect(answer.text).toMatch(/^not ready: the successor, version \S+, is starting$/m);
  old.signal('SIGTERM');
  await until('it waits', () =>
    old.log.some(({ msg }) => msg === 'waiting for the successor that is starting'),
  );
  await traffic.goesOn(10);
  pod.signal('SIGCONT');
  await serving;
  await until('it is ready', async () => (await readyz()).status === 200);
  await traffic.goesOn(10);
  await traffic.stop();
  expect(await old.ended()).toBe(0);
  expect(traffic.problems).toEqual([]);
  expect(new Set(seen)).toHaveLength(1);
});

test('a successor that is killed while it starts changes nothing, and the next one takes over', async () => {
  const here = await stage();
  const { old, traffic, seen } = here;
  const first = here.successor({ ISTHMUS_HEALTH_RISE: '50' });
  await until('it has the sockets', () => first.pod.log.some(({ msg }) => msg === 'taking over'));
  first.pod.signal('SIGKILL');
  await until('the old one notices', () =>
    old.log.some(({ msg }) => msg === 'successor exited before it served: this process continues to serve'),
  );
  await traffic.goesOn(10);
  await here.successor().serving;
  await traffic.goesOn(10);
  await traffic.stop();
  expect(await old.ended()).toBe(0);
  expect(traffic.problems).toEqual([]);
  expect(new Set(seen)).toHaveLength(1);
});

test('when the old process is killed during a handover, clients wait, the slice stays, and the successor takes the Lease', async () => {
  const here = await stage();
  const { site, old, seen } = here;
  await here.traffic.stop();
  const { pod, serving } = here.successor({ ISTHMUS_HEALTH_RISE: '20' });
  await until('it has the sockets', () => pod.log.some(({ msg }) => msg === 'taking over'));
  old.signal('SIGKILL');
  await old.ended();
  const waiting = new ClientTraffic({ port: old.port, cluster: site.clusters.alpha });
  cleanups.push(() => waiting.stop());
  waiting.visitors(4);
  await serving;
  await waiting.goesOn(5);
  await waiting.stop();
  expect(waiting.problems).toEqual([]);
  await until('it holds the Lease', async () => (await pod.status()).kubernetes?.lease === 'held');
  expect(new Set(seen)).toHaveLength(1);
});

const fatal = ({ log }: Isthmus) => log.find(({ level }) => level === 'fatal');

test('a second process in the container of the serving one gets no sockets, and one in another container does', async () => {
  const here = await stage({ within: IN_CONTAINER });
  const { old, traffic, seen } = here;
  const [first] = readFileSync(`/proc/${old.pid}/task/${old.pid}/children`, 'utf8').split(' ');
  // As `kubectl exec <pod> -- isthmus run`: the process has the environment of the container, and so the same handover directory.
  const second = here.successor({}, ['nsenter', `--target=${first}`, '--pid']);
  await expect(second.serving).rejects.toThrow('isthmus ended');
  expect(await second.pod.ended()).toBe(1);
  expect(fatal(second.pod)).toMatchObject({
    code: 'EHANDOVER',
    msg: expect.stringMatching(/^the process that serves here: it is the first process of its container/),
  });
  expect(old.log).toContainEqual(expect.objectContaining({ level: 'warn', msg: 'handover rejected' }));
  await traffic.goesOn(10);
  await here.successor({}, IN_CONTAINER).serving;
  await traffic.goesOn(10);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
  expect(new Set(seen)).toHaveLength(1);
});

test('an older Pod, or one of another DaemonSet, gets no sockets unless it is started with --take-over', async () => {
  const pod = (text: string) => ({ ISTHMUS_DAEMONSET: text });
  const here = await stage({ environment: pod('isthmus/isthmus:8') });
  const { traffic, seen } = here;
  for (const [text, reason] of [
    ['isthmus/isthmus:7', /newer Pod of DaemonSet isthmus\/isthmus \(generation 8, the successor has 7\)/],
    ['isthmus/other:9', /Pod of DaemonSet isthmus\/isthmus, and the successor is one of isthmus\/other/],
  ] as const) {
    const refused = here.successor(pod(text));
    await expect(refused.serving).rejects.toThrow('isthmus ended');
    expect(await refused.pod.ended()).toBe(1);
    expect(fatal(refused.pod)).toMatchObject({ code: 'EHANDOVER', msg: expect.stringMatching(reason) });
  }
  await traffic.goesOn(10);
  await here.successor({ ...pod('isthmus/isthmus:7'), ISTHMUS_TAKE_OVER: 'true' }).serving;
  await traffic.goesOn(10);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
  expect(new Set(seen)).toHaveLength(1);
});
