// `npm run demo`: shows all of Isthmus on one machine, as a story. Each sentence is checked; a false sentence ends the demo with
// exit code 1. With --once the demo exits after the last step.
import { join } from 'node:path';
import { DemoClient } from './demo-client.ts';
import { type DemoForwards, readForwards, serveForwards } from './demo-forwards.ts';
import { LabelStory } from './demo-labels.ts';
import { ListenerStory } from './demo-listeners.ts';
import { DemoManagement, NAMESPACE, objectName } from './demo-management.ts';
import { Narrator } from './demo-narrator.ts';
import { ADMIN_PORT, DemoProxy, PROXY_PORT } from './demo-proxy.ts';
import { DemoStory } from './demo-story.ts';
import { DemoWorld, NODE_ADDRESS } from './demo-world.ts';

const MANAGEMENT_PORT = 7443;

const HELP = `npm run demo: isolated clusters have the same private address, each in its own network namespace. Isthmus publishes them as
Services, EndpointSlices and kubeconfigs of a management cluster. Clients reach each one by name through one port.

  npm run demo              runs until Ctrl-C, with a kubeconfig for kubectl and addresses to try by hand
  npm run demo -- --once    exits after the last step, with code 0 if every check passed

The demo creates network namespaces. npm starts it in its own sandbox.
`;

const OPENING = `Isthmus reaches Kubernetes clusters that have no floating IP, by name, through their tenants' own networks.
Network namespaces, TLS and the program are real. The demo says where it replaces another part.`;

async function demo(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  const unknown = args.filter((arg) => arg !== '--once');
  if (unknown.length > 0) {
    process.stderr.write(`npm run demo: unknown: ${unknown.join(' ')}\n\n${HELP}`);
    return 2;
  }
  const forwards = readForwards(process.env.ISTHMUS_DEMO_FORWARDS);
  if (forwards === null) {
    process.stderr.write(
      'The demo creates network namespaces, so it needs a sandbox. Start it with `npm run demo`.\n',
    );
    return 1;
  }
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
  const run = new DemoRun(forwards);
  try {
    const once = args.includes('--once');
    const story = run.tell(once).then(() => true);
    if (!(await Promise.race([story, stopped.then(() => false)]))) {
      run.fallSilent();
      story.catch(() => {}); // the interrupted step fails, as expected
      say('\nInterrupted before the end.');
      return 130;
    }
    if (once) return 0;
    run.invite();
    await stopped;
    say('\nStopping: Isthmus withdraws its slices and drains. Then the namespaces are deleted.');
    return 0;
  } catch (error) {
    say(`\n✗ ${(error as Error).message}`);
    if (run.log.length > 0) say(`The last lines of the proxy's log:\n${run.log.slice(-20).join('\n')}`);
    return 1;
  } finally {
    await run.end();
  }
}

class DemoRun {
  readonly #forwards: DemoForwards;
  readonly #world = new DemoWorld();
  readonly #narrator: Narrator;
  #management: DemoManagement | null = null;
  #proxy: DemoProxy | null = null;

