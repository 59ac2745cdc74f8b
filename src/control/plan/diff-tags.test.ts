// Tags of clusters and of the instance on published objects. They follow the configuration of the users, and nothing else.

import { beforeEach, describe, expect, test } from 'vitest';
import { desiredWith, ModelApi, publication, SETTINGS } from '../../../test/support/kubernetes/model-api.ts';
import type { EndpointSliceObject, LivenessMode, ServiceObject } from '../objects/published-objects.ts';
import { readTags, type Tags } from '../objects/resource-tags.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { diff } from './diff.ts';
import { NO_MEMORY } from './plan.ts';

let api: ModelApi;
beforeEach(() => {
  api = new ModelApi();
});

/** A new process each time, without memory of the previous one. Returns the problem of the cluster. */
function settle(clusterTags: string | null, instanceTags: Tags = {}, mode: LivenessMode = 'lease') {
  const { object } = publication('prod');
  if (object === null) throw new Error('the cluster has no object');
  const tagged = clusterTags === null ? object : { ...object, tags: readTags(clusterTags) };
  const publications = [publication('prod', { object: tagged })];
  const settings = { ...SETTINGS, tags: instanceTags };
  for (let turn = 0; turn < 5; turn += 1) {
    const plan = diff(api.seenBy({}, { mode }), desiredWith(publications), {
      settings,
      memory: NO_MEMORY,
      cache: new TurnCache(),
    });
    if (plan.actions.length === 0) return plan.publications.get('prod');
    api.carryOut(plan.actions);
  }
  throw new Error('five turns were not enough');
}
const service = () => api.services.get('prod') as ServiceObject;
const slice = () => api.slices.get('prod-net-1') as EndpointSliceObject;
const OURS = /^(isthmus\.dev|magnum-cluster-api|kubernetes\.io|endpointslice)/;
const free = (texts: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(texts).filter(([key]) => !OURS.test(key)));
/** The value of the tag. Fails when label and annotation differ. */
const tagsOf = ({ metadata }: ServiceObject | EndpointSliceObject) => {
  expect(free(metadata?.annotations)).toEqual(free(metadata?.labels));
  return free(metadata?.labels);
};

describe('tags of a cluster', () => {
  test('are on all its objects, and change with its configuration', () => {
    settle('team=a,cost=7');
    expect(tagsOf(service())).toEqual({ team: 'a', cost: '7' });
    expect(tagsOf(slice())).toEqual({ team: 'a', cost: '7' });
    settle('team=b');
    expect(tagsOf(service())).toEqual({ team: 'b' });
    expect(tagsOf(slice())).toEqual({ team: 'b' });
    settle(null);
    expect(tagsOf(service())).toEqual({});
    expect(tagsOf(slice())).toEqual({});
    expect(service().metadata?.annotations).not.toHaveProperty(['isthmus.dev/applied-tags']);
  });

  test('are added to existing objects', () => {
    settle(null);
    settle('team=a');
    expect(tagsOf(service())).toEqual({ team: 'a' });
    expect(tagsOf(slice())).toEqual({ team: 'a' });
  });

  test('are restored when another writer removes or changes them', () => {
    settle('team=a,cost=7');
    const { labels = {}, ...metadata } = service().metadata ?? {};
    const { team: _, ...left } = labels;
    api.put('services', { ...service(), metadata: { ...metadata, labels: { ...left, cost: '8' } } });
    settle('team=a,cost=7');
    expect(tagsOf(service())).toEqual({ team: 'a', cost: '7' });
  });

  test('are only annotations on the Service while old instances run, and labels again after that', () => {
    settle('team=a', {}, 'timestamp');
    expect(free(service().metadata?.labels)).toEqual({});
    expect(free(service().metadata?.annotations)).toEqual({ team: 'a' });
    settle('team=a', {}, 'lease');
    expect(tagsOf(service())).toEqual({ team: 'a' });
    settle('team=a', {}, 'timestamp');
    expect(free(service().metadata?.labels)).toEqual({});
  });

  test('that are invalid remove no existing tags, and the cluster reports why', () => {
    settle('team=a', { rack: '7' });
    const status = settle('team=b,kubernetes.io/x=y,nonsense', { rack: '8' });
    expect(status?.problem).toBe(
      'the annotation isthmus.dev/resource-tags is invalid, so tags stay as they are: ' +
        'the key "kubernetes.io/x" cannot be used: keys of kubernetes.io are reserved; "nonsense" is not a tag. Use key=value',
    );
    expect(status).toMatchObject({ service: 'ours', slice: 'ready' });
    expect(tagsOf(service())).toEqual({ team: 'a' });
    expect(tagsOf(slice())).toEqual({ team: 'a', rack: '8' });
    expect(settle('team=b', { rack: '8' })?.problem).toBeNull();
    expect(tagsOf(slice())).toEqual({ team: 'b', rack: '8' });
  });
});

