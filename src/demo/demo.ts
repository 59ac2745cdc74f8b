// `isthmus demo`: the main job on one machine, told as a person would tell it. With --once every sentence is checked, and the
// exit code says whether all were true.

import { type Answer, askCluster } from './demo-client.ts';
import { readForwards, serveForwards } from './demo-forwards.ts';
import { DemoProxy } from './demo-proxy.ts';
import { API_PORT, type DemoCluster, DemoWorld, SHARED_ADDRESS } from './demo-world.ts';

const PROXY_PORT = 6443;
const ADMIN_PORT = 9580;

const HELP = `isthmus demo: two isolated clusters with the same private address, each in a network namespace of its own,
both reached by name through one port; a third whose network is not on this node.

  npm run demo              stays up until Ctrl-C, with addresses to try by hand
  npm run demo -- --once    checks every step and exits 0 if all of it is true

It makes network namespaces: run it through npm, which gives it a sandbox of its own.
`;

export async function demo(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  const unknown = args.filter((arg) => arg !== '--once');
  if (unknown.length > 0) {
    process.stderr.write(`isthmus demo: unknown: ${unknown.join(' ')}\n\n${HELP}`);
    return 2;
  }
  const forwards = readForwards(process.env.ISTHMUS_DEMO_FORWARDS);
  if (forwards === null) {
    process.stderr.write(
      'isthmus demo makes network namespaces; `npm run demo` gives it a sandbox of its own to do so.\n',
    );
    return 1;
  }
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
  const world = new DemoWorld();
  let proxy: DemoProxy | null = null;
  const started = performance.now();
  const story = new Story();
  try {
    const clusters = await story.clusters(world);
    proxy = new DemoProxy({ manifests: world.manifests, listenPort: PROXY_PORT, adminPort: ADMIN_PORT });
    serveForwards(forwards, { admin: ADMIN_PORT, proxy: PROXY_PORT });
    const told = tell(story, world, proxy, clusters).then(() => true);
    if (!(await Promise.race([told, stopped.then(() => false)]))) {
      told.catch(() => {}); // what it was just doing fails now, and nobody minds
      say('\nInterrupted before the end.');
      return 130;
    }
    if (args.includes('--once')) {
      say(`\n${story.checks} checks, all true, in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
      return 0;
    }
    invite(forwards.ports, proxy);
    await stopped;
    say('\nStopping: the proxy drains, then the namespaces go.');
    return 0;
  } catch (error) {
    say(`\n✗ ${(error as Error).message}`);
    if (proxy !== null) say(`The last lines of the proxy's log:\n${proxy.log.slice(-20).join('\n')}`);
    return 1;
  } finally {
    await proxy?.stop();
    world.destroy();
  }
}

type Clusters = Record<'alpha' | 'beta' | 'gamma', DemoCluster>;

class Story {
  checks = 0;

  check(condition: boolean, sentence: string): void {
    this.checks += 1;
    if (!condition) throw new Error(`not true: ${sentence}`);
    say(`  ✓ ${sentence}`);
  }

  async clusters(world: DemoWorld): Promise<Clusters> {
    say(
      'Three tenants have Kubernetes clusters without a floating IP. Their networks were made without knowing',
    );
    say('of each other, so all three API servers have the same private address.');
    const alpha = world.describeCluster('alpha', '0f1e2d3c-aaaa-4a4a-8a8a-000000000001', 'qdhcp');
    const beta = world.describeCluster('beta', '0f1e2d3c-bbbb-4b4b-8b8b-000000000002', 'ovnmeta');
    const gamma = world.describeCluster('gamma', '0f1e2d3c-cccc-4c4c-8c8c-000000000003', 'qdhcp');
    for (const cluster of [alpha, beta]) {
      await world.attachNetwork(cluster);
      say(`  ${cluster.name}: API server at ${SHARED_ADDRESS}:${API_PORT} in the netns ${cluster.netns}`);
    }
    const both = [alpha, beta].every(({ netns }) => world.addressesOf(netns).includes(SHARED_ADDRESS));
    this.check(both, `two real network namespaces of this machine have the same address ${SHARED_ADDRESS}`);
    say(`  gamma: its network is not on this node`);
    return { alpha, beta, gamma };
  }

  /** A TLS request that must reach exactly this cluster: only its own CA is trusted. */
  async reaches(cluster: DemoCluster): Promise<void> {
    const serverName = `${cluster.name}.magnum-system`;
    const answer = await askCluster({ port: PROXY_PORT, serverName, ca: cluster.ca, path: '/version' });
    const reached = answer.kind === 'answered' && answer.body.cluster === cluster.name;
    const how =
      answer.kind === 'answered'
        ? `answered in ${answer.ms.toFixed(1)} ms as “${answer.certificate}”`
        : answer.error;
    this.check(
      reached,
      `https://${serverName}:${PROXY_PORT}/version: ${how}, certificate verified end to end`,
    );
  }

  fails(answer: Answer, alert: string, sentence: string): void {
    this.check(
      answer.kind === 'failed' && answer.error.includes(alert),
      `${sentence} (the client says ${textOf(answer)})`,
    );
  }
}

async function tell(
  story: Story,
  world: DemoWorld,
  proxy: DemoProxy,
  { alpha, beta, gamma }: Clusters,
): Promise<void> {
  say(
    '\nOne `isthmus run` reads the three OpenStackCluster manifests, looks at /run/netns, and checks who answers.',
  );
  await proxy.untilReady();
  await proxy.untilState('alpha', 'serving');
  await proxy.untilState('beta', 'serving');
  const lost = await proxy.untilState('gamma', 'no-netns');
  story.check(true, `ready: alpha and beta are served through one port, ${PROXY_PORT}`);
  story.check(lost.reason.length > 0, `gamma is explained: ${lost.reason}`);

  say(
    '\nA TLS client asks for each by name. The name in its ClientHello picks the netns; the address is the same.',
  );
  await story.reaches(alpha);
  await story.reaches(beta);
  const wrongCa = await askCluster({
    port: PROXY_PORT,
    serverName: 'alpha.magnum-system',
    ca: beta.ca,
    path: '/',
  });
  story.check(
    wrongCa.kind === 'failed',
    `with beta's CA, alpha is refused by the client itself (${textOf(wrongCa)}): no mix-up`,
  );

  say('\nWho cannot be served is told why, in TLS, before the connection closes.');
  const ask = (serverName: string) => askCluster({ port: PROXY_PORT, serverName, ca: gamma.ca, path: '/' });
  story.fails(
    await ask('gamma.magnum-system'),
    'INTERNAL_ERROR',
    'gamma has no backend here: alert internal_error',
  );
  story.fails(
    await ask('delta.magnum-system'),
    'UNRECOGNIZED_NAME',
    'delta is nobody: alert unrecognized_name',
  );

  say(
    "\nNow gamma's network appears on this node, as when Neutron schedules it. Nothing is restarted or reloaded.",
  );
  await world.attachNetwork(gamma);
  const appeared = performance.now();
  await proxy.untilState('gamma', 'serving');
  say(`  … found, checked twice and served ${Math.round(performance.now() - appeared)} ms later`);
  await story.reaches(gamma);
  await story.reaches(alpha);
}

function invite(ports: { admin: number; proxy: number }, proxy: DemoProxy): void {
  say(`
It stays up until Ctrl-C. From another terminal:
  curl -s http://127.0.0.1:${ports.admin}/status
  curl -sk --connect-to alpha.magnum-system:6443:127.0.0.1:${ports.proxy} https://alpha.magnum-system:6443/version
  openssl s_client -connect 127.0.0.1:${ports.proxy} -servername nobody.magnum-system </dev/null
Each connection leaves one line, refused ones too:`);
  proxy.onLog = (line) => {
    const short = shortened(line);
    if (short !== null) say(`  ${short}`);
  };
}

/** null for what is not worth a line here. */
function shortened(line: string): string | null {
  try {
    const {
      time: _t,
      level,
      msg,
      client,
      serverName,
      cluster,
      netns,
      outcome,
      reason,
      bytesFromClient,
      bytesFromBackend,
    } = JSON.parse(line) as Record<string, unknown>;
    if (outcome === undefined) return level === 'debug' ? null : `${msg}`;
    const where = netns === null ? '' : ` in ${netns}`;
    return `${client} asked for ${serverName}: ${cluster ?? 'refused'}${where}, ${bytesFromClient}/${bytesFromBackend} bytes, ${reason}`;
  } catch {
    return line;
  }
}

function textOf(answer: Answer): string {
  return answer.kind === 'failed' ? answer.error : `an answer of ${answer.body.cluster}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
