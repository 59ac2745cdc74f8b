// What the site offers to other files of this suite: machines in tenants' networks, the definitions of real releases, and Isthmus in a
// container, from a root filesystem directory and with the privileges of a DaemonSet's template.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { realDefinition } from '../kube-api/definitions.ts';
import { containersMissing, type PodTemplate } from './container.ts';
import { INSTALLED } from './instance.ts';
import { sshBanner } from './machine.ts';
import { makeRootFilesystem } from './root-filesystem.ts';
import { Site } from './site.ts';
import { NAMESPACE } from './workload.ts';

const missing = containersMissing();
if (missing !== null) console.warn(`NOT TESTED: Isthmus in a container (${missing})`);

/** The DaemonSet's Pods, as far as it decides how they run. */
const POD: PodTemplate = {
  spec: {
    volumes: [{ name: 'netns', hostPath: { path: '/run/netns' } }],
    containers: [
      {
        command: ['/usr/bin/node', '/opt/isthmus/dist/main.js'],
        args: ['run'],
        env: [
          { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        ],
        volumeMounts: [
          { name: 'netns', mountPath: '/run/netns', readOnly: true, mountPropagation: 'HostToContainer' },
        ],
        securityContext: {
          runAsUser: 0,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] },
          seccompProfile: { type: 'Localhost' },
        },
      },
    ],
  },
};
/** Enough to see that a profile is in force. */
const SECCOMP = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['mount', 'umount2', 'ptrace', 'bpf'], action: 'SCMP_ACT_ERRNO' }],
};

let site: Site;

beforeAll(async () => {
  site = await Site.start({
    nodes: [{ name: 'net-1', privileges: 'pod' }],
    definition: realDefinition('openstackclusters-capo-0.12.yaml'),
    machineDefinition: realDefinition('machines-cluster-api-1.11.yaml'),
  });
  await site.addWorkload({ name: 'alpha' }, []);
  await site.management.addCluster(site.workload('alpha'));
});
afterAll(async () => await site?.stop());

test.skipIf(missing !== null)(
  'Isthmus serves from a root filesystem, in a container with SYS_ADMIN alone, and sees a namespace that is made later',
  async () => {
    site.useImage('net-1', {
      rootfs: makeRootFilesystem(join(site.directory, 'rootfs')),
      pod: POD,
      seccomp: SECCOMP,
      extraMounts: { '/opt/isthmus': INSTALLED },
    });
    const instance = site.instance('net-1');
    instance.start();
    await site.until('it is there', async () => (await site.management.names('leases')).length === 1);
    site.attach(site.workload('alpha'), 'net-1');
    const kubeconfig = await site.proxiedKubeconfig('alpha');
    await site.until('the rules lead there', () => site.client().leadsTo('10.250.0.21'));
    expect(await site.client().kubectl(kubeconfig, 'get', '--raw', '/')).toBe('I am alpha');

    const { pid } = instance.process;
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    const status = readFileSync(`/proc/${first}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
    expect([field('Uid'), field('NoNewPrivs'), field('Seccomp')]).toEqual(['0', '1', '2']);
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) expect(field(set)).toBe('0000000000200000');
    for (const set of ['CapAmb', 'CapInh']) expect(field(set)).toBe('0000000000000000');
    expect(readFileSync(`/proc/${first}/mountinfo`, 'utf8')).toMatch(/ \/ \/ ro,| \/\S* \/ ro,/);

    instance.process.signal('SIGTERM');
    await instance.process.ended();
    expect(instance.process.exitCode).toBe(0);
    expect(await site.management.slices('alpha')).toEqual([]);
  },
);

test('machines answer in their tenant’s network, and Cluster API knows them', async () => {
  const label = { 'infrastructure.cluster.x-k8s.io/machine-name': 'bootstrap' };
  const machine = { cluster: 'alpha', name: 'bootstrap', address: '10.0.0.31', labels: label };
  await site.addMachine({ ...machine, serves: 'ssh' });
  await site.addMachine({
    cluster: 'alpha',
    name: 'worker',
    address: '10.0.0.32',
    serves: 'echo',
    port: 8080,
  });
  const program = `require('net').connect(22, '10.0.0.31').once('data', (data) => { console.log(String(data)); process.exit(0) })`;
  const { stdout } = await promisify(execFile)(
    'ip',
    ['netns', 'exec', 'alpha', process.execPath, '-e', program],
    { timeout: 60_000 },
  );
  expect(stdout.trim()).toBe(sshBanner('bootstrap'));

  const names = (selector: string) =>
    site.management.kubectl('get', 'machines', '-n', NAMESPACE, '-o', 'name', '-l', selector);
  expect(await names('infrastructure.cluster.x-k8s.io/machine-name=bootstrap')).toBe(
    'machine.cluster.x-k8s.io/bootstrap',
  );
  await site.management.labelMachine('worker', { generation: 'green' });
  expect(await names('generation=green')).toBe('machine.cluster.x-k8s.io/worker');
  await site.management.labelMachine('worker', { generation: null });
  expect(await names('generation=green')).toBe('');
  await site.management.deleteMachine('worker');
  await site.until('it is gone', async () => !(await names('')).includes('worker'));
  await site.machines.get('worker')?.remove();
});

test('manifests of deploy/ are applied as they stand, and one that is not there is named', async () => {
  await site.management.apply('examples/kubernetes-source');
  await expect(site.management.apply('nowhere.yaml')).rejects.toThrow('nowhere.yaml');
});
