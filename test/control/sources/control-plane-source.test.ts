// The source of control-plane Machines against the in-memory API: only these Machines are read, and no failure of it is a failure of more.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlPlaneSource } from '../../../src/control/sources/control-plane-source.ts';
import { type KubeClient, openKubeClient } from '../../../src/kube/kube-client.ts';
import { type ManagementApi, startManagementApi } from '../../fake-kube-api/management-api.ts';
import { neededRules } from '../../fake-kube-api/needed-access.ts';
import { machineDefinition } from '../../fake-kube-api/types/cluster-api-definitions.ts';
import { selfSigned } from '../../support/certificates.ts';
import { until } from '../../support/tcp.ts';

const NAMESPACE = 'magnum-system';
const USER = 'isthmus';
const MACHINE = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine' } as const;
const CONTROL_PLANE = { 'cluster.x-k8s.io/control-plane': '' };

let api: ManagementApi;
let directory: string;
let source: ControlPlaneSource;
let changes: number;
/** The selectors of all lists and watches of Machines. */
let selectors: Set<unknown>;
let close: () => Promise<void>;

async function open({
  definitions = [machineDefinition()],
  access = allowed(),
  namespace = NAMESPACE,
  failing = false,
} = {}) {
  const { cert, key } = selfSigned('127.0.0.1', 'localhost');
  api = await startManagementApi({
    tls: { key, cert, ca: cert },
    tokens: new Map([['token', USER]]),
    access: new Map([[USER, access]]),
    namespaces: [NAMESPACE, 'tenant-b'],
    definitions,
  });
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, api.kubeconfig(USER));
  const client = await openKubeClient({ kubeconfig, environment: {}, userAgent: 'test' });
  selectors = new Set();
  const note = (path: string, query: unknown) => {
    if (path.endsWith('/machines')) selectors.add((query as { labelSelector?: string }).labelSelector);
  };
  const noting: KubeClient = Object.create(client, {
    request: {
      value: (wanted: Parameters<KubeClient['request']>[0]) => {
        note(wanted.path, wanted.query);
        return client.request(wanted);
      },
    },
    watch: {
      value: (wanted: Parameters<KubeClient['watch']>[0]) => {
        note(wanted.path, wanted.query);
        return client.watch(wanted);
      },
    },
  });
  changes = 0;
  source = new ControlPlaneSource({
    client: noting,
    namespace,
    onChange: () => {
      changes += 1;
    },
  });
  close = async () => {
    await source.stop();
    await client.close();
    await api.close();
  };
  if (failing) api.faults.inject({ resource: 'machines' }, { kind: 'status', code: 500 });
  source.start();
  await source.ready();
}

const allowed = () => neededRules({ namespace: null, clusterNamespace: null });
const forbidden = () => allowed().filter(({ resources }) => resources?.includes('machines') !== true);

const add = (name: string, labels: Readonly<Record<string, string>>, namespace = NAMESPACE) =>
  api.store.create({
    ...MACHINE,
    metadata: { name, namespace, labels },
    spec: { clusterName: 'kube-1', bootstrap: {}, infrastructureRef: {} },
    status: { addresses: [{ type: 'InternalIP', address: '10.0.0.11' }] },
  });
/** With an address: the API writes the status after the object. */
const found = () => source.snapshot().filter(({ addresses }) => addresses.length > 0);
const names = () =>
  found()
    .map(({ key }) => key)
    .sort();
const machine = (name: string) => found().find((each) => each.name === name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'isthmus-control-plane-source-'));
});
afterEach(async () => {
  await close();
  rmSync(directory, { recursive: true, force: true });
});

test('only Machines of control planes in the namespace of the clusters are read, and the server selects them', async () => {
  await open();
  add('worker', { role: 'worker' });
  add('cp-b', CONTROL_PLANE, 'tenant-b');
  add('cp-1', { ...CONTROL_PLANE, role: 'any' });
  await until('it is found', () => names().length > 0);
  expect(names()).toEqual([`${NAMESPACE}/cp-1`]);
  expect(machine('cp-1')).toMatchObject({
    cluster: 'kube-1',
    addresses: ['10.0.0.11'],
    labels: CONTROL_PLANE,
  });
  expect(selectors).toEqual(new Set(['cluster.x-k8s.io/control-plane']));
  expect(source.problem).toBeNull();

  const before = machine('cp-1');
  const patch = (metadata: object) =>
    api.store.patch({ ...MACHINE, namespace: NAMESPACE, name: 'cp-1' }, { metadata });
  const seen = changes;
  patch({ labels: { role: 'other' } });
  add('cp-2', CONTROL_PLANE);
  await until('the next one is found', () => names().length === 2);
  // The edit of another label came before it, and changed nothing.
  expect(changes).toBe(seen + 2);
  expect(machine('cp-1')).toBe(before);
  patch({ labels: { 'cluster.x-k8s.io/control-plane': null } });
  await until('it has left', () => names().join() === `${NAMESPACE}/cp-2`);
});

test('without the right there is no Machine and a problem, and the right can be granted at any time', async () => {
  await open({ access: forbidden() });
  add('cp-1', CONTROL_PLANE);
  expect(names()).toEqual([]);
  expect(source.problem).toMatch(/machines/);
  // No cluster waits for a right that the site may never grant.
  expect(source.isKnown()).toBe(true);
  api.access.set(USER, allowed());
  await until('it is found', () => names().join() === `${NAMESPACE}/cp-1`);
  await until('no problem is left', () => source.problem === null);
  // A right that is taken away later keeps the known Machines.
  api.access.set(USER, forbidden());
  api.faults.endWatches();
  await until('the watch fails', () => source.problem !== null);
  expect(names()).toEqual([`${NAMESPACE}/cp-1`]);
});

test('Machines are unknown while the first list fails, and known from the first good one on', async () => {
  await open({ failing: true });
  expect([source.isKnown(), names()]).toEqual([false, []]);
  api.faults.clear();
  await until('they are listed', () => source.isKnown());
});

test('without Cluster API there is no Machine and no problem', async () => {
  await open({ definitions: [] });
  expect([names(), source.problem]).toEqual([[], null]);
});
