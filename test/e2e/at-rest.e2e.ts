// The requests of an idle instance to the API server, counted in the audit log: the same for 5 clusters as for 50.
// With ISTHMUS_WRITE_RESULTS=1 the old proxy is counted too, and the table in bench/results/ is rewritten.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AuditedRequest, auditedRequests, ISTHMUS_USER, isWrite } from './audit.ts';
import { UPSTREAM_USER } from './management-cluster.ts';
import { Site } from './site.ts';
import { Upstream, upstreamMissing } from './upstream.ts';
import { NAMESPACE, type Workload } from './workload.ts';

const RESULTS = fileURLToPath(new URL('../../bench/results/kubernetes-at-rest.md', import.meta.url));
const WRITE = process.env.ISTHMUS_WRITE_RESULTS === '1';
const WINDOW_S = 60;
/** The wait after the last change, until its effects are over. */
const SETTLE_S = 20;
const INSTANCES = 2;
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Calls per minute and instance, by verb and resource. */
type Counts = Readonly<Record<string, number>>;
const rows: string[] = [];

/** Many clusters of one tenant: each has its own network id, and all of them lead to one namespace. */
class CrowdedSite {
  readonly site: Site;
  readonly #shared: Workload;
  readonly #publishers: number;
  #clusters = 0;

  private constructor(site: Site, shared: Workload, publishers: number) {
    this.site = site;
    this.#shared = shared;
    this.#publishers = publishers;
  }

  static async start(publishers: number): Promise<CrowdedSite> {
    const site = await Site.start();
    // The certificate contains a name of every cluster: without one, no kubeconfig is written.
    const options = { name: 'shared', names: [`*.${NAMESPACE}.svc`] };
    return new CrowdedSite(site, await site.addWorkload(options, ['net-1', 'net-2']), publishers);
  }

  async growTo(count: number): Promise<void> {
    const { site } = this;
    for (; this.#clusters < count; this.#clusters += 1) {
      const [name, networkId] = [`c${this.#clusters}`, randomUUID()];
      for (const node of site.instances.keys()) site.networks.addAlias('shared', node, `qdhcp-${networkId}`);
      await site.management.addKubeconfig(name, this.#shared.kubeconfig());
      await site.management.addClusterObject(name, networkId);
    }
    await site.until(
      `${count} clusters are published`,
      async () => (await site.management.names('endpointslices')).length === count * this.#publishers,
    );
    await site.proxiedKubeconfig(`c${count - 1}`);
  }

  /** The time of the last write of Isthmus, without its Leases. */
  #lastWriteMs(): number {
    return auditedRequests(this.site.management.controlPlane.auditLog)
      .filter((each) => each.user === ISTHMUS_USER && isWrite(each) && each.resource !== 'leases')
      .reduce((last, { at }) => Math.max(last, at), 0);
  }

  /** The requests of this user in a minute, per publisher in `publishers`, after everything has settled. */
  async atRest(user: string): Promise<Counts> {
    await pause(SETTLE_S);
    // Writes of the last kubeconfigs and Events may take longer. Counting starts after this time without any write.
    await this.site.until(
      'Isthmus has come to rest',
      async () => {
        await pause(1);
        return Date.now() - this.#lastWriteMs() >= SETTLE_S * 1000;
      },
      300_000,
    );
    const from = Date.now();
    await pause(WINDOW_S);
    const until = Date.now();
    const counts: Record<string, number> = {};
    for (const each of auditedRequests(this.site.management.controlPlane.auditLog)) {
      if (each.user !== user || each.at < from || each.at >= until) continue;
      const what = `${each.verb} ${each.resource.replace(/\?.*/, '')}`;
      counts[what] = (counts[what] ?? 0) + 60 / WINDOW_S / this.#publishers;
    }
    return counts;
  }
}

const sum = (counts: Counts, wanted = (_what: string) => true) =>
  Object.entries(counts).reduce((total, [what, count]) => total + (wanted(what) ? count : 0), 0);
const writes = (counts: Counts) =>
  sum(counts, (what) => isWrite({ verb: what.split(' ')[0] as string } as AuditedRequest));

function tell(who: string, count: number, counts: Counts): void {
  const [calls, written] = [sum(counts).toFixed(0), writes(counts).toFixed(0)];
  rows.push(`| ${who} | ${count} | ${calls} | ${written} |`);
  console.log(
    `${who}, ${count} clusters: ${calls} calls per minute and instance, ${written} writes among them`,
    counts,
  );
}

afterAll(() => {
  if (WRITE && rows.length === 4) writeFileSync(RESULTS, table());
});

describe('Isthmus', () => {
  let crowded: CrowdedSite;
  const measured: Counts[] = [];
  beforeAll(async () => {
    crowded = await CrowdedSite.start(INSTANCES);
    for (const each of crowded.site.instances.values()) each.start();
  });
  afterAll(async () => await crowded?.site.stop());

  test.each([5, 50])(
    'with %i clusters at rest writes only its Lease, and makes few requests',
    async (count) => {
      await crowded.growTo(count);
      const counts = await crowded.atRest(ISTHMUS_USER);
      tell('Isthmus', count, counts);
      measured.push(counts);
      expect(sum(counts, (what) => !/^(list|watch|get) /.test(what) && !what.endsWith(' leases'))).toBe(0);
      expect(writes(counts)).toBeLessThanOrEqual(7);
      expect(sum(counts)).toBeLessThan(20);
    },
  );

  test('makes the same number of requests for 50 clusters as for 5', () => {
    const [few, many] = measured as [Counts, Counts];
    // The server ends each watch after 5 to 10 minutes. This may happen in one window and not in the other.
    expect(Math.abs(sum(many) - sum(few))).toBeLessThan(6);
    expect(Math.abs(writes(many) - writes(few))).toBeLessThan(1.5);
  });
});

describe.runIf(WRITE && upstreamMissing() === null)('magnum-cluster-api-proxy', () => {
  let crowded: CrowdedSite;
  let upstream: Upstream;
  beforeAll(async () => {
    crowded = await CrowdedSite.start(1);
    const { site } = crowded;
    upstream = new Upstream({
      node: 'net-1',
      address: site.instance('net-1').address,
      netnsDirectory: site.networks.netnsDirectory('net-1'),
      kubeconfig: await site.management.upstreamKubeconfig(),
    });
  });
  afterAll(async () => {
    await upstream?.stop();
    await crowded?.site.stop();
  });

  test.each([5, 50])('with %i clusters at rest makes repeated requests for each cluster', async (count) => {
    await crowded.growTo(count);
    const counts = await crowded.atRest(UPSTREAM_USER);
    tell('magnum-cluster-api-proxy 0.38.2', count, counts);
    expect(writes(counts)).toBeGreaterThan(count);
  });
});

const table = (): string => `# Requests of one idle instance to the Kubernetes API

Calls per minute and instance, counted in the audit log of a real kube-apiserver for ${WINDOW_S} s
(\`ISTHMUS_WRITE_RESULTS=1 npm run test:e2e -- at-rest\`): ${INSTANCES} instances of Isthmus, and one of magnum-cluster-api-proxy. Isthmus renews its Lease.
AdditionalListener is not defined here, and Isthmus checks for it two or three times a minute. Each watch restarts every 5 to 10 minutes, which
can add one or two calls.

| | clusters | calls | writes among them |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
