// The source of additional listeners against the in-memory API: CRDs that are installed late, machines that are watched only when needed,
// missing rights.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ListenerSource } from '../../../src/control/sources/listener-source.ts';
import { openKubeClient } from '../../../src/kube/kube-client.ts';
import { type ManagementApi, startManagementApi } from '../../fake-kube-api/management-api.ts';
import { neededRules } from '../../fake-kube-api/needed-access.ts';
import { additionalListenerDefinition } from '../../fake-kube-api/types/additional-listener-definition.ts';
import { machineDefinition } from '../../fake-kube-api/types/cluster-api-definitions.ts';
import { selfSigned } from '../../support/certificates.ts';
import { until } from '../../support/tcp.ts';

const NAMESPACE = 'magnum-system';
const USER = 'isthmus';
const LISTENER = { apiVersion: 'isthmus.dev/v1alpha1', kind: 'AdditionalListener' } as const;
const MACHINE = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine' } as const;

let api: ManagementApi;
let directory: string;
let source: ListenerSource;
let close: () => Promise<void>;

async function open(
  definitions: readonly object[],
  access = neededRules({ namespace: null, clusterNamespace: null }),
  laterMs = () => 0,
) {
  const { cert, key } = selfSigned('127.0.0.1', 'localhost');
  api = await startManagementApi({
    tls: { key, cert, ca: cert },
    tokens: new Map([['token', USER]]),
    access: new Map([[USER, access]]),
    namespaces: [NAMESPACE],
    definitions: definitions as ReturnType<typeof machineDefinition>[],
  });
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, api.kubeconfig(USER));
  const client = await openKubeClient({ kubeconfig, environment: {}, userAgent: 'test' });
  source = new ListenerSource({
    client,
    namespace: NAMESPACE,
    settings: { ignoredLabels: new Set() },
    onChange: () => {},
    now: () => performance.now() + laterMs(),
  });
  close = async () => {
    await source.stop();
    await client.close();
    await api.close();
  };
  await source.start();
}

const addListener = (name: string) =>
  api.store.create({
    ...LISTENER,
    metadata: { name, namespace: NAMESPACE },
    spec: { clusterName: 'kube-1', port: 22 },
  });
const addMachine = (name: string, address: string) =>
  api.store.create({
    ...MACHINE,
    metadata: { name, namespace: NAMESPACE, labels: { role: 'worker' } },
    spec: { clusterName: 'kube-1', bootstrap: {}, infrastructureRef: {} },
    status: { addresses: [{ type: 'InternalIP', address }] },
  });
const names = () => source.snapshot().listeners.map(({ name }) => name);
const machines = () => source.snapshot().machines.map(({ name, addresses }) => `${name} ${addresses}`);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'isthmus-listener-source-'));
});
afterEach(async () => {
  await close();
  rmSync(directory, { recursive: true, force: true });
});

test('without the CRD there are no listeners and no problem, and the CRD can be installed at any time', async () => {
  await open([machineDefinition()]);
  expect(source.snapshot()).toMatchObject({ complete: true, kindAbsent: true, listeners: [], problems: [] });
  api.store.create(additionalListenerDefinition());
  addListener('ssh');
  await until('it is found', () => names().join() === 'ssh');
  expect(source.snapshot().kindAbsent).toBe(false);
});

test('machines are watched only while there is a listener', async () => {
  await open([additionalListenerDefinition(), machineDefinition()]);
  addMachine('m-1', '10.0.0.1');
  await until('it listens', () => source.snapshot().complete);
  expect(source.snapshot()).toMatchObject({ listeners: [], machinesKnown: false });
  expect(Object.keys(api.requests(USER)).join()).not.toContain('machines');
  addListener('ssh');
  await until('machines are known', () => machines().join() === 'm-1 10.0.0.1');
  addMachine('m-2', '10.0.0.2');
  await until('the second too', () => machines().length === 2);
  api.store.delete({ ...LISTENER, namespace: NAMESPACE, name: 'ssh' });
  await until('no listener is left', () => machines().length === 0 && names().length === 0);
  await until('the watch is closed', () => api.openWatches === 1);
  addListener('again');
  await until('they are back', () => machines().length === 2);
});

