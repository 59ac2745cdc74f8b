// The main story of the demo, step by step, from the tenants' networks to an orderly stop of the proxy. Each sentence with a tick
// is checked before it is printed.

import { neededRights } from '../src/control/objects/needed-rights.ts';
import { type Answer, askServer, type DemoClient, statusOf } from './demo-client.ts';
import { clusterKubeconfig } from './demo-kubeconfig.ts';
import {
  type DemoManagement,
  DIRECT_SERVER,
  NAMESPACE,
  objectName,
  RIGHTS_SETTINGS,
} from './demo-management.ts';
import { type Narrator, seconds } from './demo-narrator.ts';
import { type DemoProxy, PROXY_PORT } from './demo-proxy.ts';
import { API_PORT, type DemoCluster, type DemoWorld, NODE_ADDRESS, SHARED_ADDRESS } from './demo-world.ts';

export interface DemoParts {
  readonly narrator: Narrator;
  readonly world: DemoWorld;
  readonly management: DemoManagement;
  readonly client: DemoClient;
  readonly clusters: Readonly<Record<'alpha' | 'beta' | 'gamma', DemoCluster>>;
}

export const NODE = 'net-1';
/** The label that `--node-selector` requires in this demo. */
export const NODE_LABEL = 'example.com/network-node';
const RULES = neededRights(RIGHTS_SETTINGS).length;
const HERE = { address: NODE_ADDRESS, port: PROXY_PORT };
const serverOf = (cluster: string) => `https://${cluster}.${NAMESPACE}:6443`;

export class DemoStory {
  readonly #parts: DemoParts;

  constructor(parts: DemoParts) {
    this.#parts = parts;
  }

  async tenants(): Promise<void> {
    const { narrator, world, clusters } = this.#parts;
    narrator.step(
      'Two tenants, one address',
      'Each has a Kubernetes cluster without a floating IP. The two networks are independent, so both API',
      'servers have the same private address. Each network is a network namespace of this node.',
    );
    const both = [clusters.alpha, clusters.beta];
    for (const cluster of both) {
      world.attachNetwork(cluster);
      await world.startApiServer(cluster);
      narrator.tell(`${cluster.name.padEnd(5)}  ${SHARED_ADDRESS}:${API_PORT} in netns ${cluster.netns}`);
    }
    const shared = both.every(({ netns }) => world.addressesOf(netns).includes(SHARED_ADDRESS));
    const error = await world.connectionError();
    narrator.check(
      shared && error !== null,
      `both namespaces have ${SHARED_ADDRESS}, and it is not reachable from outside (${error})`,
    );
  }

  objects(): void {
    const { narrator, management, clusters } = this.#parts;
    narrator.step(
      'A management cluster that knows the tenants, and cannot reach them',
      'Its Kubernetes API is an in-memory one over HTTPS. It contains the objects that Cluster API creates.',
    );
    management.addNode(NODE, { [NODE_LABEL]: '' });
    for (const cluster of [clusters.alpha, clusters.beta]) {
      const { name, networkId } = cluster;
      management.addCluster(cluster);
      narrator.tell(`OpenStackCluster ${objectName(name).padEnd(14)}  no floating IP, network ${networkId}`);
      narrator.tell(`Secret ${`${name}-kubeconfig`.padEnd(24)}  server: ${DIRECT_SERVER}`);
    }
    narrator.check(
      ['alpha', 'beta'].every((name) => management.kubeconfig(name).includes(DIRECT_SERVER)),
      'both kubeconfigs name the same server, and a client that uses one reaches no cluster',
    );
  }

  /** The flags of `isthmus run`. All other settings keep their defaults. */
  runFlags(): string[] {
    const kubeconfig = this.#parts.management.writeKubeconfig('isthmus');
    const flags = ['--source', 'kubernetes', '--kubeconfig', kubeconfig, '--node-name', NODE];
    return [
      ...flags,
      '--advertise-address',
      NODE_ADDRESS,
      '--propagation-wait',
      '1s',
      '--ignored-selector-labels',
      'generation',
      '--node-selector',
      JSON.stringify([{ key: NODE_LABEL, operator: 'Exists' }]),
    ];
  }

