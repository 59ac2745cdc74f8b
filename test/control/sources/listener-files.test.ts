// Additional listeners from manifests (`--source file:`) on the built program: a dedicated port, a machine in a real namespace, and
// changes of the files.
import { unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Isthmus } from '../../support/isthmus.ts';
import { ip } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { until } from '../../support/tcp.ts';
import { TwoClusters } from '../../support/two-clusters.ts';

const RANGE = '17400-17403';
const MACHINES = [
  ['worker-1', '10.0.0.11', 'worker'],
  ['edge-1', '10.0.0.12', 'edge'],
] as const;

const clusters = new TwoClusters();
const isthmus = new Isthmus();
const servers: NetnsServer[] = [];

const machine = (name: string, address: string, role: string) => `apiVersion: cluster.x-k8s.io/v1beta1
kind: Machine
metadata: { name: ${name}, namespace: magnum-system, labels: { role: ${role} } }
spec: { clusterName: alpha }
status: { addresses: [{ type: InternalIP, address: ${address} }] }
`;
const listener = (role: string, name = 'ssh', port = 22) => `apiVersion: isthmus.dev/v1alpha1
kind: AdditionalListener
metadata: { name: ${name}, namespace: magnum-system, uid: as-kubectl-get-wrote-it }
spec: { clusterName: alpha, port: ${port}, targetPort: 22, selector: { matchLabels: { role: ${role} } } }
`;

beforeAll(async () => {
  await clusters.start();
  const { netns, manifest } = clusters.alpha;
  for (const [name, address] of MACHINES) {
    ip('-n', netns, 'address', 'add', `${address}/32`, 'dev', 'lo');
    servers.push(await NetnsServer.start(netns, 'name', address, '22', name));
  }
  isthmus.writeManifest('alpha.yaml', manifest);
  isthmus.writeManifest(
    'machines.yaml',
    MACHINES.map(([name, address, role]) => machine(name, address, role)).join('---\n'),
  );
  isthmus.writeManifest('ssh.yaml', listener('worker'));
  await isthmus.start('--listener-ports', RANGE, '--health-interval', '200ms');
});
afterAll(async () => {
  await isthmus.stop();
  for (const server of servers) await server.stop();
  await clusters.stop();
});

interface Shown {
  readonly name: string;
  readonly state: string;
  readonly listenPort: number | null;
}
const shown = async (called = 'ssh') =>
  ((await isthmus.status()) as unknown as { listeners: readonly Shown[] }).listeners.find(
    ({ name }) => name === called,
  );

/** The name that the server on that port sends; empty if no server answers. */
const who = (port: number) =>
  new Promise<string>((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) socket.end();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text.trim()));
  });

describe('a listener from a file', () => {
  test('gets its own port and forwards to the machines that it selects', async () => {
    await until('it serves', async () => (await shown())?.state === 'serving');
    expect((await isthmus.status()).problems).toEqual([]);
    const port = (await shown())?.listenPort ?? 0;
    expect(port).toBeGreaterThanOrEqual(17_400);
    expect(await who(port)).toBe('worker-1');
  });

  test('forwards to other machines on the same port after its file changes', async () => {
    const port = (await shown())?.listenPort ?? 0;
    isthmus.writeManifest('ssh.yaml', listener('edge'));
    await until('the other one answers', async () => (await who(port)) === 'edge-1');
    expect(await shown()).toMatchObject({ state: 'serving', listenPort: port });
  });

  test('gets the port that it requests, if the port is in --listener-ports', async () => {
    isthmus.writeManifest('chosen.yaml', listener('edge', 'chosen', 17_403));
    await until('it serves', async () => (await shown('chosen'))?.state === 'serving');
    expect(await shown('chosen')).toMatchObject({ listenPort: 17_403 });
    expect(await who(17_403)).toBe('edge-1');
  });

  test('is removed with its document', async () => {
    const port = (await shown())?.listenPort ?? 0;
    unlinkSync(join(isthmus.directory, 'ssh.yaml'));
    await until('it is gone', async () => (await shown()) === undefined);
    await until('its port too', async () => (await who(port)) === '');
  });
});