test('a write that changes no field that the source reads is no change', async () => {
  await open([additionalListenerDefinition(), machineDefinition()]);
  addListener('ssh');
  addMachine('m-1', '10.0.0.1');
  await until('it is there', () => machines().length === 1);
  const before = source.snapshot();
  const ref = { ...MACHINE, namespace: NAMESPACE, name: 'm-1' };
  api.store.patch(ref, { spec: { providerID: 'openstack:///1' } });
  api.store.patch(ref, { metadata: { labels: { role: 'edge' } } });
  await until('the label is seen', () => source.snapshot().machines[0]?.labels.role === 'edge');
  expect(source.snapshot().listeners[0]).toBe(before.listeners[0]);
});

describe('a missing right', () => {
  const without = (resource: string) =>
    neededRules({ namespace: null, clusterNamespace: null }).filter(
      ({ resources }) => resources?.includes(resource) !== true,
    );

  test('to machines leaves the listeners known and reports the reason', async () => {
    await open([additionalListenerDefinition(), machineDefinition()], without('machines'));
    addListener('ssh');
    await until('the snapshot has the problem', () => source.snapshot().machinesProblem !== null);
    expect(source.snapshot()).toMatchObject({ complete: true, machinesKnown: false });
    expect(source.snapshot().machinesProblem).toMatch(/forbidden: cannot list .*machines/);
    api.access.set(USER, neededRules({ namespace: null, clusterNamespace: null }));
    await until('it is made up for', () => source.snapshot().machinesKnown);
    await until('nothing is wrong', () => source.snapshot().problems.length === 0);
  });

  test('to listeners does not make an empty list count as complete', async () => {
    await open([additionalListenerDefinition(), machineDefinition()], without('additionallisteners'));
    expect(source.snapshot().complete).toBe(false);
    expect(source.snapshot().problems[0]?.reason).toMatch(/forbidden: cannot list .*additionallisteners/);
  });
});

describe('a CRD that is deleted', () => {
  const takeAway = () =>
    api.store.delete({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      name: 'additionallisteners.isthmus.dev',
    });
  const ABSENT = { complete: true, kindAbsent: true, listeners: [], problems: [] };
  const isAbsent = () =>
    source.snapshot().kindAbsent === true &&
    source.snapshot().listeners.length === 0 &&
    source.snapshot().problems.length === 0;

  test('removes its listeners, returns to the state of a start without it, and can be installed again', async () => {
    await open([additionalListenerDefinition(), machineDefinition()]);
    addListener('ssh');
    addMachine('m-1', '10.0.0.1');
    await until('all is there', () => machines().length === 1);
    takeAway();
    await until('that is noticed', isAbsent);
    expect(source.snapshot()).toMatchObject({ ...ABSENT, machinesKnown: false });
    await until('nothing is watched any more', () => api.openWatches === 0);
    api.store.create(additionalListenerDefinition());
    addListener('again');
    await until('it is found', () => names().join() === 'again' && machines().length === 1);
    expect(source.snapshot()).toMatchObject({ complete: true, kindAbsent: false, problems: [] });
  });

  test('while its watch is down keeps its listeners for a minute with a problem, and then removes them', async () => {
    let laterMs = 0;
    await open([additionalListenerDefinition(), machineDefinition()], undefined, () => laterMs);
    addListener('ssh');
    await until('it is there', () => names().length === 1);
    const away = api.faults.inject({ resource: 'additionallisteners', verb: 'watch' }, { kind: 'cut' });
    api.faults.cutWatches();
    await until('it cannot be heard', () => away.hits > 0);
    takeAway();
    away.remove();
    const isTold = () => source.snapshot().problems.some(({ reason }) => reason.includes('not installed'));
    await until('that is noticed', isTold);
    expect(source.snapshot()).toMatchObject({ complete: true, kindAbsent: true });
    expect(names()).toEqual(['ssh']);
    laterMs = 60_000;
    await until('it is believed', isAbsent);
    expect(source.snapshot()).toMatchObject(ABSENT);
  });
});
