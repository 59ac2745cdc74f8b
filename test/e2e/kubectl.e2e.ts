// The same kubectl commands have the same result on the in-memory API as on a real one, because the demo invites users to run kubectl.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startManagementApi } from '../fake-kube-api/management-api.ts';
import { selfSigned } from '../support/certificates.ts';
import { until, WAIT_MS, within } from '../support/tcp.ts';
import { componentCommand } from './component.ts';
import { ControlPlane } from './control-plane.ts';

const CRDS = fileURLToPath(new URL('./crds', import.meta.url));

const MANIFEST = (label: string) => `apiVersion: v1
kind: Service
metadata: {name: alpha, namespace: magnum-system, labels: {team: ${label}}}
spec: {ports: [{name: https, port: 6443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: alpha-node-1, namespace: magnum-system, labels: {kubernetes.io/service-name: alpha}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.7], conditions: {ready: true}}]
ports: [{name: https, port: 6443, protocol: TCP}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: isthmus-node-1, namespace: magnum-system}
spec: {holderIdentity: node-1/x, leaseDurationSeconds: 30}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: alpha-x7k2p, namespace: magnum-system, labels: {cluster.x-k8s.io/cluster-name: alpha}}
spec: {identityRef: {name: cloud, cloudName: default}, disableAPIServerFloatingIP: true}
`;

