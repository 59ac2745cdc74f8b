// Kubeconfig Secrets that the proxy must not change, or that change concurrently; and proof that their content never leaks.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { kubeconfigText, NAMESPACE } from '../../support/kubernetes/management.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS } from '../../support/two-clusters.ts';

const PROXIED = 'https://alpha.magnum-system:6443';
const DIRECT = `https://${ADDRESS}:6443`;
const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'alpha-kubeconfig' } as const;
let site: PublishSite;
let isthmus: Isthmus;
beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
  isthmus = await site.instance('net-1');
  await site.published('alpha-net-1');
  await leadsHere();
});
afterAll(() => site.stop());

const leadsHere = () =>
  until('the kubeconfig leads here', () => site.management.kubeconfig('alpha').includes(PROXIED));
const publication = async () =>
  (await isthmus.status()).clusters.find(({ name }) => name === 'alpha')?.publication;
const replace = (secret: object) => {
  site.api.store.delete(SECRET);
  const { apiVersion, kind, name, namespace } = SECRET;
  const labels = { 'cluster.x-k8s.io/cluster-name': 'alpha' };
  site.api.store.create({ apiVersion, kind, metadata: { name, namespace, labels }, ...secret });
};
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a kubeconfig', () => {
  test.each([
    ['of a user', { type: 'Opaque', data: { value: base64(kubeconfigText('alpha', DIRECT)) } }, 'user'],
    ['without its key', { type: 'cluster.x-k8s.io/secret', data: { other: 'eA==' } }, 'no key value'],
    ['that is not YAML', { type: 'cluster.x-k8s.io/secret', data: { value: base64('a: [b') } }, 'left alone'],
    [
      'that is not a kubeconfig',
      { type: 'cluster.x-k8s.io/secret', data: { value: base64('- 1') } },
      'left alone',
    ],
    ['that is not text', { type: 'cluster.x-k8s.io/secret', data: { value: '/////w==' } }, 'UTF-8'],
  ])('%s is left unchanged, with a reason, and the endpoint stays', async (_title, secret, reason) => {
    replace(secret);
    await expect
      .poll(publication)
      .toMatchObject({ kubeconfig: 'left-alone', problem: expect.stringContaining(reason), slice: 'ready' });
    expect(site.api.store.get(SECRET)?.data).toEqual(secret.data);
  });

  test('that is rotated between read and write keeps the rotated content', async () => {
    replace({ type: 'cluster.x-k8s.io/secret', data: { value: base64(kubeconfigText('alpha', DIRECT)) } });
    await leadsHere();
    // The write is delayed until another client has written first.
    const late = site.api.faults.inject(
      { resource: 'secrets', verb: 'patch' },
      { kind: 'delay', ms: 400 },
      { times: 1 },
    );
    site.management.rotateKubeconfig('alpha', DIRECT, 'Rmlyc3Q=');
    await until('the write of Isthmus has been sent', () => late.hits === 1);
    site.management.rotateKubeconfig('alpha', DIRECT, 'U2Vjb25k');
    await leadsHere();
    expect(site.management.kubeconfig('alpha')).toContain('client-certificate-data: U2Vjb25k');
    expect(site.management.kubeconfig('alpha')).toContain('# made by the control plane provider');
  });

  test('gets its original server back when the cluster is no longer proxied', async () => {
    site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
    await until('it leads to the API server itself', () =>
      site.management.kubeconfig('alpha').includes(DIRECT),
    );
    expect(JSON.stringify(site.api.store.get(SECRET)?.metadata.annotations ?? {})).not.toContain(
      'isthmus.dev',
    );
    site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: true } });
    await leadsHere();
  });
});

describe('the content of a kubeconfig', () => {
  test('appears in no log line, on no page, and in no Event', async () => {
    const key = 'VmVyeVNlY3JldEtleU1hdGVyaWFs';
    const certificate = 'VmVyeVNlY3JldENlcnRpZmljYXRl';
    const text = kubeconfigText('alpha', DIRECT).replace('S0VZ', key).replace('Q0VSVA==', certificate);
    // An API server that echoes the request in its error.
    const refusal = site.api.faults.inject(
      { resource: 'secrets', verb: 'patch' },
      { kind: 'status', code: 422, message: `invalid: ${text} ${base64(text)}` },
      { times: 1 },
    );
    replace({ type: 'cluster.x-k8s.io/secret', data: { value: base64(text) } });
    await leadsHere();
    replace({ type: 'cluster.x-k8s.io/secret', data: { value: base64(`${text}\n  - [`) } });
    await expect.poll(publication).toMatchObject({ kubeconfig: 'left-alone' });
    const failure = 'write to the Kubernetes API failed';
    await until('the refusal is in the log', () => JSON.stringify(isthmus.log).includes(failure));
    const events = site.api.store.list({ apiVersion: 'v1', kind: 'Event', namespace: NAMESPACE });
    const pages = await Promise.all(
      ['/status', '/metrics'].map(async (page) => (await isthmus.get(page)).body),
    );
    const everything = JSON.stringify([isthmus.log, events, pages]);
    for (const secret of [
      key,
      certificate,
      'VerySecretKeyMaterial',
      base64(text).slice(200, 240),
      'token-of-net-1',
    ])
      expect(everything.includes(secret), secret).toBe(false);
    expect(refusal.hits).toBe(1);
    expect(everything).toContain(failure);
  });
});
