// The features of the site for other files of this suite: machines in tenants' networks, the definitions of real releases, and Isthmus in
// a container, from a root filesystem directory and with the privileges of a DaemonSet's template.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { realDefinition } from '../kube-api/definitions.ts';
import { containersMissing } from './container.ts';
import { INSTALLED } from './instance.ts';
import { sshBanner } from './machine.ts';
import { makeRootFilesystem } from './root-filesystem.ts';
import { Site } from './site.ts';
import { NAMESPACE } from './workload.ts';

const missing = containersMissing();
if (missing !== null) console.warn(`NOT TESTED: Isthmus in a container (${missing})`);

/** Enough to detect that a profile is active. */
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
    manifests: ['manifests/isthmus.yaml'],
  });
  // No port on the network yet.
  await site.addWorkload({ name: 'kube-1' }, []);
  await site.management.addCluster(site.workload('kube-1'));
});
afterAll(async () => await site?.stop());

const nodeStatus = (pid: number | string) => readFileSync(`/proc/${pid}/status`, 'utf8');

test.skipIf(missing !== null)(
  'the DaemonSet’s Pod serves from a root filesystem, with only SYS_ADMIN, and sees a namespace that is created later',
  async () => {
    site.useImage('net-1', {
      rootfs: makeRootFilesystem(join(site.directory, 'rootfs')),
      pod: await site.management.podTemplate('isthmus'),
      entrypoint: ['/usr/bin/node', '/opt/isthmus/dist/main.js'],
      seccomp: SECCOMP,
      extraMounts: { '/opt/isthmus': INSTALLED },
    });
    const instance = site.instance('net-1');
    instance.start();
    await site.until('it is there', async () => (await site.management.names('leases')).length === 1);
    site.attach(site.workload('kube-1'), 'net-1');
    const kubeconfig = await site.proxiedKubeconfig('kube-1');
    await site.until('the rules lead there', () => site.client().leadsTo('10.250.0.21', 16443));
    expect(await site.client().kubectl(kubeconfig, 'get', '--raw', '/')).toBe('I am kube-1');

    const { pid } = instance.process;
    const [first = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    const status = nodeStatus(first);
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
    expect([field('Uid'), field('NoNewPrivs'), field('Seccomp')]).toEqual(['0', '1', '2']);
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) expect(field(set)).toBe('0000000000200000');
    for (const set of ['CapAmb', 'CapInh']) expect(field(set)).toBe('0000000000000000');
    expect(readFileSync(`/proc/${first}/mountinfo`, 'utf8')).toMatch(/^\S+ \S+ \S+ \S+ \/ ro,/m);
  },
);

test('machines answer in their tenant’s network, and Cluster API has their Machine objects', async () => {
  const label = { 'infrastructure.cluster.x-k8s.io/machine-name': 'bootstrap' };
  const bootstrap = { cluster: 'kube-1', name: 'kube-1-bootstrap', address: '10.0.0.31', labels: label };
  await site.addMachine({ ...bootstrap, serves: 'ssh' });
  await site.addMachine({
    cluster: 'kube-1',
    name: 'worker',
    address: '10.0.0.32',
    serves: 'echo',
    port: 8080,
  });
  const names = (selector: string) =>
    site.management.kubectl('get', 'machines', '-n', NAMESPACE, '-o', 'name', '-l', selector);
  expect(await names('infrastructure.cluster.x-k8s.io/machine-name=bootstrap')).toBe(
    'machine.cluster.x-k8s.io/kube-1-bootstrap',
  );
  await site.management.labelMachine('worker', { generation: 'green' });
  expect(await names('generation=green')).toBe('machine.cluster.x-k8s.io/worker');
  await site.management.labelMachine('worker', { generation: null });
  expect(await names('generation=green')).toBe('');
  await site.management.deleteMachine('worker');
  await site.until('it is gone', async () => !(await names('')).includes('worker'));
  await site.machines.get('worker')?.remove();
});

test.skipIf(missing !== null)(
  'the listener of deploy/examples forwards port 22 of its Service to one machine, also while the API server is down',
  async () => {
    await site.workload('kube-1').kill();
    await site.management.apply('examples/listeners/bootstrap-ssh.yaml');
    const host = `kube-1-bootstrap-ssh.${NAMESPACE}`;
    const seconds = await site.until(
      'the machine answers by name and Service',
      async () => (await site.client().firstWords(host, 22)) === sshBanner('kube-1-bootstrap'),
    );
    console.log(`${seconds.toFixed(1)} s from the listener to the banner of the machine`);
  },
);

test.skipIf(missing !== null)(
  'after SIGTERM the container withdraws everything and ends in order',
  async () => {
    const { process } = site.instance('net-1');
    process.signal('SIGTERM');
    await process.ended();
    expect(process.exitCode).toBe(0);
    expect(await site.management.names('endpointslices')).toEqual([]);
  },
);

test('a missing manifest is named in the error', async () => {
  await expect(site.management.apply('nowhere.yaml')).rejects.toThrow('nowhere.yaml');
});
