// TCP listeners on the built program: the unchanged manifests of deploy/examples/listeners, through their own ports to real machines in a
// real namespace. Ports that survive a restart, that are taken, or run out; a rollout under load.
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { ip } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { connectError, until } from '../../support/tcp.ts';
import { ADDRESS } from '../../support/two-clusters.ts';

const EXAMPLES = new URL('../../../deploy/examples/listeners/', import.meta.url);
const RANGE = [17_300, 17_305] as const;
const FLAGS = [
  ...['--listener-ports', RANGE.join('-')],
  ...['--ignored-selector-labels', 'generation'],
  ...['--interval', '2s'], // a port that failed to open is tried again after this time
];

/** Name, address, listening port, labels. */
const MACHINES = [
  ['boot', '10.0.0.10', 22, { 'infrastructure.cluster.x-k8s.io/machine-name': 'bootstrap' }],
  ['worker-1', '10.0.0.11', 30_080, { 'node-role': 'worker' }],
  ['worker-2', '10.0.0.12', 30_080, { 'node-role': 'edge' }],
  ['worker-6', 'fd00::13', 30_080, { 'node-role': 'worker' }],
  ['control-1', '10.0.0.14', 22, { 'cluster.x-k8s.io/control-plane': '', 'node-role': 'worker' }],
  ['blue', '10.0.0.21', 6379, { app: 'redis', generation: 'blue' }],
  ['green', '10.0.0.22', 6379, { app: 'redis', generation: 'green' }],
] as const;

let site: PublishSite;
let isthmus: Isthmus;
const servers: NetnsServer[] = [];
const busy: Server[] = [];

beforeAll(async () => {
  site = await PublishSite.start();
  const { netns, networkId } = site.clusters.alpha;
  // The examples use this name.
  site.management.addCluster({ name: 'kube-1', networkId, address: ADDRESS });
  for (const [name, address, port, labels] of MACHINES) {
    const isV6 = address.includes(':');
    ip(
      '-n',
      netns,
      'address',
      'add',
      `${address}/${isV6 ? 128 : 32}`,
      'dev',
      'lo',
      ...(isV6 ? ['nodad'] : []),
    );
    servers.push(await NetnsServer.start(netns, 'name', address, String(port), name));
    site.management.addMachine(name, 'kube-1', address, labels);
  }
  isthmus = await site.instance('net-1', ...FLAGS);
});
afterAll(async () => {
  for (const server of busy) server.close();
  for (const server of servers) await server.stop();
  await site.stop();
});

function apply(file: string): void {
  for (const document of parseAllDocuments(readFileSync(new URL(file, EXAMPLES), 'utf8'))) {
    const { metadata, spec } = document.toJS() as { metadata: { name: string }; spec: object };
    site.management.addListener(metadata.name, spec);
  }
}

/** The port of this instance in its slice; 0 while there is no slice. */
function portOf(service: string): number {
  const ports = (site.slice(`${service}-net-1`)?.ports ?? []) as { port?: number }[];
  return ports[0]?.port ?? 0;
}

function open(service: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(portOf(service), '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

/**
 * A connection that has reached its machine, with the lines that it received. A TCP connect alone proves nothing: the kernel accepts before
 * the proxy has chosen a machine.
 */
async function through(service: string): Promise<{ socket: Socket; lines: string[] }> {
  const socket = await open(service);
  const lines: string[] = [];
  socket.on('data', (chunk) => lines.push(String(chunk).trim()));
  await until('it is through', () => lines.length === 1);
  return { socket, lines };
}

/** The machine that answers, or the empty text. */
async function who(service: string): Promise<string> {
  const socket = await open(service).catch(() => null);
  if (socket === null) return '';
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) socket.end();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text.trim()));
  });
}

const ready = (listener: string) => site.management.conditions(listener).Ready;
const seen = async (service: string, times: number) =>
  [...new Set(await Promise.all(Array.from({ length: times }, () => who(service))))].sort();

