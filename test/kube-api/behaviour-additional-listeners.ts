// How the API server admits AdditionalListeners: defaults, limits, immutable fields, and a status subresource. The definition is the
// one that sites install.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { until } from '../support/tcp.ts';
import { expectStatus, type Suite } from './suite.ts';

const DEPLOY = new URL('../../deploy/', import.meta.url);
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'additionallisteners.isthmus.dev';

export const exampleListeners = (): { readonly metadata: { readonly name: string } }[] =>
  readdirSync(new URL('examples/listeners/', DEPLOY))
    .sort()
    .flatMap((file) =>
      parseAllDocuments(readFileSync(new URL(`examples/listeners/${file}`, DEPLOY), 'utf8')).map((each) =>
        each.toJS(),
      ),
    );

export function additionalListenerBehaviour(suite: Suite): void {
  const at = (name = '') =>
    `/apis/isthmus.dev/v1alpha1/namespaces/${suite.namespace}/additionallisteners${name === '' ? '' : `/${name}`}`;
  const listener = (name: string, spec: object = {}) => ({
    apiVersion: 'isthmus.dev/v1alpha1',
    kind: 'AdditionalListener',
    metadata: { name },
    spec: { clusterName: 'kube-1', port: 22, ...spec },
  });
  const refused = async (name: string, spec: object, words: string) => {
    const { body } = expectStatus(await suite.client.post(at(), listener(name, spec)), 422, 'Invalid');
    expect(body.message).toContain(words);
  };

  test('the definition is established', async () => {
    const definition = parse(readFileSync(new URL(`crds/${NAME}.yaml`, DEPLOY), 'utf8'));
    expectStatus(await suite.client.post(DEFINITIONS, definition), 201);
    await until('it is served', async () => (await suite.client.get(at())).status === 200);
    const { body } = expectStatus(await suite.client.get('/apis/isthmus.dev/v1alpha1'), 200);
    expect(body.resources).toContainEqual(
      expect.objectContaining({ name: 'additionallisteners', shortNames: ['al'], namespaced: true }),
    );
  });

  test('missing fields get their defaults, and the selector is always present for the immutability rule', async () => {
    const { body } = expectStatus(await suite.client.post(at(), listener('plain')), 201);
    expect(body.spec).toEqual({ clusterName: 'kube-1', port: 22, protocol: 'TCP', selector: {} });
  });

  test('the examples are accepted unchanged', async () => {
    const examples = exampleListeners();
    expect(examples.length).toBeGreaterThan(3);
    for (const example of examples) {
      const metadata = { ...example.metadata, namespace: suite.namespace };
      expectStatus(await suite.client.post(at(), { ...example, metadata }), 201);
      expectStatus(await suite.client.delete(at(example.metadata.name)), 200);
    }
  });

  test.each([
    ['no cluster', { clusterName: undefined }, 'spec.clusterName'],
    ['a cluster name that is invalid in a Service name', { clusterName: 'Kube_1' }, 'spec.clusterName'],
    ['no port', { port: undefined }, 'spec.port'],
    ['port 0', { port: 0 }, 'spec.port'],
    ['port 65536', { port: 65_536 }, 'spec.port'],
    ["the port of the cluster's own Service", { port: 6443 }, 'Port 6443'],
    ['a target port out of range', { targetPort: 70_000 }, 'spec.targetPort'],
    ['another protocol', { protocol: 'UDP' }, 'spec.protocol'],
    ['a pool name with a dot', { defaultPoolName: 'a.b' }, 'spec.defaultPoolName'],
    ['a pool name that is empty', { defaultPoolName: '' }, 'spec.defaultPoolName'],
    ['a pool name that is too long', { defaultPoolName: 'a'.repeat(64) }, 'spec.defaultPoolName'],
    [
      'an unknown selector operator',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] } },
      'operator',
    ],
    ['an invalid CIDR', { allowedCIDRs: ['everywhere'] }, 'spec.allowedCIDRs'],
  ])('a listener with %s is rejected', async (_title, spec, words) => refused('wrong', spec, words));

  test('the selector is immutable: it cannot be changed, removed, extended, or removed and restored', async () => {
    const selector = { matchLabels: { role: 'worker' } };
    expectStatus(await suite.client.post(at(), listener('fixed', { selector })), 201);
    for (const edit of [
      { matchLabels: { role: 'edge' } },
      { matchLabels: { zone: 'a' } },
      { matchLabels: null },
      null,
    ]) {
      const answer = await suite.client.patch(at('fixed'), { spec: { selector: edit } });
      expect(expectStatus(answer, 422, 'Invalid').body.message).toContain('Selector is immutable');
    }
    const { body } = expectStatus(await suite.client.get(at('fixed')), 200);
    const without = { ...body, spec: { ...body.spec, selector: undefined } };
    expectStatus(await suite.client.put(at('fixed'), without), 422, 'Invalid');
    // A listener without a selector cannot get one later either.
    const later = await suite.client.patch(at('plain'), { spec: { selector } });
    expect(expectStatus(later, 422, 'Invalid').body.message).toContain('Selector is immutable');
  });

  test('the cluster name is immutable; every other field can change', async () => {
    const moved = await suite.client.patch(at('fixed'), { spec: { clusterName: 'kube-2' } });
    expect(expectStatus(moved, 422, 'Invalid').body.message).toContain('Cluster name is immutable');
    const spec = {
      port: 2222,
      protocol: 'TLS',
      targetPort: 22,
      defaultPoolName: 'ssh',
      rolloutLabels: { generation: 'green' },
      allowedCIDRs: ['192.0.2.0/24', '2001:db8::/32'],
    };
    const { body } = expectStatus(await suite.client.patch(at('fixed'), { spec }), 200);
    expect(body.spec).toMatchObject(spec);
    expect(body.metadata.generation).toBe(2);
  });

  test('status is a subresource, and conditions are merged by type', async () => {
    const condition = {
      type: 'Ready',
      status: 'True',
      observedGeneration: 1,
      lastTransitionTime: '2026-08-01T10:00:00Z',
      reason: 'Serving',
      message: 'two machines answer',
    };
    const status = {
      observedGeneration: 1,
      serviceName: 'kube-1-plain',
      members: 3,
      ready: 2,
      notReady: 0,
      ignored: 1,
      conditions: [condition],
    };
    expect((await suite.client.patch(at('plain'), { status })).body.status).toBeUndefined();
    const { body } = expectStatus(await suite.client.patch(`${at('plain')}/status`, { status }), 200);
    expect(body.status).toEqual(status);
    expect(body.metadata.generation).toBe(1);
    const nameless = { status: { conditions: [{ ...condition, type: undefined }] } };
    expectStatus(await suite.client.patch(`${at('plain')}/status`, nameless), 422, 'Invalid');
  });

  test('deleting the definition deletes all listeners', async () => {
    expectStatus(await suite.client.delete(`${DEFINITIONS}/${NAME}`), 200);
    await until('it is gone', async () => (await suite.client.get(at())).status === 404);
  });
}