describe('tags of the instance', () => {
  test('are on its slices and not on shared objects', () => {
    settle('team=a', { rack: '7' });
    expect(tagsOf(service())).toEqual({ team: 'a' });
    expect(tagsOf(slice())).toEqual({ team: 'a', rack: '7' });
  });

  test('are removed with the flag, also after a restart', () => {
    settle(null, { rack: '7', site: 'x' });
    settle(null, { site: 'y' });
    expect(tagsOf(slice())).toEqual({ site: 'y' });
  });

  test('are replaced by a cluster tag with the same key, and return when that is removed', () => {
    settle('team=a', { team: 'net' });
    expect(tagsOf(slice())).toEqual({ team: 'a' });
    settle(null, { team: 'net' });
    expect(tagsOf(slice())).toEqual({ team: 'net' });
  });
});

describe('metadata of other writers on our objects', () => {
  const add = (labels: Record<string, string>, annotations: Record<string, string>) => {
    const { metadata } = service();
    api.put('services', {
      ...service(),
      metadata: {
        ...metadata,
        labels: { ...metadata?.labels, ...labels },
        annotations: { ...metadata?.annotations, ...annotations },
      },
    });
  };

  test('stays before and after tags are added and removed', () => {
    settle('team=a');
    add({ velero: 'x' }, { note: 'y' });
    settle('cost=7');
    settle(null);
    expect(service().metadata?.labels).toMatchObject({ velero: 'x' });
    expect(service().metadata?.annotations).toMatchObject({ note: 'y' });
  });

  test('under the key of a tag stays too, and the cluster reports it', () => {
    settle(null);
    add({ team: 'theirs' }, {});
    const status = settle('team=a,cost=7');
    expect(status?.problem).toBe(
      'Service magnum-system/prod has team from another writer: our tags with these keys are not applied',
    );
    expect(free(service().metadata?.labels)).toEqual({ team: 'theirs', cost: '7' });
    expect(free(service().metadata?.annotations)).toEqual({ cost: '7' });
    settle(null);
    expect(free(service().metadata?.labels)).toEqual({ team: 'theirs' });
  });

  test('with the same value is no problem, and is not removed with the tag', () => {
    settle(null);
    add({ team: 'a' }, { team: 'a' });
    expect(settle('team=a')?.problem).toBeNull();
    settle(null);
    expect(tagsOf(service())).toEqual({ team: 'a' });
  });

  test('is replaced by the tag once the other writer removes its key', () => {
    settle(null);
    add({ team: 'theirs' }, {});
    settle('team=a');
    const { team: _, ...labels } = service().metadata?.labels ?? {};
    api.put('services', { ...service(), metadata: { ...service().metadata, labels } });
    expect(settle('team=a')?.problem).toBeNull();
    expect(tagsOf(service())).toEqual({ team: 'a' });
  });
});

test('after a restore (new uids, no status) objects are found by their tag, and none is created twice', () => {
  settle('team=a', { rack: '7' });
  const restored = [...api.services.values(), ...api.slices.values()].map((object) =>
    structuredClone(object),
  );
  api = new ModelApi();
  for (const { metadata: { uid: _, resourceVersion: __, ...metadata } = {}, ...rest } of restored)
    api.put('addressType' in rest ? 'slices' : 'services', { ...rest, metadata } as ServiceObject);
  settle('team=b', {});
  expect([api.services.size, api.slices.size]).toEqual([1, 1]);
  expect(tagsOf(slice())).toEqual({ team: 'b' });
});