interface Started {
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

async function startEmbedded(): Promise<Started> {
  const { cert, key } = selfSigned('127.0.0.1', 'localhost');
  const tokens = new Map([['admin-token', 'admin']]);
  const api = await startManagementApi({ tls: { key, cert, ca: cert }, tokens });
  return { kubeconfig: api.kubeconfig(), stop: () => api.close() };
}

async function startReal(): Promise<Started> {
  const controlPlane = new ControlPlane();
  await controlPlane.start();
  return { kubeconfig: controlPlane.kubeconfig(), stop: () => controlPlane.stop() };
}

describe.each([
  ['the in-memory API', startEmbedded],
  ['a real API server', startReal],
])('kubectl on %s', (_title, start) => {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-kubectl-'));
  const kubeconfig = join(directory, 'kubeconfig');
  const manifest = join(directory, 'objects.yaml');
  let api: Started | null = null;

  const command = (args: readonly string[]) =>
    componentCommand('kubectl', [`--kubeconfig=${kubeconfig}`, `--cache-dir=${directory}/cache`, ...args]);
  const kubectl = async (...args: readonly string[]) => {
    const { stdout, stderr } = await promisify(execFile)(...command(args), { timeout: 120_000 });
    return `${stdout}${stderr}`.trim();
  };
  const refusal = async (...args: readonly string[]) => {
    const failed = await kubectl(...args).catch((error: { stderr: string }) => error.stderr.trim());
    return failed;
  };

  beforeAll(async () => {
    api = await start();
    writeFileSync(kubeconfig, api.kubeconfig);
    // Not `create namespace`: it uses protobuf, which the in-memory API does not support.
    writeFileSync(manifest, 'apiVersion: v1\nkind: Namespace\nmetadata: {name: magnum-system}\n');
    await kubectl('apply', '-f', manifest);
    await kubectl('apply', '-f', CRDS);
    await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=100s');
    await until(
      'the kinds are served',
      async () => (await kubectl('get', 'openstackclusters,machines', '-A').catch(() => 'no')) !== 'no',
      120_000,
    );
  });
  afterAll(async () => {
    await api?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const NAMES = [
    'service/alpha',
    'endpointslice.discovery.k8s.io/alpha-node-1',
    'lease.coordination.k8s.io/isthmus-node-1',
    'openstackcluster.infrastructure.cluster.x-k8s.io/alpha-x7k2p',
  ];

  test('applies, applies again, and applies a change, with its own validation enabled', async () => {
    writeFileSync(manifest, MANIFEST('one'));
    expect(await kubectl('apply', '-f', manifest)).toBe(NAMES.map((name) => `${name} created`).join('\n'));
    expect(await kubectl('apply', '-f', manifest)).toBe(NAMES.map((name) => `${name} unchanged`).join('\n'));
    writeFileSync(manifest, MANIFEST('two'));
    expect(await kubectl('apply', '-f', manifest)).toContain('service/alpha configured');
    expect(
      await kubectl('get', 'service', 'alpha', '-n', 'magnum-system', '-o', 'jsonpath={.metadata.labels}'),
    ).toBe('{"team":"two"}');
    writeFileSync(manifest, MANIFEST('three').replace('ports: [{name: https, port: 6443}]', 'portz: []'));
    expect(await refusal('apply', '-f', manifest)).toContain(
      'strict decoding error: unknown field "spec.portz"',
    );
  });

  test('gets several kinds, as a table and as YAML, and describes them', async () => {
    const kinds = 'services,endpointslices,leases,openstackclusters';
    const table = await kubectl('get', kinds, '-n', 'magnum-system');
    for (const name of NAMES) expect(table).toContain(name);
    expect(table).toMatch(/NAME\s+TYPE\s+CLUSTER-IP\s+EXTERNAL-IP\s+PORT\(S\)\s+AGE/);
    expect(table).toContain('192.0.2.7');
    const names = await kubectl('get', kinds, '-n', 'magnum-system', '-o', 'name');
    expect(names.split('\n')).toEqual(NAMES);
    expect(await kubectl('get', 'svc', 'alpha', '-n', 'magnum-system', '-o', 'yaml')).toContain(
      'targetPort: 6443',
    );
    expect(
      await kubectl('get', 'osc', '-n', 'magnum-system', '-l', 'cluster.x-k8s.io/cluster-name=beta'),
    ).toBe('No resources found in magnum-system namespace.');
    const described = await kubectl('describe', 'service', 'alpha', '-n', 'magnum-system');
    expect(described).toMatch(/Endpoints:\s+192\.0\.2\.7:6443/);
    expect(await kubectl('describe', 'osc', 'alpha-x7k2p', '-n', 'magnum-system')).toContain('alpha-x7k2p');
    expect(await refusal('get', 'service', 'nobody', '-n', 'magnum-system')).toBe(
      'Error from server (NotFound): services "nobody" not found',
    );
  });

  test('labels, patches, applies on the server and waits', async () => {
    const inNamespace = ['-n', 'magnum-system'];
    expect(await kubectl('label', 'service', 'alpha', 'x=y', ...inNamespace)).toBe('service/alpha labeled');
    const status = '{"status":{"ready":true,"network":{"id":"n-1","name":"net"}}}';
    expect(
      await kubectl(
        'patch',
        'osc',
        'alpha-x7k2p',
        '--subresource=status',
        '--type=merge',
        '-p',
        status,
        ...inNamespace,
      ),
    ).toContain('patched');
    await kubectl(
      'wait',
      'osc/alpha-x7k2p',
      '--for=jsonpath={.status.network.id}=n-1',
      '--timeout=100s',
      ...inNamespace,
    );
    writeFileSync(manifest, MANIFEST('two'));
    expect(await kubectl('apply', '--server-side', '--force-conflicts', '-f', manifest)).toBe(
      NAMES.map((name) => `${name} serverside-applied`).join('\n'),
    );
  });

  test('watches', async () => {
    const child = spawn(...command(['get', 'leases', '-n', 'magnum-system', '-w', '-o', 'name']), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const seen: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => seen.push(line));
    try {
      await until('the first line', () => seen.length === 1);
      await kubectl('create', '-n', 'magnum-system', '-f', await leaseFile('isthmus-node-2'));
      await until('the second line', () => seen.length === 2);
      expect(seen.map((line) => line.split('/').at(-1))).toEqual(['isthmus-node-1', 'isthmus-node-2']);
    } finally {
      child.kill();
      await within(WAIT_MS, 'the end of kubectl', once(child, 'exit'));
    }
  });

  test('deletes', async () => {
    expect(await kubectl('delete', '-f', manifest)).toContain('service "alpha" deleted');
    expect(await kubectl('get', 'services,endpointslices,openstackclusters', '-n', 'magnum-system')).toBe(
      'No resources found in magnum-system namespace.',
    );
  });

  async function leaseFile(name: string): Promise<string> {
    const file = join(directory, `${name}.yaml`);
    writeFileSync(
      file,
      `apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: ${name}}\nspec: {}\n`,
    );
    return file;
  }
});