  constructor(forwards: DemoForwards) {
    this.#forwards = forwards;
    this.#narrator = new Narrator({
      say,
      hopeless: () => {
        const code = this.#proxy?.exitCode ?? null;
        return code === null ? null : `isthmus ended with exit code ${code}`;
      },
    });
  }

  get log(): readonly string[] {
    return this.#proxy?.log ?? [];
  }

  async tell(once: boolean): Promise<void> {
    const world = this.#world;
    const narrator = this.#narrator;
    say(OPENING);
    world.takeNodeAddress();
    const clusters = {
      alpha: world.makeCluster('alpha', '0f1e2d3c-aaaa-4a4a-8a8a-000000000001', 'qdhcp'),
      beta: world.makeCluster('beta', '0f1e2d3c-bbbb-4b4b-8b8b-000000000002', 'ovnmeta'),
      gamma: world.makeCluster('gamma', '0f1e2d3c-cccc-4c4c-8c8c-000000000003', 'qdhcp'),
    };
    const management = await DemoManagement.start(world.directory, MANAGEMENT_PORT);
    this.#management = management;
    serveForwards(this.#forwards, {
      admin: ADMIN_PORT,
      proxy: PROXY_PORT,
      management: MANAGEMENT_PORT,
    });
    const { url, ca } = management;
    const client = new DemoClient({ url, ca, token: management.token('client'), namespace: NAMESPACE });
    const parts = { narrator, world, management, client, clusters };
    const story = new DemoStory(parts);
    await story.tenants();
    story.objects();
    const flags = story.runFlags();
    story.announceRun(flags);
    const startedMs = performance.now();
    const proxy = new DemoProxy(flags);
    this.#proxy = proxy;
    await story.published(proxy, startedMs);
    await story.clientAsks();
    await story.thirdCluster(proxy);
    await story.deathAndRevival();
    await story.unproxied();
    const listeners = new ListenerStory(parts, proxy);
    await listeners.twoMachines();
    await listeners.blueGreen();
    const labels = new LabelStory(parts);
    await labels.tag();
    await labels.node();
    if (once) await story.stopped(proxy);
    say(`\n${narrator.checks} checks, all passed, in ${narrator.elapsed}.`);
  }

  fallSilent(): void {
    this.#narrator.fallSilent();
  }

  /** Prints commands to try from outside the sandbox while the demo stays up. */
  invite(): void {
    const { ports, shared } = this.#forwards;
    const server = `https://127.0.0.1:${ports.management}`;
    const kubeconfig = this.#management?.writeKubeconfig('admin', { directory: shared, server }) ?? '';
    const proxied = `alpha.${NAMESPACE}`;
    say(`
The demo runs until Ctrl-C. Use the management cluster from another terminal:
  export KUBECONFIG=${kubeconfig}
  kubectl get openstackclusters,additionallisteners,machines,services,endpointslices,leases,events
  kubectl patch openstackcluster ${objectName('beta')} --type merge -p '{"spec":{"disableAPIServerFloatingIP":false}}'
alpha itself, through its rewritten kubeconfig (--server replaces DNS and kube-proxy, which this machine does not have):
  kubectl get secret alpha-kubeconfig -o jsonpath='{.data.value}' | base64 -d > ${join(shared, 'alpha')}
  kubectl --kubeconfig ${join(shared, 'alpha')} --server https://127.0.0.1:${ports.proxy} --tls-server-name ${proxied} version
The same without kubectl; an unknown name; and the status of the proxy:
  curl -sk --connect-to ${proxied}:6443:127.0.0.1:${ports.proxy} https://${proxied}:6443/version
  openssl s_client -connect 127.0.0.1:${ports.proxy} -servername unknown.${NAMESPACE} </dev/null
  curl -s http://127.0.0.1:${ports.admin}/status

Each published object and each connection, rejected ones too, prints one line:`);
    if (this.#proxy === null) return;
    this.#proxy.onLog = (line) => {
      const short = shortened(line);
      if (short !== null) say(`  ${short}`);
    };
  }

  async end(): Promise<void> {
    await this.#proxy?.stop();
    await this.#management?.close();
    this.#world.destroy();
  }
}

/** A log line in short form. null: not shown. */
function shortened(line: string): string | null {
  let facts: Record<string, unknown>;
  try {
    facts = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { level, msg, object, why, state, client, serverName, cluster, netns, outcome, reason } = facts;
  if (outcome === undefined) {
    if (level === 'debug') return null;
    if (state !== undefined) return `${cluster} is ${state}: ${reason}`;
    return object === undefined ? `${msg}` : `${msg}: ${object} (${why})`;
  }
  if (`${client}`.startsWith(`${NODE_ADDRESS}:`)) return null; // a connection of the story itself
  const where = netns === null ? '' : ` in ${netns}`;
  const { bytesFromClient, bytesFromBackend } = facts;
  return `${client} asked for ${serverName}: ${cluster ?? 'refused'}${where}, ${bytesFromClient}/${bytesFromBackend} bytes, ${reason}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await demo(process.argv.slice(2));
// Exits even if a handle is still open, after the output is flushed.
process.stdout.write('', () => process.exit());
