// Two processes of one node that share no socket, like a DaemonSet with surge where each Pod has its own address.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { FAST_TIMES, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

let site: PublishSite;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
});
afterAll(() => site.stop());

/** Two Pods of one DaemonSet: each has its own directory. */
const pods = (node: string) =>
  [7, 8].map((generation) => {
    const isthmus = site.management.instance(node);
    isthmus.environment.ISTHMUS_DAEMONSET = `isthmus/isthmus:${generation}`;
    isthmus.environment.ISTHMUS_LOCK_DIR += `-${generation}`;
    return isthmus;
  }) as [Isthmus, Isthmus];

const TIMES = ['--health-interval', '200ms', '--propagation-wait', '4s'];
/** The delay of a kube-proxy. */
const LATE_MS = 1000;

test('the superseded process serves clients of a slow kube-proxy, and then ends', async () => {
  const [older, younger] = pods('net-1');
  await older.start('--advertise-address', '192.0.2.1', ...TIMES);
  await site.published('alpha-net-1');
  const ports = site.watch(() => {
    const [first] = (site.slice('alpha-net-1')?.ports ?? []) as { port: number }[];
    return first === undefined ? null : { at: performance.now(), port: first.port };
  });
  const gone = site.watch(() => (site.isReady('alpha-net-1') ? null : 'no endpoint is ready'));
  const answers: string[] = [];
  let done = false;
  const client = (async () => {
    while (!done) {
      const known = ports.findLast(({ at }) => at <= performance.now() - LATE_MS)?.port ?? older.port;
      const there = known === older.port ? older : younger;
      answers.push(
        await site.ask(there, site.clusters.alpha).then(
          () => (there === older ? 'older' : 'younger'),
          (error: NodeJS.ErrnoException) => `${error.code}`,
        ),
      );
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  try {
    await younger.start('--advertise-address', '192.0.2.2', ...TIMES);
    expect(await older.ended()).toBe(10);
    await until('clients go to the younger', () => answers.includes('younger'));
  } finally {
    done = true;
    await client;
  }
  expect(new Set(answers)).toEqual(new Set(['older', 'younger']));
  expect(gone).toEqual([]);
  expect(site.slice('alpha-net-1')).toMatchObject({ endpoints: [{ addresses: ['192.0.2.2'] }] });
});

test('a superseded process that is the first of its container waits for its signal, and stays live for the kubelet until then', async () => {
  const [older, younger] = pods('net-2');
  older.within = ['unshare', '--pid', '--fork', '--kill-child'];
  await older.start('--advertise-address', '192.0.2.1', ...FAST_TIMES);
  await site.published('alpha-net-2');
  await younger.start('--advertise-address', '192.0.2.2', ...FAST_TIMES);
  const waits = () => older.log.some(({ msg }) => msg.startsWith('waiting for a signal'));
  await until('the older has nothing more to do', waits);
  expect(await older.get('/livez')).toMatchObject({ status: 200 });
  expect(await older.get('/readyz')).toMatchObject({ status: 503 });
  expect(await older.get('/metrics')).toMatchObject({ status: 200 });
  expect(site.isReady('alpha-net-2')).toBe(true);
  const [first] = readFileSync(`/proc/${older.pid}/task/${older.pid}/children`, 'utf8').split(' ');
  process.kill(Number(first), 'SIGTERM');
  expect(await older.ended()).toBe(0); // its supervisor asked for the end
});