  announceRun(flags: readonly string[]): void {
    this.#parts.narrator.step(
      'Isthmus starts on the network node',
      `$ isthmus run ${flags.slice(0, 4).join(' ')} \\`,
      `      ${flags.slice(4, 8).join(' ')} \\`,
      `      ${flags.slice(8, 12).join(' ')} \\`,
      `      ${flags[12]} '${flags[13]}'`,
      'It watches the API, finds the network namespaces, and checks in each one whether the API server answers. Then it',
      'makes, in this order: route, Service, EndpointSlice, kubeconfig. (--propagation-wait is shorter here than usual.)',
    );
  }

  async published(proxy: DemoProxy, startedMs: number): Promise<void> {
    const { narrator, management, clusters } = this.#parts;
    await narrator.until('isthmus is ready', () => proxy.isReady());
    narrator.check(true, `ready ${seconds(performance.now() - startedMs)} after its start`);
    for (const cluster of [clusters.alpha, clusters.beta]) {
      const { name } = cluster;
      const ms = await narrator.until(
        `the kubeconfig of ${name} leads to its Service`,
        () => management.kubeconfig(name).includes(`server: ${serverOf(name)}\n`),
        startedMs,
      );
      const [slice] = management.slices(name);
      const { addresses, conditions } = slice?.endpoints?.[0] ?? { addresses: [] };
      narrator.check(
        management.hasService(name) &&
          addresses.join() === NODE_ADDRESS &&
          slice?.ports?.[0]?.port === PROXY_PORT &&
          conditions?.ready === true,
        `${name}: Service ${name}, EndpointSlice ${slice?.metadata.name} → ${addresses.join()}:${PROXY_PORT} (ready)`,
      );
      narrator.check(
        management.kubeconfig(name) === clusterKubeconfig(cluster, serverOf(name)),
        `${name}: kubeconfig rewritten after ${seconds(ms)}, server: ${serverOf(name)}, no other byte changed`,
      );
    }
    await this.#rights(proxy);
  }

  async clientAsks(): Promise<void> {
    const { narrator, client, clusters } = this.#parts;
    narrator.step(
      'A client takes a kubeconfig and uses it, as magnum-conductor or kubectl does',
      'In a real cluster CoreDNS resolves the name to the Service, and kube-proxy forwards the connection to a',
      'ready endpoint. Here the demo does both, from the same Service and EndpointSlice. The TLS is real.',
    );
    for (const { name } of [clusters.alpha, clusters.beta]) {
      const { server } = await client.kubeconfig(name);
      const to = await client.resolve(server);
      if (to.kind === 'none') throw new Error(`${server}: ${to.reason}`);
      narrator.tell(
        `${new URL(server).host} → Service ${name} (${to.clusterIp}) → ${to.slice} → ${to.address}:${to.port}`,
      );
      await this.#reaches(name);
    }
    narrator.tell(
      'One port: the name in the ClientHello selected the network namespace. TLS is end to end: the',
    );
    narrator.tell(
      "client checked the server with the kubeconfig's CA, and the server checked the client's certificate.",
    );
    const alpha = await client.kubeconfig('alpha');
    const mixed = await askServer(HERE, `beta.${NAMESPACE}`, alpha);
    narrator.check(
      mixed.kind === 'failed',
      `alpha's credentials with beta's name: the client itself rejects the server (${textOf(mixed)})`,
    );
    await this.#alerted('delta', 'unrecognized name', 'delta does not exist: TLS alert unrecognized_name');
  }

  async thirdCluster(proxy: DemoProxy): Promise<void> {
    const { narrator, world, management, client, clusters } = this.#parts;
    const { gamma } = clusters;
    narrator.step('A third cluster appears, without a restart or a reload');
    management.addCluster(gamma);
    let reason = '';
    await narrator.until('gamma is known', async () => {
      const cluster = await proxy.cluster('gamma');
      reason = cluster?.reason ?? '';
      return cluster?.state === 'no-netns';
    });
    narrator.check(
      reason.includes(gamma.networkId) && !management.hasService('gamma'),
      'gamma is known, but its network is not on this node: Isthmus publishes nothing, and /status says why',
    );
    world.attachNetwork(gamma);
    await world.startApiServer(gamma);
    const sinceMs = performance.now();
    let answer: Answer = { kind: 'failed', error: 'not asked' };
    const ms = await narrator.until(
      'gamma answers',
      async () => {
        if (!management.kubeconfig('gamma').includes(serverOf('gamma'))) return false;
        answer = await client.ask('gamma');
        return answer.kind === 'answered';
      },
      sinceMs,
    );
    narrator.check(
      true,
      `its network and its API server appear on the node: first answer through its kubeconfig ${seconds(ms)} later`,
    );
  }

  async deathAndRevival(): Promise<void> {
    const { narrator, world, management, client, clusters } = this.#parts;
    const { alpha } = clusters;
    narrator.step("alpha's API server dies, and comes back");
    const diedMs = performance.now();
    await world.killApiServer(alpha);
    const gone = await narrator.until(
      "alpha's EndpointSlice is withdrawn",
      () => management.slices('alpha').length === 0,
      diedMs,
    );
    narrator.check(
      management.hasService('alpha'),
      `EndpointSlice withdrawn ${seconds(gone)} after the kill; the Service stays for other nodes' slices`,
    );
    const answer = await client.ask('alpha');
    narrator.check(
      answer.kind === 'failed' && answer.error.includes('no ready endpoint'),
      `kube-proxy sends no new client to alpha: ${textOf(answer)}`,
    );
    await this.#alerted(
      'alpha',
      'internal error',
      'a client that still connects gets TLS alert internal_error',
    );
    await this.#reaches('beta');
    await world.startApiServer(alpha);
    const back = await narrator.until("alpha's EndpointSlice is back", () => management.isReady('alpha'));
    narrator.check(true, `alpha is back: published again after ${seconds(back)}`);
    await this.#reaches('alpha');
  }

  async unproxied(): Promise<void> {
    const { narrator, management, client, clusters } = this.#parts;
    const { beta } = clusters;
    narrator.step(
      'beta is no longer proxied: disableAPIServerFloatingIP is set to false',
      'Isthmus withdraws everything in an order that cuts off no client: kubeconfig, EndpointSlice, Service, route.',
    );
    const sinceMs = performance.now();
    management.setFloatingIp('beta', true);
    const given = await narrator.until(
      'the kubeconfig of beta is restored',
      () => management.kubeconfig('beta').includes(`server: ${DIRECT_SERVER}\n`),
      sinceMs,
    );
    narrator.check(
      management.kubeconfig('beta') === clusterKubeconfig(beta, DIRECT_SERVER),
      `kubeconfig restored after ${seconds(given)}, byte for byte as before, server: ${DIRECT_SERVER}`,
    );
    await narrator.until("beta's EndpointSlice is terminating", () => management.isTerminating('beta'));
    const withdrawn = await narrator.until(
      "beta's EndpointSlice is gone",
      () => management.slices('beta').length === 0,
      sinceMs,
    );
    const free = await narrator.until(
      'the Service of beta is deleted',
      () => !management.hasService('beta'),
      sinceMs,
    );
    narrator.check(
      withdrawn <= free,
      `EndpointSlice marked as terminating, then deleted after ${seconds(withdrawn)}; Service deleted after ${seconds(free)}`,
    );
    await this.#reaches('alpha');
    const again = performance.now();
    management.setFloatingIp(beta.name, false);
    const published = await narrator.until(
      'beta is proxied again',
      () => management.kubeconfig('beta').includes(serverOf('beta')) && management.isReady('beta'),
      again,
    );
    const answer = await client.ask('beta');
    narrator.check(
      answer.kind === 'answered' && answer.body.cluster === 'beta',
      `set to true again: published, kubeconfig rewritten, answering after ${seconds(published)}`,
    );
  }

  async stopped(proxy: DemoProxy): Promise<void> {
    const { narrator, management, clusters } = this.#parts;
    narrator.step('Isthmus gets SIGTERM and stops');
    const sinceMs = performance.now();
    const ended = proxy.stop();
    const names = Object.keys(clusters);
    const ms = await narrator.until(
      'its slices are withdrawn',
      () => names.every((name) => management.slices(name).length === 0),
      sinceMs,
    );
    const code = await ended;
    const total = seconds(performance.now() - sinceMs);
    narrator.check(
      code === 0,
      `it first withdraws its slices, after ${seconds(ms)}; then it exits, after ${total}, with code ${code}`,
    );
    narrator.check(
      management.leases().length === 0 && names.every((name) => management.hasService(name)),
      'its Lease is deleted; Services and kubeconfigs stay, for the other instances or its own restart',
    );
  }

  async #rights(proxy: DemoProxy): Promise<void> {
    const { narrator, management } = this.#parts;
    const { problems } = await proxy.status();
    const foreign = `${management.url}/api/v1/namespaces/kube-system/secrets`;
    const status = await statusOf(foreign, management.ca, management.token('isthmus'));
    const list = problems.map(({ origin, reason }) => `${origin}: ${reason}`).join('; ');
    narrator.check(
      problems.length === 0,
      `its user has exactly the ${RULES} rules of src/control/objects/needed-rights.ts, and no right is missing${list}`,
    );
    narrator.check(
      status === 403,
      `it has no other right: with its token, a request for the Secrets of kube-system gets ${status}`,
    );
  }

  /** Sends a request with the cluster's own kubeconfig. It must reach exactly this cluster. */
  async #reaches(cluster: string): Promise<void> {
    const answer = await this.#parts.client.ask(cluster);
    const ok =
      answer.kind === 'answered' &&
      answer.body.cluster === cluster &&
      answer.body.user === `${cluster}-admin`;
    const how =
      answer.kind === 'answered'
        ? `answered in ${answer.ms.toFixed(0)} ms by “${answer.certificate}” to ${answer.body.user}`
        : answer.error;
    this.#parts.narrator.check(ok, `GET ${serverOf(cluster)}/version: ${how}`);
  }

  /** Connects directly to the proxy, without DNS and Service. The proxy must reject with this TLS alert. */
  async #alerted(cluster: string, alert: string, sentence: string): Promise<void> {
    const { narrator, client } = this.#parts;
    const answer = await askServer(HERE, `${cluster}.${NAMESPACE}`, await client.kubeconfig('alpha'));
    narrator.check(
      answer.kind === 'failed' && answer.error.includes(alert),
      `${sentence} (OpenSSL: ${textOf(answer)})`,
    );
  }
}

function textOf(answer: Answer): string {
  return answer.kind === 'failed' ? answer.error : `an answer of ${answer.body.cluster}`;
}
