// Measures a large site: a thousand clusters, twenty instances. One instance is the real program. The others exist only as their
// objects in the API (slices and renewed Leases), which is all that one instance sees of another.

import { endpointSliceOf, leaseOf, microTime } from '../../src/control/objects/published-objects.ts';
import { Management, NAMESPACE } from '../../test/support/kubernetes/management.ts';
import { rssMb } from './at-rest.ts';
import { controlHeapMb } from './heap.ts';
import type { Row } from './row.ts';
import { seconds } from './statistics.ts';
import { Tenant } from './tenant.ts';

export async function fleet(
  clusters: number,
  instances: number,
  say: (text: string) => void,
): Promise<readonly Row[]> {
  const tenant = new Tenant(clusters);
  await tenant.open();
  const management = await Management.start({ bookmarkIntervalMs: 60_000 });
  const { store } = management.api;
  const others = Array.from({ length: instances - 1 }, (_, i) => `net-${String(i + 2).padStart(2, '0')}`);
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: NAMESPACE };
  let renewing = others;
  const renewer = setInterval(() => {
    for (const instance of renewing)
      store.patch({ ...lease, name: `isthmus-${instance}` }, { spec: { renewTime: microTime(Date.now()) } });
  }, 10_000);
  try {
    say(`${clusters} clusters, ${instances} instances`);
    const now = Date.now();
    for (let i = 1; i <= clusters; i += 1) tenant.addTo(management, i);
    for (const instance of others) {
      const common = { instance, namespace: NAMESPACE, tags: {} };
      const holder = `${instance}/x`;
      store.create(
        leaseOf({ ...common, holder, host: '', acquiredAtMs: now, renewedAtMs: now, transitions: 0 }),
      );
      for (let i = 1; i <= clusters; i += 1)
        store.create(
          endpointSliceOf({
            ...common,
            cluster: `cluster-${i}`,
            owner: null,
            address: '192.0.2.9',
            family: 'IPv4',
            port: 16443,
            nodeName: instance,
            mode: 'lease',
            timestamp: null,
            terminating: false,
          }),
        );
    }
    const isthmus = management.instance('net-01');
    const own = () => management.slices().filter((name) => name.endsWith('-net-01')).length;
    const start = performance.now();
    isthmus.logLevel = 'info';
    await isthmus.start('--advertise-address', '192.0.2.1');
    await patiently('it has converged', () => own() === clusters);
    const convergedMs = performance.now() - start;
    say(`turns until then: ${JSON.stringify(turnBuckets((await isthmus.get('/metrics')).body))}`);
    say(`converged after ${seconds(convergedMs)}; now two instances die`);
    const dead = new Set(others.slice(0, 2));
    renewing = others.filter((instance) => !dead.has(instance));
    const deadFrom = performance.now();
    const left = clusters * (instances - 2);
    await patiently('their slices are deleted', () => management.slices().length === left);
    const collectedMs = performance.now() - deadFrom;
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    const { body } = await isthmus.get('/metrics');
    const p99 = turnP99(body);
    say(
      `turns by duration: ${turnBuckets(body)
        .map(([le, count]) => `≤ ${le} s ${count}`)
        .join(', ')}`,
    );
    const rss = rssMb(isthmus.pid);
    const heap = await controlHeapMb(isthmus.pid);
    return [
      {
        what: `${clusters} clusters × ${instances} instances: start → all published`,
        upstream: 'collapses above ~750 clusters',
        goal: 'converges',
        measured: seconds(convergedMs),
        met: true,
      },
      {
        what: 'the same: two instances die → their slices are deleted',
        upstream: '–',
        goal: '30 s + one pass',
        measured: seconds(collectedMs),
        met: null,
      },
      {
        what: 'the same: p99 of a turn, from the start to the last deletion',
        upstream: '–',
        goal: '< 50 ms',
        measured: `≤ ${p99} ms (upper end of its bucket)`,
        met: p99 <= 50,
      },
      {
        what: 'the same: heap of the control thread after a garbage collection',
        upstream: '–',
        goal: '< 150 MB',
        measured: `${heap.toFixed(0)} MB; ${rss.toFixed(0)} MB resident in all`,
        met: heap < 150,
      },
    ];
  } finally {
    clearInterval(renewer);
    await management.stop();
    await tenant.close();
  }
}

/** Returns the upper bound of the bucket that contains the p99. */
function turnP99(metrics: string): number {
  const buckets = turnBuckets(metrics);
  const total = buckets.at(-1)?.[1] ?? 0;
  const found = buckets.find(([, count]) => count >= total * 0.99);
  return Number(found?.[0]) * 1000;
}

/** The buckets are cumulative: each count includes all faster turns. */
function turnBuckets(metrics: string): (readonly [le: string, count: number])[] {
  const lines = metrics.matchAll(/^isthmus_control_turn_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
  return Array.from(lines, ([, le = '', count]) => [le, Number(count)] as const);
}

/** Polls only once per second: scanning twenty thousand objects costs the API, which runs in this process, more than serving them. */
async function patiently(what: string, condition: () => boolean): Promise<void> {
  for (let i = 0; i < 180; i += 1) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error(`waited three minutes until ${what}`);
}
