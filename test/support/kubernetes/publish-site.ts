// A site for tests of published objects: two reachable clusters in real namespaces, the in-memory management API, and shared
// queries.
import { get } from 'node:https';
import type { StoredObject } from '../../fake-kube-api/stored-object.ts';
import type { Isthmus } from '../isthmus.ts';
import { until, WAIT_MS } from '../tcp.ts';
import { ADDRESS, type TestCluster, TwoClusters } from '../two-clusters.ts';
import { Management, NAMESPACE } from './management.ts';

export const FAST_TIMES = ['--health-interval', '200ms', '--propagation-wait', '300ms'] as const;
export const FAST = ['--advertise-address', '192.0.2.1', ...FAST_TIMES] as const;

const SLICE = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: NAMESPACE } as const;

export class PublishSite {
  readonly clusters = new TwoClusters();
  readonly management: Management;
  readonly #watching: (() => void)[] = [];

  private constructor(management: Management) {
    this.management = management;
  }

  /** With `withoutNetns` the test starts `clusters` later. */
  static async start({
    withoutNetns = false,
    ...options
  }: Parameters<typeof Management.start>[0] & {
    readonly withoutNetns?: boolean;
  } = {}): Promise<PublishSite> {
    const site = new PublishSite(await Management.start(options));
    if (!withoutNetns) await site.clusters.start();
    return site;
  }

  get api() {
    return this.management.api;
  }

  add(...clusters: readonly TestCluster[]): void {
    for (const cluster of clusters) this.management.addCluster({ ...cluster, address: ADDRESS });
  }

  async instance(node: string, ...flags: readonly string[]): Promise<Isthmus> {
    const isthmus = this.management.instance(node);
    await isthmus.start(...FAST, ...flags);
    return isthmus;
  }

  slice(name: string): StoredObject | null {
    return this.api.store.get({ ...SLICE, name });
  }

  async published(...names: readonly string[]): Promise<void> {
    await until(`${names} are published`, () => names.every((name) => this.isReady(name)));
  }

  isReady(name: string): boolean {
    const [endpoint] = (this.slice(name)?.endpoints ?? []) as { conditions?: { ready?: boolean } }[];
    return endpoint?.conditions?.ready === true;
  }

  /** Any slice of the cluster that receives clients. */
  isReachable(cluster: string): boolean {
    return this.api.store
      .list(SLICE)
      .some(
        ({ metadata, endpoints }) =>
          metadata.labels?.['kubernetes.io/service-name'] === cluster &&
          ((endpoints ?? []) as { conditions?: { ready?: boolean } }[]).some(
            ({ conditions }) => conditions?.ready !== false,
          ),
      );
  }

  /** Evaluates a query now and after each change of an object, and keeps each result that is not null. It misses no short-lived state. */
  watch<T>(question: () => T | null): readonly T[] {
    const answers: T[] = [];
    const ask = () => {
      const answer = question();
      if (answer !== null) answers.push(answer);
    };
    ask();
    this.#watching.push(this.api.store.subscribe(ask));
    return answers;
  }

  /** Resolves when these instances write nothing for this time. An instance that keeps writing never settles. */
  async atRest(milliseconds: number, ...nodes: readonly string[]): Promise<void> {
    const writes = () => JSON.stringify(nodes.map((node) => this.writesOf(node)));
    await until(`${nodes} write nothing for ${milliseconds} ms`, async () => {
      const before = writes();
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      return writes() === before;
    });
  }

  ask(isthmus: Isthmus, { name, certificate }: TestCluster): Promise<string> {
    return new Promise((resolve, reject) => {
      const servername = `${name}.${NAMESPACE}`;
      const options = {
        host: isthmus.host,
        port: isthmus.port,
        servername,
        ca: certificate.cert,
        agent: false,
      };
      get(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve(text));
      }).on('error', reject);
    });
  }

  /** Requests of one instance that change something, except its Lease and its Events. */
  writesOf(node: string): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.management.requestsOf(node)).filter(
        ([what]) =>
          /^(create|patch|update|delete) /.test(what) &&
          !/ (leases|events|selfsubjectaccessreviews)$/.test(what),
      ),
    );
  }

  async problem(isthmus: Isthmus, reason: RegExp): Promise<string> {
    let found: string | undefined;
    const end = performance.now() + WAIT_MS;
    while (found === undefined) {
      const { problems } = await isthmus.status();
      found = problems.map((each) => `${each.origin}: ${each.reason}`).find((text) => reason.test(text));
      if (found === undefined && performance.now() > end)
        throw new Error(`no problem like ${reason} in ${JSON.stringify(problems)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return found;
  }

  async untilWell(isthmus: Isthmus, milliseconds = WAIT_MS): Promise<void> {
    const end = performance.now() + milliseconds;
    for (;;) {
      const { problems, kubernetes } = await isthmus.status();
      if (problems.length === 0 && kubernetes?.staleSince === null) return;
      if (performance.now() > end) throw new Error(`still: ${JSON.stringify(problems)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async stop(): Promise<void> {
    for (const end of this.#watching.splice(0)) end();
    await this.management.stop();
    await this.clusters.stop();
  }
}
