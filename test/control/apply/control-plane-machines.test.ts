// More than one way to the API server, on the built program: a dead virtual IP in a network whose control-plane machines live, and nodes
// as with OVN, each of which reaches one machine.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { neededRules } from '../../fake-kube-api/needed-access.ts';
import type { Isthmus } from '../../support/isthmus.ts';
import { Management } from '../../support/kubernetes/management.ts';
import { FAST } from '../../support/kubernetes/publish-site.ts';
import { answerOf } from '../../support/network/attack-networks.ts';
import { ControlPlaneNetwork, MACHINES, type MachineName, VIP } from '../../support/network/control-plane.ts';
import { until } from '../../support/tcp.ts';

const CONTROL_PLANE = { 'cluster.x-k8s.io/control-plane': '' };

function addAlpha(management: Management, networkId: string): void {
  management.addCluster({ name: 'alpha', networkId, address: VIP });
  for (const [name, address] of Object.entries(MACHINES))
    management.addMachine(name, 'alpha', address, CONTROL_PLANE);
  management.addMachine('worker', 'alpha', '10.0.0.20', {});
}

const waysOf = async (isthmus: Isthmus) =>
  (await isthmus.status()).clusters.flatMap(({ backends }) =>
    backends.map(({ machine = 'vip', up }) => `${machine} ${up ? 'up' : 'down'}`),
  );

const textOf = async (isthmus: Isthmus) => (await isthmus.get('/explain/alpha')).body.replaceAll(/\s+/g, ' ');

const isReady = (management: Management, slice: string) => {
  const found = management.get('discovery.k8s.io/v1', 'EndpointSlice', slice);
  const [endpoint] = (found?.endpoints ?? []) as { conditions?: { ready?: boolean } }[];
  return endpoint?.conditions?.ready === true;
};

/** A TLS connection to the cluster that stays open. */
async function openConnection(isthmus: Isthmus): Promise<TLSSocket> {
  const where = { host: isthmus.host, port: isthmus.port, servername: 'alpha.magnum-system' };
  const socket = connect({ ...where, rejectUnauthorized: false });
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject);
  });
  return socket;
}

function askOn(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const take = (chunk: Buffer) => {
      text += chunk.toString();
      const answer = /I am (\S+)/.exec(text)?.[0];
      if (answer === undefined) return;
      socket.off('data', take);
      resolve(answer);
    };
    socket.on('data', take).once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
    socket.write('GET / HTTP/1.1\r\nHost: alpha\r\n\r\n');
  });
}

describe.each(['native', 'streams'])('with the %s engine', (engine) => {
  let management: Management;
  let network: ControlPlaneNetwork;
  let isthmus: Isthmus;

  beforeAll(async () => {
    network = new ControlPlaneNetwork();
    for (const [name, address] of [['vip', VIP], ...Object.entries(MACHINES)] as const)
      await network.serve(name, address);
    management = await Management.start();
    addAlpha(management, network.networkId);
    isthmus = management.instance('net-1');
    await isthmus.start(...FAST, '--engine', engine);
  });
  afterAll(async () => {
    await management.stop();
    await network.stop();
  });

  test('a dead virtual IP fails no connection, and its return disturbs none', async () => {
    await isthmus.untilState('alpha', 'serving');
    expect(await answerOf(isthmus, 'alpha')).toBe('I am vip');
    await until('all ways are up', async () => (await waysOf(isthmus)).every((way) => way.endsWith(' up')));
    expect(await waysOf(isthmus)).toEqual(['vip up', 'cp-1 up', 'cp-2 up', 'cp-3 up']);
    expect(await textOf(isthmus)).toMatch(/10\.0\.0\.5:6443 in \S+ is up \([^)]+\), new clients use it;/);
    await until('its slice is ready', () => isReady(management, 'alpha-net-1'));
    const gaps: string[] = [];
    const end = management.api.store.subscribe(() => {
      if (!isReady(management, 'alpha-net-1')) gaps.push('the slice is not ready');
    });

    await network.kill(VIP);
    const during = await Promise.all(Array.from({ length: 20 }, () => answerOf(isthmus, 'alpha')));
    expect(new Set(during)).toEqual(new Set(['I am cp-1']));
    await until('the virtual IP is down', async () => (await waysOf(isthmus))[0] === 'vip down');
    const text = await textOf(isthmus);
    expect(text).toMatch(/10\.0\.0\.5:6443 in \S+ is down \(E/);
    expect(text).toMatch(/Machine cp-1 at 10\.0\.0\.11:6443 in \S+ is up \([^)]+\), new clients use it;/);
    const held = await openConnection(isthmus);
    expect(await askOn(held)).toBe('I am cp-1');

    await network.serve('vip', VIP);
    await until('new clients reach it', async () => (await answerOf(isthmus, 'alpha')) === 'I am vip');
    expect(await askOn(held)).toBe('I am cp-1');
    held.destroy();
    end();
    expect(gaps).toEqual([]);
  });

  test('a machine that is being deleted gets no new client', async () => {
    const { finalizers: _, ...metadata } = management.get(
      'cluster.x-k8s.io/v1beta1',
      'Machine',
      'cp-1',
    )!.metadata;
    expect(metadata.name).toBe('cp-1');
    management.api.store.patch(
      {
        apiVersion: 'cluster.x-k8s.io/v1beta1',
        kind: 'Machine',
        namespace: 'magnum-system',
        name: 'cp-1',
      },
      { metadata: { finalizers: ['machine.cluster.x-k8s.io'] } },
    );
    management.deleteMachine('cp-1');
    await until(
      'it is no way any more',
      async () => !(await waysOf(isthmus)).some((way) => /cp-1/.test(way)),
    );
    await network.kill(VIP);
    await until('the next one serves', async () => (await answerOf(isthmus, 'alpha')) === 'I am cp-2');
  });
});

