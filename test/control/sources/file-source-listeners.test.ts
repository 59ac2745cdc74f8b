// Additional listeners and machines from manifests, on real directories.
import { mkdtempSync, rmSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileSource } from '../../../src/control/sources/file-source.ts';
import { manifest as clusterManifest } from '../../support/isthmus.ts';
import { until } from '../../support/tcp.ts';

let directory: string;
let running: FileSource | null = null;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'isthmus-file-listeners-'));
});
afterEach(async () => {
  await running?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const manifest = (name: string) =>
  clusterManifest({ name, networkId: '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66', address: '10.0.0.5' });
const write = (name: string, text: string) => writeFileSync(join(directory, name), text);

async function started() {
  let changes = 0;
  const settings = { proxyAlways: false, ignoredLabels: new Set(['generation']) };
  const source = new FileSource({ directory, settings, intervalMs: 60_000, debounceMs: 20 });
  running = source;
  await source.start(() => {
    changes += 1;
  });
  return { source, changes: () => changes };
}

describe('additional listeners and machines', () => {
  const LISTENER = `apiVersion: isthmus.dev/v1alpha1
kind: AdditionalListener
metadata: { name: ssh, namespace: magnum-system }
spec: { clusterName: a, port: 22, rolloutLabels: { generation: blue }, selector: { matchLabels: { role: worker } } }
`;
  const MACHINE = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Machine
metadata: { name: m-1, namespace: magnum-system, labels: { role: worker } }
spec: { clusterName: a }
status: { addresses: [{ type: InternalIP, address: 10.0.0.9 }] }
`;

  test('Machines of control planes are also further ways to the API server', async () => {
    write('m.yaml', MACHINE);
    write(
      'cp.yaml',
      MACHINE.replace('m-1', 'cp-1').replace('role: worker', 'cluster.x-k8s.io/control-plane: ""'),
    );
    const { source } = await started();
    expect(source.controlPlanes.snapshot().map(({ key }) => key)).toEqual(['magnum-system/cp-1']);
    const before = source.controlPlanes.snapshot();
    await source.rescan();
    expect(source.controlPlanes.snapshot()).toBe(before);
  });

  test('are read from any file, together with clusters', async () => {
    write('a.yaml', `${manifest('a')}---\n${LISTENER}`);
    write('m.yaml', MACHINE);
    const { source } = await started();
    expect(source.snapshot()).toMatchObject({ complete: true, problems: [] });
    expect(source.listeners.snapshot()).toMatchObject({
      complete: true,
      machinesKnown: true,
      listeners: [
        { key: 'magnum-system/ssh', origin: 'a.yaml document 2', problems: [], definition: { port: 22 } },
      ],
      machines: [{ key: 'magnum-system/m-1', addresses: ['10.0.0.9'] }],
    });
  });

  test('have no uid even if the file names one, as kubectl get output does, so every field of a file can be edited', async () => {
    write('ssh.yaml', LISTENER.replace('name: ssh', 'name: ssh, uid: 5d2c'));
    const { source } = await started();
    expect(source.listeners.snapshot().listeners).toMatchObject([{ problems: [], object: { uid: null } }]);
  });

  test.each([
    [
      'port: 22',
      'port: 22, allowedCidrs: [192.0.2.0/24]',
      /^spec has a field "allowedCidrs", but only .*allowedCIDRs/,
    ],
    ['v1alpha1', 'v2', /^apiVersion is "isthmus.dev\/v2": expected isthmus.dev\/v1alpha1/],
  ])('are rejected if an API would reject them: %s → %s', async (right, wrong, problem) => {
    write('ssh.yaml', LISTENER.replace(right, wrong));
    const { source } = await started();
    const [read] = source.listeners.snapshot().listeners;
    expect(read?.definition).toBeNull();
    expect(read?.problems).toEqual([expect.stringMatching(problem)]);
  });

  test('follow their files: a changed label is one change, and a touched file causes none', async () => {
    write('m.yaml', MACHINE);
    write('ssh.yaml', LISTENER);
    const { source, changes } = await started();
    const before = source.listeners.snapshot();
    utimesSync(join(directory, 'm.yaml'), 1, 1);
    await source.rescan();
    expect(source.listeners.snapshot()).toBe(before);
    write('m.yaml', MACHINE.replace('role: worker', 'role: edge'));
    await until('it is seen', () => source.listeners.snapshot().machines[0]?.labels.role === 'edge');
    write('ssh.yaml', LISTENER.replace('generation: blue', 'generation: green'));
    const asked = () =>
      source.listeners.snapshot().listeners[0]?.definition?.selection.members.requirements ?? [];
    await until('that too', () => asked().some(({ values }) => [...values].includes('green')));
    expect(changes()).toBe(2);
    unlinkSync(join(directory, 'ssh.yaml'));
    await until('it is gone', () => source.listeners.snapshot().listeners.length === 0);
  });

  test('stay known while their file cannot be read', async () => {
    write('ssh.yaml', LISTENER);
    const { source } = await started();
    write('ssh.yaml', 'a: [');
    await until('it is noticed', () => !source.listeners.snapshot().complete);
    expect(source.listeners.snapshot().listeners).toHaveLength(1);
  });

  test('with the same name: the first by file name counts, and a problem names the other', async () => {
    write('1.yaml', LISTENER);
    write('2.yaml', LISTENER.replace('port: 22', 'port: 23'));
    const { source } = await started();
    expect(source.listeners.snapshot().listeners.map(({ definition }) => definition?.port)).toEqual([22]);
    expect(source.snapshot().problems).toEqual([
      { origin: '2.yaml', reason: expect.stringContaining('magnum-system/ssh is in 1.yaml too') },
    ]);
  });
});