describe('the examples', () => {
  test('reach the one machine with the label bootstrap, on port 22', async () => {
    apply('bootstrap-ssh.yaml');
    // 127.0.0.1 is not in the allowed CIDRs of the example.
    site.management.patchListener('bootstrap-ssh', { allowedCIDRs: ['127.0.0.0/8'] });
    await site.published('kube-1-bootstrap-ssh-net-1');
    expect(portOf('kube-1-bootstrap-ssh')).toBeGreaterThanOrEqual(RANGE[0]);
    expect(portOf('kube-1-bootstrap-ssh')).toBeLessThanOrEqual(RANGE[1]);
    expect(site.management.get('v1', 'Service', 'kube-1-bootstrap-ssh')).toMatchObject({
      spec: { ports: [{ port: 22 }] },
    });
    expect(await seen('kube-1-bootstrap-ssh', 5)).toEqual(['boot']);
    await until('it says so', () => ready('bootstrap-ssh')?.status === 'True');
  });

  test('reject clients from other addresses', async () => {
    site.management.patchListener('bootstrap-ssh', { allowedCIDRs: ['192.0.2.0/24'] });
    await expect.poll(() => who('kube-1-bootstrap-ssh')).toBe('');
    site.management.patchListener('bootstrap-ssh', { allowedCIDRs: null });
    await expect.poll(() => who('kube-1-bootstrap-ssh')).toBe('boot');
  });

  test('reach several workers, over IPv6 too, and no control plane', async () => {
    apply('workers-http.yaml');
    await site.published('kube-1-http-net-1');
    await until('all are ready', () => ready('workers-http')?.message.includes('3 of 3') === true);
    const open3 = await Promise.all([open('kube-1-http'), open('kube-1-http'), open('kube-1-http')]);
    const names = await Promise.all(
      open3.map(
        (socket) => new Promise((resolve) => socket.once('data', (chunk) => resolve(String(chunk).trim()))),
      ),
    );
    // The next connection goes to the machine with the fewest connections.
    expect(names.sort()).toEqual(['worker-1', 'worker-2', 'worker-6']);
    for (const socket of open3) socket.destroy();
  });
});

