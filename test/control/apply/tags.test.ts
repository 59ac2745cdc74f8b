// Tags of a cluster and of an instance, with the commands of docs/how-to/tags.md, on the built program and the in-memory API.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Management, NAMESPACE } from '../../support/kubernetes/management.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS, TwoClusters } from '../../support/two-clusters.ts';

const DOCS = readFileSync(new URL('../../../docs/how-to/tags.md', import.meta.url), 'utf8');
const documented = (pattern: RegExp): string => {
  const [, found] = pattern.exec(DOCS) ?? [];
  if (found === undefined) throw new Error(`docs/how-to/tags.md has no ${pattern}`);
  return found;
};
const ANNOTATION = 'isthmus.dev/resource-tags';
const CLUSTER_TAGS = documented(/annotate openstackcluster \S+ isthmus\.dev\/resource-tags=(\S+)/);
const INSTANCE_TAGS = documented(/isthmus run --resource-tags (\S+)/);
const FAST = [
  '--advertise-address',
  '192.0.2.1',
  '--health-interval',
  '200ms',
  '--propagation-wait',
  '300ms',
];

const clusters = new TwoClusters();
let management: Management;

beforeAll(async () => {
  await clusters.start();
  management = await Management.start();
});
afterAll(async () => {
  await management.stop();
  await clusters.stop();
});

const KINDS = {
  Service: ['v1', 'Service', 'alpha'],
  EndpointSlice: ['discovery.k8s.io/v1', 'EndpointSlice', 'alpha-net-1'],
  Lease: ['coordination.k8s.io/v1', 'Lease', 'isthmus-net-1'],
} as const;
function metadataOf(kind: keyof typeof KINDS) {
  const [apiVersion, name, object] = KINDS[kind];
  return management.get(apiVersion, name, object)?.metadata;
}
/** The tags on the object without the proxy's own keys. Labels and annotations must be equal. */
function tagsOn(kind: keyof typeof KINDS): string {
  const { labels = {}, annotations = {} } = metadataOf(kind) ?? {};
  const free = (texts: Record<string, string>) =>
    Object.entries(texts)
      .filter(([key]) => !/^(isthmus\.dev|magnum-cluster-api|kubernetes\.io|endpointslice)/.test(key))
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join();
  return free(labels) === free(annotations) ? free(labels) : `${free(labels)} and ${free(annotations)}`;
}
const sorted = (...tags: string[]) => tags.join().split(',').sort().join();

describe('tags, as docs/how-to/tags.md describes them', () => {
  test('from the flag are on objects of the instance, and tags from the annotation on all objects of the cluster', async () => {
    const isthmus = management.instance('net-1');
    await isthmus.start(...FAST, '--resource-tags', INSTANCE_TAGS);
    management.addCluster({ ...clusters.alpha, address: ADDRESS });
    await until('the slice is there', () => management.slices().length === 1);
    expect(tagsOn('Lease')).toBe(sorted(INSTANCE_TAGS));
    expect(tagsOn('EndpointSlice')).toBe(sorted(INSTANCE_TAGS));
    expect(tagsOn('Service')).toBe('');

    management.patchCluster('alpha', { metadata: { annotations: { [ANNOTATION]: CLUSTER_TAGS } } });
    await until('the Service is tagged', () => tagsOn('Service') === sorted(CLUSTER_TAGS));
    await until('the slice too', () => tagsOn('EndpointSlice') === sorted(INSTANCE_TAGS, CLUSTER_TAGS));
    expect(tagsOn('Lease')).toBe(sorted(INSTANCE_TAGS));
  });

  test('are found by the command that lists the objects of a cluster', () => {
    const selector = documented(/get services,endpointslices -l (\S+)/);
    expect(selector).toBe('isthmus.dev/resource-owner=kube-1');
    for (const kind of ['Service', 'EndpointSlice'] as const) {
      const metadata = metadataOf(kind);
      expect(metadata?.labels).toMatchObject({ 'isthmus.dev/resource-owner': 'alpha' });
      expect(metadata?.annotations).toMatchObject({ 'isthmus.dev/resource-owner': 'alpha' });
    }
  });

  test('that are invalid are reported for their cluster only', async () => {
    management.addCluster({ ...clusters.beta, address: ADDRESS });
    management.patchCluster('alpha', { metadata: { annotations: { [ANNOTATION]: 'kubernetes.io/a=b' } } });
    const [isthmus] = management.instances;
    const problemOf = async (name: string) =>
      (await isthmus?.status())?.clusters.find((each) => each.name === name)?.publication?.problem;
    await expect.poll(() => problemOf('alpha')).toContain('keys of kubernetes.io are reserved');
    await until('beta is published', () => management.slices().includes('beta-net-1'));
    await expect.poll(() => problemOf('beta')).toBeNull();
    expect(tagsOn('Service')).toBe(sorted(CLUSTER_TAGS));
    await expect
      .poll(async () => (await isthmus?.status())?.clusters.map(({ state }) => state))
      .toEqual(['serving', 'serving']);
  });

  test('are removed when they are no longer configured, also after a restart without the flag, and foreign keys stay', async () => {
    management.api.store.patch(
      { apiVersion: 'v1', kind: 'Service', namespace: NAMESPACE, name: 'alpha' },
      { metadata: { labels: { theirs: 'x' }, annotations: { theirs: 'x' } } },
    );
    management.patchCluster('alpha', { metadata: { annotations: { [ANNOTATION]: null } } });
    await until('the tags of the cluster are gone', () => tagsOn('Service') === 'theirs=x');
    await until('from the slice too', () => tagsOn('EndpointSlice') === sorted(INSTANCE_TAGS));
    const [before] = management.instances;
    before?.signal('SIGKILL');
    await before?.ended();
    const after = management.instance('net-1');
    await after.start(...FAST);
    await until('the tags of the instance are gone', () => tagsOn('EndpointSlice') === '');
    await until('from the Lease too', () => tagsOn('Lease') === '');
    expect(tagsOn('Service')).toBe('theirs=x');
  });
});
