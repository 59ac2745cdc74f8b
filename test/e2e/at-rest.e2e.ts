// What an instance asks of the API server while nothing happens, counted in the audit log: the same for 5 clusters as for 50.
// With ISTHMUS_WRITE_RESULTS=1 the table in bench/results/ is written anew.
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AuditedRequest, auditedRequests, ISTHMUS_USER, isWrite } from './audit.ts';
import { Site } from './site.ts';
import type { Workload } from './workload.ts';

const RESULTS = fileURLToPath(new URL('../../bench/results/kubernetes-at-rest.md', import.meta.url));
const WINDOW_S = 60;
/** After the last change: what belongs to it is over. */
const SETTLE_S = 20;
const INSTANCES = 2;

let site: Site;
let shared: Workload;
let clusters = 0;
const measured = new Map<number, Record<string, number>>();

beforeAll(async () => {
  site = await Site.start({
    modes: ['nftables'],
    nodes: [
      { name: 'net-1', privileges: 'pod' },
      { name: 'net-2', privileges: 'systemd' },
    ],
  });
  shared = await site.addWorkload({ name: 'shared' }, ['net-1', 'net-2']);
  for (const each of site.instances.values()) each.start();
}, 180_000);
afterAll(async () => {
  if (process.env.ISTHMUS_WRITE_RESULTS === '1' && measured.size === 2) writeTable();
  await site?.stop();
});

/** Clusters of the same tenant: each has a network id of its own, and all of them lead to one namespace. */
async function growTo(count: number): Promise<void> {
  for (; clusters < count; clusters += 1) {
    const networkId = randomUUID();
    for (const node of site.instances.keys()) site.networks.addAlias('shared', node, `qdhcp-${networkId}`);
    await site.management.addKubeconfig(`c${clusters}`, shared.kubeconfig());
    await site.management.addClusterObject(`c${clusters}`, networkId);
  }
  await site.until(
    `${count} clusters are published by both`,
    async () => (await site.management.names('endpointslices')).length === count * INSTANCES,
    120_000,
  );
  await site.proxiedKubeconfig(`c${count - 1}`);
}

/** Calls per minute and instance, by what they are. */
function perMinute(requests: readonly AuditedRequest[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verb, resource } of requests) {
    const what = `${verb} ${resource.replace(/\?.*/, '')}`;
    counts[what] = (counts[what] ?? 0) + 60 / WINDOW_S / INSTANCES;
  }
  return counts;
}

const sum = (counts: Readonly<Record<string, number>>, wanted = (_what: string) => true) =>
  Object.entries(counts).reduce((total, [what, count]) => total + (wanted(what) ? count : 0), 0);
const writes = (counts: Readonly<Record<string, number>>) =>
  sum(counts, (what) => isWrite({ verb: what.split(' ')[0] as string } as AuditedRequest));

test.each([5, 50])(
  '%i clusters at rest: nothing is written but the Lease, and next to nothing is asked',
  async (count) => {
    await growTo(count);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_S * 1000));
    const from = Date.now();
    await new Promise((resolve) => setTimeout(resolve, WINDOW_S * 1000));
    const until = Date.now();
    const requests = auditedRequests(site.management.controlPlane.auditLog).filter(
      ({ user, at }) => user === ISTHMUS_USER && at >= from && at < until,
    );
    const counts = perMinute(requests);
    measured.set(count, counts);
    console.log(
      `${count} clusters: ${sum(counts).toFixed(1)} calls a minute and instance, ${writes(counts).toFixed(1)} of them writes`,
      counts,
    );
    expect(requests.filter((each) => isWrite(each) && each.resource !== 'leases')).toEqual([]);
    expect(writes(counts)).toBeLessThanOrEqual(7);
    expect(sum(counts)).toBeLessThan(20);
  },
  400_000,
);

test('50 clusters cost what 5 cost', () => {
  const [few, many] = [measured.get(5), measured.get(50)];
  if (few === undefined || many === undefined) throw new Error('not measured');
  // A watch that the server ends, as it does every 5 to 10 minutes, may fall into one window and not into the other.
  expect(Math.abs(sum(many) - sum(few))).toBeLessThan(6);
  expect(Math.abs(writes(many) - writes(few))).toBeLessThan(1.5);
});

function writeTable(): void {
  const row = (count: number, counts: Readonly<Record<string, number>>) =>
    `| Isthmus, ${count} clusters | ${sum(counts).toFixed(1)} | ${writes(counts).toFixed(1)} |`;
  const text = `# What one instance asks of the Kubernetes API at rest

From the audit log of a real kube-apiserver (\`ISTHMUS_WRITE_RESULTS=1 npm run test:e2e -- at-rest\`), ${INSTANCES} instances, ${WINDOW_S} s each,
per instance and minute.

| | calls | of them writes |
| --- | --- | --- |
${[...measured].map(([count, counts]) => row(count, counts)).join('\n')}
| magnum-cluster-api-proxy 0.38.2, 10 clusters | 264 | 60 |
| magnum-cluster-api-proxy 0.38.2, 50 clusters | 1020 | 250 |

The writes are the renewals of the Lease. magnum-cluster-api-proxy was measured in the same way, one instance on its own.
`;
  mkdirSync(dirname(RESULTS), { recursive: true });
  writeFileSync(RESULTS, text);
}