describe('nodes as with OVN, each with one machine of the control plane', () => {
  const directory = mkdtempSync('/run/isthmus-test-nodes-');
  const networkId = randomUUID();
  const networks = new Map<string, ControlPlaneNetwork>();
  const places: string[] = [];
  let management: Management;

  /** The netns of the same network on another node: the same name, in the directory of this node. */
  async function node(name: string, served: Readonly<Record<string, string>>): Promise<Isthmus> {
    const network = new ControlPlaneNetwork({ networkId, name: `ovn-${name}-${networkId}` });
    networks.set(name, network);
    for (const [server, address] of Object.entries(served)) await network.serve(server, address);
    const place = `${directory}/${name}/ovnmeta-${networkId}`;
    mkdirSync(`${directory}/${name}`);
    writeFileSync(place, '');
    execFileSync('mount', ['--bind', `/run/netns/${network.netns}`, place]);
    places.push(place);
    return management.instance(name);
  }

  const start = (isthmus: Isthmus, name: string, ...flags: string[]) =>
    isthmus.start(...FAST, '--netns-dir', `${directory}/${name}`, ...flags);
  const only = (machine: MachineName) => ({ [machine]: MACHINES[machine] });

  beforeAll(async () => {
    management = await Management.start();
    addAlpha(management, networkId);
  });
  afterEach(async () => {
    await management.stop();
    for (const place of places.splice(0)) execFileSync('umount', [place]);
    for (const network of networks.values()) await network.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('all serve the cluster and publish it; a node without a live way does not', async () => {
    const first = await node('net-1', { vip: VIP, ...only('cp-1') });
    const second = await node('net-2', only('cp-2'));
    const third = await node('net-3', only('cp-3'));
    const none = await node('net-4', {});
    const off = await node('net-5', only('cp-3'));
    await start(first, 'net-1');
    await start(second, 'net-2');
    await start(third, 'net-3');
    await start(none, 'net-4');
    await start(off, 'net-5', '--control-plane-machines', 'off');
    for (const slice of ['alpha-net-1', 'alpha-net-2', 'alpha-net-3'])
      await until(`${slice} is ready`, () => isReady(management, slice));
    const all = [first, second, third, none, off];
    const answers = await Promise.all(all.map((isthmus) => answerOf(isthmus, 'alpha')));
    expect(answers.slice(0, 3)).toEqual(['I am vip', 'I am cp-2', 'I am cp-3']);
    for (const answer of answers.slice(3)) expect(answer).toMatch(/alert internal error/);
    for (const isthmus of [none, off]) await isthmus.untilState('alpha', 'unhealthy');
    expect(await waysOf(off)).toEqual(['vip down']);
    expect(management.slices()).toEqual(['alpha-net-1', 'alpha-net-2', 'alpha-net-3']);

    // The machine of one node dies: only that node withdraws. The virtual IP dies: its node serves by its own machine.
    await networks.get('net-2')?.kill(MACHINES['cp-2']);
    await networks.get('net-1')?.kill(VIP);
    await until('net-2 has withdrawn', () => !management.slices().includes('alpha-net-2'));
    expect(await answerOf(first, 'alpha')).toBe('I am cp-1');
    expect(management.slices()).toEqual(['alpha-net-1', 'alpha-net-3']);
  });
});

test('without the right to read Machines, the address of the load balancer is served as before', async () => {
  const network = new ControlPlaneNetwork();
  const management = await Management.start();
  try {
    await network.serve('vip', VIP);
    addAlpha(management, network.networkId);
    const isthmus = management.instance('net-1');
    const rules = neededRules({ namespace: null, clusterNamespace: null });
    management.api.access.set(
      'system:isthmus:net-1',
      rules.filter(({ resources }) => resources?.includes('machines') !== true),
    );
    await isthmus.start(...FAST);
    await until('its slice is ready', () => isReady(management, 'alpha-net-1'));
    expect(await answerOf(isthmus, 'alpha')).toBe('I am vip');
    expect(await waysOf(isthmus)).toEqual(['vip up']);
    const { ready, problems } = await isthmus.status();
    expect({ ready, problems }).toEqual({ ready: true, problems: [] });
    expect(await textOf(isthmus)).toContain('the Machines of control planes are unreadable');

    // The right is granted later: the next attempt of the watch finds the machines.
    management.api.access.set('system:isthmus:net-1', rules);
    await until('the machines are ways', async () => (await waysOf(isthmus)).length === 4);
    await until('no hint is left', async () => !(await textOf(isthmus)).includes('unreadable'));
  } finally {
    await management.stop();
    await network.stop();
  }
});