describe('a port', () => {
  test('is the same after a restart', async () => {
    const before = [portOf('kube-1-bootstrap-ssh'), portOf('kube-1-http')];
    isthmus.signal('SIGKILL');
    await isthmus.ended();
    isthmus = site.management.instance('net-1');
    await isthmus.start(...FAST, ...FLAGS);
    await expect.poll(() => who('kube-1-bootstrap-ssh')).toBe('boot');
    expect([portOf('kube-1-bootstrap-ssh'), portOf('kube-1-http')]).toEqual(before);
  });

  test('that another process holds is not used, and a range without a free port is reported', async () => {
    const taken = new Set([portOf('kube-1-bootstrap-ssh'), portOf('kube-1-http')]);
    for (let port: number = RANGE[0]; port <= RANGE[1]; port += 1) {
      if (taken.has(port)) continue;
      const server = createServer().listen(port, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      busy.push(server);
    }
    apply('blue-green.yaml');
    await until(
      'both are reported',
      () => ready('web')?.reason === 'Pending' && ready('web-preview')?.reason === 'Pending',
    );
    // A machine counts as answering only after its first probe.
    await expect.poll(() => ready('web')?.message).toMatch(/17300.*: 1 of 1 machines answers/);
    expect([site.slice('kube-1-web-net-1'), site.slice('kube-1-web-preview-net-1')]).toEqual([null, null]);
    for (const server of busy.splice(0)) server.close();
    await site.published('kube-1-web-net-1', 'kube-1-web-preview-net-1');
  });
});

describe('a rollout', () => {
  test('moves clients to the machines of the next rollout without a failed connection, and keeps established connections', async () => {
    expect([await who('kube-1-web'), await who('kube-1-web-preview')]).toEqual(['blue', 'green']);
    const { socket: old, lines } = await through('kube-1-web');
    const answers: string[] = [];
    let going = true;
    const load = Array.from({ length: 8 }, async () => {
      while (going) answers.push(await who('kube-1-web'));
    });
    const start = performance.now();
    site.management.patchListener('web', { rolloutLabels: { generation: 'green' } });
    await until('green answers', () => answers.at(-1) === 'green');
    console.log(`promotion → first connection to green: ${(performance.now() - start).toFixed(0)} ms`);
    const enough = answers.length + 100;
    await until('100 further connections', () => answers.length >= enough);
    site.management.patchListener('web', { rolloutLabels: { generation: 'blue' } });
    await until('blue answers again', () => answers.at(-1) === 'blue');
    going = false;
    await Promise.all(load);
    console.log(
      `${answers.length} connections meanwhile, ${answers.filter((each) => each === '').length} failed`,
    );
    expect(answers.filter((each) => each !== 'blue' && each !== 'green')).toEqual([]);
    old.write('still there?\n');
    await until('the old connection answers', () => lines.length >= 2);
    expect(lines).toEqual(['blue', 'blue']);
    old.destroy();
  });

  test('shows the state of each member in /status', async () => {
    const shown = async () => {
      const { listeners } = (await isthmus.status()) as unknown as {
        listeners: { name: string; state: string; members: { machine: string; state: string }[] }[];
      };
      const web = listeners.find(({ name }) => name === 'web');
      return [web?.state, ...(web?.members.map(({ machine, state }) => `${machine} ${state}`) ?? [])];
    };
    await expect.poll(shown).toEqual(['serving', 'blue Ready', 'green Ignored']);
  });
});

const isOpen = async (port: number): Promise<boolean> => (await connectError(port)) === null;

describe('an edit of the protocol of a TCP listener', () => {
  test('closes the old port only when no slice leads to it any more, and keeps established connections', async () => {
    const { socket, lines } = await through('kube-1-http');
    const port = portOf('kube-1-http');
    const answers: boolean[] = [];
    let going = true;
    const load = (async () => {
      while (going) answers.push(await isOpen(portOf('kube-1-http')));
    })();
    site.management.patchListener('workers-http', { protocol: 'TLS' });
    await until('clients are sent to the shared port', () => portOf('kube-1-http') === isthmus.port);
    going = false;
    await load;
    expect(answers).not.toContain(false);
    await expect.poll(() => isOpen(port)).toBe(false);
    socket.write('still there?\n');
    await until('it answers', () => lines.length === 2);
    socket.destroy();
    site.management.patchListener('workers-http', { protocol: 'TCP' });
    await until('it has a port again', () => ![0, isthmus.port].includes(portOf('kube-1-http')));
    expect(await who('kube-1-http')).toMatch(/worker/);
  });
});

describe('the end of a TCP listener', () => {
  test('removes its slice, Service and port, and keeps established connections', async () => {
    const { socket, lines } = await through('kube-1-http');
    const port = portOf('kube-1-http');
    site.management.deleteListener('workers-http');
    await until('the Service is gone', () => !site.management.services().includes('kube-1-http'));
    await expect.poll(() => isOpen(port)).toBe(false);
    socket.write('still there?\n');
    await until('it answers', () => lines.length === 2);
    socket.destroy();
    expect(site.management.names('discovery.k8s.io/v1', 'EndpointSlice')).not.toContain('kube-1-http-net-1');
  });

  test('during a downtime of the program leaves its port unused, because clients may still connect to it', async () => {
    const port = portOf('kube-1-bootstrap-ssh');
    expect(port).toBe(RANGE[0]); // the first port that another listener would get
    isthmus.signal('SIGKILL');
    await isthmus.ended();
    site.management.deleteListener('bootstrap-ssh');
    apply('workers-http.yaml');
    isthmus = site.management.instance('net-1');
    await isthmus.start(...FAST, ...FLAGS);
    await until('the other one is open', () => portOf('kube-1-http') > 0);
    expect(portOf('kube-1-http')).not.toBe(port);
    await until('the slice is gone', () => portOf('kube-1-bootstrap-ssh') === 0);
    expect(await isOpen(port)).toBe(false);
  });

  test('together with the program withdraws all slices', async () => {
    isthmus.signal('SIGTERM');
    expect(await isthmus.ended()).toBe(0);
    expect(site.management.slices()).toEqual([]);
    expect(site.management.services()).toContain('kube-1-web');
    expect(site.management.get('isthmus.dev/v1alpha1', 'AdditionalListener', 'web')?.metadata.namespace).toBe(
      NAMESPACE,
    );
  });
});
