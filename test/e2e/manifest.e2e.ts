// Runs with the exact settings, privileges and rights of deploy/manifests/isthmus.yaml: a port that differs from the Services', probes
// for kubelet, and a shutdown within the Pod's grace period.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { Site } from './site.ts';

const FILE = new URL('../../deploy/manifests/isthmus.yaml', import.meta.url);
// biome-ignore lint/suspicious/noExplicitAny: a wrong path fails the test
const OBJECTS = parseAllDocuments(readFileSync(FILE, 'utf8')).map((document) => document.toJS() as any);
const POD = OBJECTS.find(({ kind }) => kind === 'DaemonSet').spec.template.spec;
const [CONTAINER] = POD.containers;
/** As flags, because an instance has only the variables of a Pod; the test sets the log flags. The kubelet expands the variable. */
const FLAGS = (CONTAINER.env as { name: string; value?: string }[])
  .filter(({ name, value }) => value !== undefined && !name.startsWith('ISTHMUS_LOG_'))
  .map(({ name, value }) => [name.replace('ISTHMUS_', ''), value?.replace('$(POD_TEMPLATE_GENERATION)', '1')])
  .map(([name, value]) => `--${name?.toLowerCase().replaceAll('_', '-')}=${value}`);
const ADDRESS = '10.250.0.21';

let site: Site;
beforeAll(async () => {
  site = await Site.start({ nodes: [{ name: 'net-1', privileges: 'pod' }], flags: FLAGS });
  await site.management.addCluster(await site.addWorkload({ name: 'alpha', real: true }, ['net-1']));
  site.instance('net-1').start();
});
afterAll(() => site?.stop());

/** From another machine, as kubelet and Prometheus do. */
async function asked(path: string): Promise<string> {
  const { port } = CONTAINER.livenessProbe.httpGet;
  const curl = ['curl', '--silent', '--max-time', '10', `http://${ADDRESS}:${port}${path}`];
  const { stdout } = await promisify(execFile)('ip', ['netns', 'exec', 'client-nftables', ...curl]);
  return stdout;
}

test('clients reach the cluster at port 6443 of its Service, through port 16443 of the node', async () => {
  const loop = site.client().loop(await site.proxiedKubeconfig('alpha'), 100);
  await site.until('clients are served', () => loop.tries.some(({ ok }) => ok));
  await loop.more(20);
  await loop.stop();
  expect(loop.tries.slice(-20).filter(({ ok }) => !ok)).toEqual([]);
  const path = '/apis/discovery.k8s.io/v1/namespaces/magnum-system/endpointslices/alpha-net-1';
  expect((await site.management.client.get(path)).body).toMatchObject({
    ports: [{ port: 16443 }],
    endpoints: [{ addresses: [ADDRESS] }],
  });
});

test('the instance answers its probes and Prometheus', async () => {
  for (const probe of [CONTAINER.livenessProbe, CONTAINER.readinessProbe])
    expect(await asked(probe.httpGet.path)).toBe('ok\n');
  const metrics = await asked('/metrics');
  expect(metrics).toContain('isthmus_kubernetes_lease_held 1');
  expect(metrics).toContain('isthmus_cluster_serving{namespace="magnum-system",cluster="alpha"} 1');
});

test('the instance reports no problem, and no right is missing', async () => {
  const status = JSON.parse(await site.instance('net-1').ask('status', '--json'));
  expect(status).toMatchObject({ ready: true, problems: [] });
  expect(
    site
      .instance('net-1')
      .log()
      .filter((line) => JSON.stringify(line).includes('forbidden')),
  ).toEqual([]);
});

test('after SIGTERM the instance ends in order before kubelet would kill it', async () => {
  const started = performance.now();
  await site.instance('net-1').stop('SIGTERM', POD.terminationGracePeriodSeconds * 1000);
  expect(site.instance('net-1').process.exitCode).toBe(0);
  expect(performance.now() - started).toBeLessThan(POD.terminationGracePeriodSeconds * 1000);
  expect(await site.management.slices('alpha')).toEqual([]);
});
