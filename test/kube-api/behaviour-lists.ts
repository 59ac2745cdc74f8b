// get and list: selectors, pages, versions and representations.
import { beforeAll, expect, test } from 'vitest';
import { expectStatus, type Suite, secret, secrets, services, slice, slices } from './suite.ts';

const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

const namesOf = (body: { items: { metadata: { name: string } }[] }): string[] =>
  body.items.map(({ metadata }) => metadata.name);

export function listBehaviour(suite: Suite): void {
  const at = (query = '') => `${slices(suite.namespace)}${query}`;
  const mine = 'labelSelector=listed';

  beforeAll(async () => {
    const labels: Readonly<Record<string, Record<string, string>>> = {
      'list-a': { listed: '', tier: 'front', count: '1' },
      'list-b': { listed: '', tier: 'back', count: '10' },
      'list-c': { listed: '' },
      'list-d': { listed: '', tier: 'front', 'example.com/x': 'y' },
      'list-e': { listed: '', tier: '' },
    };
    for (const [name, each] of Object.entries(labels))
      expectStatus(await suite.client.post(slices(suite.namespace), slice(name, { labels: each })), 201);
  });

  test('a list names its kind and version, and is sorted', async () => {
    const { body } = expectStatus(await suite.client.get(at(`?${mine}`)), 200);
    expect(body).toMatchObject({ kind: 'EndpointSliceList', apiVersion: 'discovery.k8s.io/v1' });
    expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(namesOf(body)).toEqual(['list-a', 'list-b', 'list-c', 'list-d', 'list-e']);
    // Objects in a list of a built-in kind do not repeat the kind.
    expect(body.items[0].kind).toBeUndefined();
    expect(body.items[0].apiVersion).toBeUndefined();
  });

  test.each<[selector: string, names: string]>([
    ['tier=front', 'ad'],
    ['tier==front', 'ad'],
    ['tier!=front', 'bce'],
    ['tier', 'abde'],
    ['!tier', 'c'],
    ['tier in (front,back)', 'abd'],
    ['tier in (front)', 'ad'],
    ['tier notin (front,back)', 'ce'],
    ['tier=', 'e'],
    ['tier=front,example.com/x', 'd'],
    ['example.com/x=y', 'd'],
    ['tier in (front, ),count', 'a'],
    ['count>5', 'b'],
    ['count<5', 'a'],
    ['tier=nothing', ''],
  ])('the label selector %s finds %s', async (selector, names) => {
    const query = `?labelSelector=${encodeURIComponent(`listed,${selector}`)}`;
    const { body } = expectStatus(await suite.client.get(at(query)), 200);
    expect(
      namesOf(body)
        .map((name) => name.slice(-1))
        .join(''),
    ).toBe(names);
  });

  test.each(['tier in front', 'tier=a b', 'a/b/c=d', '=x'])(
    'the label selector %s is a bad request',
    async (selector) => {
      const query = `?labelSelector=${encodeURIComponent(selector)}`;
      expectStatus(await suite.client.get(at(query)), 400, 'BadRequest');
    },
  );

  test('field selectors support the name, and reject fields that the kind does not support', async () => {
    const byName = await suite.client.get(at('?fieldSelector=metadata.name%3Dlist-b'));
    expect(namesOf(expectStatus(byName, 200).body)).toEqual(['list-b']);
    const others = await suite.client.get(at(`?${mine}&fieldSelector=metadata.name!%3Dlist-b`));
    expect(namesOf(expectStatus(others, 200).body)).toHaveLength(4);
    const everywhere = `/apis/discovery.k8s.io/v1/endpointslices?${mine}&fieldSelector=metadata.namespace%3D${suite.namespace}`;
    expect(namesOf(expectStatus(await suite.client.get(everywhere), 200).body)).toHaveLength(5);
    expectStatus(await suite.client.get(at('?fieldSelector=addressType%3DIPv4')), 400, 'BadRequest');
  });

  test('a Secret can be selected by its type', async () => {
    expectStatus(await suite.client.post(secrets(suite.namespace), secret('by-type')), 201);
    const query = `fieldSelector=${encodeURIComponent('type=cluster.x-k8s.io/secret,metadata.name=by-type')}`;
    const { body } = expectStatus(await suite.client.get(`${secrets(suite.namespace)}?${query}`), 200);
    expect(namesOf(body)).toEqual(['by-type']);
  });

  test('all namespaces can be listed at once', async () => {
    const { body } = expectStatus(
      await suite.client.get(`/apis/discovery.k8s.io/v1/endpointslices?${mine}`),
      200,
    );
    expect(namesOf(body)).toContain('list-a');
  });

  test('pages of a list show one version, whatever changes in between', async () => {
    const first = expectStatus(await suite.client.get(at('?limit=2')), 200).body;
    expect(first.items).toHaveLength(2);
    expect(first.metadata.continue).toMatch(/./);
    const all = expectStatus(await suite.client.get(at()), 200).body;
    expect(first.metadata.remainingItemCount).toBe(all.items.length - 2);
    expectStatus(await suite.client.post(slices(suite.namespace), slice('zz-late')), 201);
    expectStatus(await suite.client.delete(slices(suite.namespace, 'list-e')), 200);
    const names = namesOf(first);
    let token: string = first.metadata.continue;
    for (let page = 0; page < 50 && token !== ''; page += 1) {
      const query = `?limit=3&continue=${encodeURIComponent(token)}`;
      const { body } = expectStatus(await suite.client.get(at(query)), 200);
      expect(body.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      names.push(...namesOf(body));
      token = body.metadata.continue ?? '';
    }
    expect(names).toEqual(namesOf(all));
    expectStatus(
      await suite.client.post(slices(suite.namespace), slice('list-e', { labels: { listed: '', tier: '' } })),
      201,
    );
  });

  test('an invalid continue token is a bad request', async () => {
    expectStatus(await suite.client.get(at('?limit=1&continue=x')), 400, 'BadRequest');
  });

  test('a list can ask for any version, a minimum version or an exact version, and fails for a future version', async () => {
    const { body: before } = expectStatus(await suite.client.get(at(`?${mine}`)), 200);
    const version = before.metadata.resourceVersion;
    expectStatus(
      await suite.client.post(slices(suite.namespace), slice('list-f', { labels: { listed: '' } })),
      201,
    );
    expectStatus(await suite.client.get(at('?resourceVersion=0')), 200);
    const newer = await suite.client.get(
      at(`?${mine}&resourceVersion=${version}&resourceVersionMatch=NotOlderThan`),
    );
    expect(Number(expectStatus(newer, 200).body.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(version),
    );
    const exact = await suite.client.get(
      at(`?${mine}&resourceVersion=${version}&resourceVersionMatch=Exact`),
    );
    expect(namesOf(expectStatus(exact, 200).body)).toEqual(namesOf(before));
    expectStatus(await suite.client.delete(slices(suite.namespace, 'list-f')), 200);
    expectStatus(await suite.client.get(at('?resourceVersion=x')), 400, 'BadRequest');
    expectStatus(await suite.client.get(at('?resourceVersionMatch=Exact')), 422, 'Invalid');
    const late = await suite.client.get(at(`?resourceVersion=${Number(version) + 1_000_000}`));
    expectStatus(late, 504, 'Timeout');
    expect(late.body.message).toMatch(/Too large resource version/);
    expect(late.body.details.causes[0].reason).toBe('ResourceVersionTooLarge');
  });

  test('a get with a future version times out', async () => {
    const { body } = expectStatus(await suite.client.get(at('?limit=1')), 200);
    const late = Number(body.metadata.resourceVersion) + 1_000_000;
    const path = slices(suite.namespace, 'list-a');
    expectStatus(await suite.client.get(`${path}?resourceVersion=${late}`), 504, 'Timeout');
  });

  test('a list of any version has no pages, and limits and timeouts must be numbers', async () => {
    const { body } = expectStatus(await suite.client.get(at('?resourceVersion=0&limit=1')), 200);
    expect(body.items.length).toBeGreaterThan(1);
    expect(body.metadata.continue).toBeUndefined();
    expectStatus(await suite.client.get(at('?limit=x')), 400, 'BadRequest');
    expectStatus(await suite.client.get(at('?watch=true&timeoutSeconds=x')), 400, 'BadRequest');
  });

  test('a client can request only the metadata, of one object and of a list', async () => {
    const path = secrets(suite.namespace, 'metadata-only');
    const labels = { 'cluster.x-k8s.io/cluster-name': 'a' };
    expectStatus(await suite.client.post(secrets(suite.namespace), secret('metadata-only', { labels })), 201);
    const { body } = expectStatus(await suite.client.get(path, { accept: METADATA_ONLY }), 200);
    expect(body).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'metadata-only', labels },
    });
    expect(body.data).toBeUndefined();
    const list = expectStatus(
      await suite.client.get(`${secrets(suite.namespace)}?labelSelector=cluster.x-k8s.io/cluster-name`, {
        accept: `${METADATA_LIST},application/json`,
      }),
      200,
    ).body;
    expect(list).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
    expect(list.items).toEqual([expect.objectContaining({ metadata: body.metadata })]);
  });

  test('an unknown representation is not acceptable', async () => {
    const answer = await suite.client.get(services(suite.namespace), { accept: 'text/csv' });
    expectStatus(answer, 406);
  });

  test('a client can request a table', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { body } = expectStatus(await suite.client.get(at('?limit=1'), { accept }), 200);
    expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(body.columnDefinitions[0].name).toBe('Name');
    expect(body.rows[0].object.kind).toBe('PartialObjectMetadata');
  });

  test('events are the same objects in two groups', async () => {
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'proxied.1', namespace: suite.namespace },
      eventTime: '2026-08-01T10:00:00.000000Z',
      reportingController: 'isthmus.dev/control',
      reportingInstance: 'node-1',
      action: 'Publish',
      reason: 'Proxied',
      type: 'Normal',
      note: 'the cluster is proxied',
      regarding: { kind: 'Service', namespace: suite.namespace, name: 'a' },
    };
    const path = `/apis/events.k8s.io/v1/namespaces/${suite.namespace}/events`;
    expectStatus(await suite.client.post(path, event), 201);
    const core = `/api/v1/namespaces/${suite.namespace}/events`;
    const { body } = expectStatus(await suite.client.get(`${core}/proxied.1`), 200);
    expect(body).toMatchObject({
      apiVersion: 'v1',
      message: 'the cluster is proxied',
      involvedObject: { kind: 'Service', name: 'a' },
      reportingComponent: 'isthmus.dev/control',
    });
    const chosen = await suite.client.get(`${core}?fieldSelector=involvedObject.name%3Da,reason%3DProxied`);
    expect(namesOf(expectStatus(chosen, 200).body)).toEqual(['proxied.1']);
    const { reportingController: _left, ...nameless } = event;
    const refused = await suite.client.post(path, { ...nameless, metadata: { name: 'refused.1' } });
    expect(expectStatus(refused, 422, 'Invalid').body.message).toContain(
      'reportingController: Required value',
    );
    const note = await suite.client.patch(`${path}/proxied.1`, { note: 'another' });
    expect(expectStatus(note, 422, 'Invalid').body.message).toContain('field is immutable');
    const series = { series: { count: 2, lastObservedTime: '2026-08-01T10:01:00.000000Z' } };
    expect(expectStatus(await suite.client.patch(`${path}/proxied.1`, series), 200).body).toMatchObject(
      series,
    );
  });
}
