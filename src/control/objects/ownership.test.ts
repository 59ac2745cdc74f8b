import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ownershipOf } from './ownership.ts';

const OWNER = 'isthmus.dev/resource-owner';
const UPSTREAM = 'magnum-cluster-api.vexxhost.com';
const PROXIED = { [`${UPSTREAM}/proxied-service`]: 'true' };
const ports = [{ name: 'https', port: 6443, protocol: 'TCP' }];

type Texts = Record<string, string>;
const service = (labels: Texts, annotations: Texts = {}, spec: object = {}) => ({
  metadata: { name: 'kube-1', labels, annotations },
  spec: { ports, ...spec },
});
const slice = (labels: Texts, annotations: Texts = {}) => ({
  metadata: { name: 'kube-1-net-1', labels, annotations },
  addressType: 'IPv4',
  endpoints: [],
});
const reasonOf = (object: Parameters<typeof ownershipOf>[0]) => {
  const ownership = ownershipOf(object);
  return ownership.kind === 'foreign' ? ownership.reason : `not foreign: ${ownership.kind}`;
};

describe('a Service', () => {
  test.each([
    ['tagged by label', service({ [OWNER]: 'kube-1' })],
    [
      'tagged only by annotation, after an old instance removed the label',
      service(PROXIED, { [OWNER]: 'kube-1' }),
    ],
    ['tagged by both', service({ [OWNER]: 'kube-1', ...PROXIED }, { [OWNER]: 'kube-1' })],
  ])('%s is ours', (_title, object) => {
    expect(ownershipOf(object)).toEqual({ kind: 'ours', cluster: 'kube-1', instance: null });
  });

  test.each([
    ['as it is created', service(PROXIED)],
    ['as the API server returns it', service(PROXIED, {}, { type: 'ClusterIP', clusterIP: '10.96.0.9' })],
    ['with an empty selector', service(PROXIED, {}, { selector: {} })],
  ])('of magnum-cluster-api-proxy, %s, belongs to upstream', (_title, object) => {
    expect(ownershipOf(object)).toEqual({ kind: 'upstream' });
  });

  test.each([
    ['without any label', service({}), 'neither the tag isthmus.dev/resource-owner nor the label'],
    ['without labels at all', { metadata: {}, spec: {} }, 'neither the tag'],
    ['without metadata', {}, 'neither the tag'],
    [
      'with the label proxied-service: "false"',
      service({ [`${UPSTREAM}/proxied-service`]: 'false' }),
      'neither the tag',
    ],
    ['with a selector', service(PROXIED, {}, { selector: { app: 'x' } }), 'but also a selector'],
    ['of another type', service(PROXIED, {}, { type: 'ExternalName' }), 'of type "ExternalName"'],
    [
      'tagged for two clusters',
      service({ [OWNER]: 'a' }, { [OWNER]: 'b' }),
      'says "a" as label and "b" as annotation',
    ],
    ['tagged with an empty name', service({ [OWNER]: '' }), 'owner tag "" is not a valid'],
    ['tagged for no cluster', service({}, { [OWNER]: 'a.b\n' }), 'owner tag "a.b\\n" is not a valid'],
  ])('%s is foreign', (_title, object, reason) => {
    expect(reasonOf(object)).toContain(reason);
  });
});

describe('a slice', () => {
  const ours = {
    [OWNER]: 'kube-1',
    'isthmus.dev/instance': 'net-1',
    'endpointslice.kubernetes.io/managed-by': 'isthmus.dev',
  };
  const theirs = { ...PROXIED, [`${UPSTREAM}/node`]: 'net-2', [`${UPSTREAM}/proxied-cluster`]: 'kube-1' };
  const time = { [`${UPSTREAM}/timestamp`]: '2026-01-02T03:04:05.678901+00:00' };
  const without = (labels: Texts, key: string) =>
    Object.fromEntries(Object.entries(labels).filter(([name]) => name !== key));

  test.each([
    ['with our tag and labels', slice(ours)],
    ['with our tag and labels and those of old instances', slice({ ...ours, ...theirs }, time)],
    ['whose tag is an annotation', slice(without(ours, OWNER), { [OWNER]: 'kube-1' })],
  ])('%s is ours', (_title, object) => {
    expect(ownershipOf(object)).toEqual({ kind: 'ours', cluster: 'kube-1', instance: 'net-1' });
  });

  test('of magnum-cluster-api-proxy belongs to upstream', () => {
    expect(ownershipOf(slice({ ...theirs, 'kubernetes.io/service-name': 'kube-1' }, time))).toEqual({
      kind: 'upstream',
    });
  });

  test.each(Object.keys(ours))('without %s is foreign', (key) => {
    expect(reasonOf(slice(without(ours, key)))).toContain(
      `lacks the ${key === OWNER ? 'tag' : 'label'} ${key}`,
    );
    expect(reasonOf(slice({ ...without(ours, key), ...theirs }, time))).toContain('lacks');
  });

  test.each([
    ['without any label', slice({}), 'no label of Isthmus'],
    ['without labels', { addressType: 'IPv4', endpoints: [] }, 'no label of Isthmus'],
    [
      "of Kubernetes' own controller",
      slice({ 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' }),
      'managed by "endpointslice-controller.k8s.io"',
    ],
    ['of an old instance without its time', slice(theirs), `lacks ${UPSTREAM}/timestamp`],
    [
      'of an old instance without node and cluster',
      slice(PROXIED, time),
      `lacks ${UPSTREAM}/node and ${UPSTREAM}/proxied-cluster`,
    ],
    ['with an empty instance', slice({ ...ours, 'isthmus.dev/instance': '' }), 'lacks the label'],
    [
      'tagged for two clusters',
      slice(ours, { [OWNER]: 'other' }),
      'says "kube-1" as label and "other" as annotation',
    ],
  ])('%s is foreign', (_title, object, reason) => {
    expect(reasonOf(object)).toContain(reason);
  });

  test('with any labels is ours only with our tag, and upstream only without it', () => {
    const value = fc.constantFrom('kube-1', 'true', 'isthmus.dev', '', 'X');
    const texts = fc.dictionary(
      fc.constantFrom(...Object.keys({ ...ours, ...theirs, ...time }), '__proto__', 'constructor'),
      value,
    );
    fc.assert(
      fc.property(texts, texts, fc.boolean(), (labels, annotations, isSlice) => {
        const object = isSlice ? slice(labels, annotations) : service(labels, annotations);
        const ownership = ownershipOf(object);
        const tags = [labels[OWNER], annotations[OWNER]].filter((tag) => tag !== undefined);
        if (ownership.kind === 'ours') expect(new Set(tags)).toEqual(new Set([ownership.cluster]));
        if (ownership.kind === 'upstream') expect(tags).toEqual([]);
        if (ownership.kind === 'foreign') expect(ownership.reason).not.toBe('');
      }),
      { numRuns: 500 },
    );
  });
});
