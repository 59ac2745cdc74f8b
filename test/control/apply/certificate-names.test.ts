// The names in an API server's certificate, on the built program: read once from a real TLS server in a netns, recorded on the slice, and
// used for the kubeconfig. --namespace differs from --cluster-namespace, so the name of the Service is in no certificate.
import { get } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selfSigned } from '../../support/certificates.ts';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS } from '../../support/two-clusters.ts';

const SERVICES = 'isthmus';
const SERVER = 'https://alpha.isthmus:6443';
const TLS_NAME = `alpha.${NAMESPACE}`;
const RECORD = 'isthmus.dev/server-certificate';
let site: PublishSite;
let isthmus: Isthmus;

beforeAll(async () => {
  site = await PublishSite.start();
  site.api.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SERVICES } });
  const { alpha, beta } = site.clusters;
  // Like a cluster of magnum-capi-helm: kubeadm's own names.
  await site.clusters.servers.get('beta')?.stop();
  await site.clusters.serve({ ...beta, certificate: selfSigned('kubernetes', 'kubernetes.default') });
  site.add(alpha, beta);
  isthmus = await site.instance('net-1', '--namespace', SERVICES, '--cluster-namespace', NAMESPACE);
});
afterAll(() => site.stop());

const slice = (name: string) =>
  site.api.store.get({ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: SERVICES, name });
const publication = async (cluster: string) =>
  (await isthmus.status()).clusters.find(({ name }) => name === cluster)?.publication;
const isNamed = () =>
  site.management.kubeconfig('alpha').includes(`    tls-server-name: ${TLS_NAME}\n    server: ${SERVER}`);
const ask = (servername: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { host, port } = isthmus;
    const ca = site.clusters.alpha.certificate.cert;
    get({ host, port, servername, ca, agent: false }, (response) => {
      response.setEncoding('utf8').on('data', (text: string) => resolve(text.trim()));
    }).on('error', reject);
  });

test('a kubeconfig gets the server of the Service, and a name that the certificate contains', async () => {
  await until('the kubeconfig has both', isNamed);
  // A client that does what the kubeconfig says verifies the certificate.
  expect(await ask(TLS_NAME)).toBe('I am alpha');
  await expect(ask('alpha.isthmus')).rejects.toThrow(/altnames/);
  const record = JSON.parse(slice('alpha-net-1')?.metadata.annotations?.[RECORD] ?? '{}');
  expect(record.names).toContain(TLS_NAME);
  expect(Date.parse(record.notAfter)).toBeGreaterThan(Date.now());
  const secret = site.management.get('v1', 'Secret', 'alpha-kubeconfig');
  expect(secret?.metadata.annotations).toMatchObject({
    'isthmus.dev/kubeconfig-server': SERVER,
    'isthmus.dev/kubeconfig-tls-server-name': TLS_NAME,
  });
});

test('a rotation of Cluster API, which keeps the server and the annotations, is followed by one write', async () => {
  await site.atRest(1500, 'net-1');
  const before = site.writesOf('net-1')['patch secrets'] ?? 0;
  site.management.rotateKubeconfig('alpha', SERVER);
  expect(isNamed()).toBe(false);
  await until('the name is back', isNamed);
  expect(site.management.kubeconfig('alpha')).toContain('Uk9UQVRFRA==');
  await site.atRest(1500, 'net-1');
  expect(site.writesOf('net-1')['patch secrets']).toBe(before + 1);
});

test('a kubeconfig that no client could verify is not written, and status, explain and an Event name what is there', async () => {
  await expect
    .poll(() => publication('beta'), { interval: 50 })
    .toMatchObject({
      slice: 'ready',
      kubeconfig: 'unverifiable',
      problem: expect.stringContaining('it has kubernetes, kubernetes.default'),
    });
  expect(site.management.kubeconfig('beta')).toContain(`server: https://${ADDRESS}:6443`);
  const { body } = await isthmus.get('/explain/beta');
  expect(body.replaceAll(/\s+/g, ' ')).toContain('it has kubernetes, kubernetes.default');
  const events = () =>
    site.api.store
      .list({ apiVersion: 'v1', kind: 'Event', namespace: NAMESPACE })
      .map(({ reason, message }) => `${reason}: ${message}`);
  await expect
    .poll(() => events().join('\n'), { interval: 50 })
    .toMatch(/CertificateNames: .*it has kubernetes, kubernetes.default/);
  const { body: metrics } = await isthmus.get('/metrics');
  expect(metrics).toMatch(
    /isthmus_cluster_certificate_not_after_seconds\{namespace="magnum-system",cluster="beta"\} \d{10}/,
  );
});

test('a restart reads the certificates again, and changes neither the record nor the kubeconfig', async () => {
  await site.atRest(1500, 'net-1');
  const record = () => slice('alpha-net-1')?.metadata.annotations?.[RECORD];
  const writes = () => site.writesOf('net-1')['patch secrets'];
  const before = [record(), writes()];
  isthmus.signal('SIGKILL');
  await isthmus.ended();
  isthmus = await site.instance('net-1', '--namespace', SERVICES, '--cluster-namespace', NAMESPACE);
  await expect
    .poll(async () =>
      (await isthmus.status()).clusters.filter(({ certificate }) => certificate !== undefined),
    )
    .toHaveLength(2);
  await site.atRest(1500, 'net-1');
  expect([record(), writes()]).toEqual(before);
  expect(isNamed()).toBe(true);
});

test('a tls-server-name of another writer is left alone, reported, and survives when the server is given back', async () => {
  const foreign = (text: string) => text.replace(TLS_NAME, 'vpn.example');
  const secret = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'alpha-kubeconfig' };
  const text = foreign(site.management.kubeconfig('alpha'));
  site.api.store.patch(secret, { data: { value: Buffer.from(text).toString('base64') } });
  await expect
    .poll(() => publication('alpha'), { interval: 50 })
    .toMatchObject({ kubeconfig: 'left-alone', problem: expect.stringContaining('"vpn.example"') });
  expect(site.management.kubeconfig('alpha')).toBe(text);
  site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
  const direct = `https://${ADDRESS}:6443`;
  await until('the server is given back', () => site.management.kubeconfig('alpha').includes(direct));
  expect(site.management.kubeconfig('alpha')).toBe(text.replace(SERVER, direct));
  const marks = JSON.stringify(site.api.store.get(secret)?.metadata.annotations ?? {});
  expect(marks).not.toContain('isthmus.dev');
});
