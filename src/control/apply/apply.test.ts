import { beforeEach, describe, expect, test } from 'vitest';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError, type KubeErrorCode } from '../../kube/kube-error.ts';
import { PersistentMap } from '../../kube/persistent-map.ts';
import type { KubeconfigFinding, KubeconfigSecret } from '../objects/observed-objects.ts';
import type { EndpointSliceObject, ServiceObject } from '../objects/published-objects.ts';
import type { Action } from '../plan/plan.ts';
import { WrittenObjects } from '../sources/written-objects.ts';
import { Applier, type WriteOutcome } from './apply.ts';

const target = (name: string) =>
  ({ resource: 'services', namespace: 'ns', name, cluster: name, why: 'because' }) as const;
const create = (name: string): Action => ({
  kind: 'create',
  ...target(name),
  object: { metadata: { name } },
});
const remove = (name: string): Action => ({
  kind: 'delete',
  ...target(name),
  uid: 'u',
  resourceVersion: '1',
});
const refusal = (code: KubeErrorCode, retryAfterMs: number | null = null) =>
  new KubeError({ code, verb: 'create', path: '/api/v1/namespaces/ns/services', detail: '', retryAfterMs });

type Request = Parameters<Requester['request']>[0];
interface Asked extends Request {
  answer(value: unknown): Promise<void>;
  refuse(code: KubeErrorCode, retryAfterMs?: number): Promise<void>;
}

/** Waits for everything that follows from the last settled promise. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A watch that never delivers anything. */
const SILENT_WATCH = { listsBegun: () => 0, hasReached: () => false };

describe('the applier', () => {
  let nowMs = 0;
  let asked: Asked[];
  let outcomes: WriteOutcome[];
  let findings: Map<string, KubeconfigFinding>;
  let applier: Applier;
  let mayPublish: boolean;
  let written: {
    services: WrittenObjects<ServiceObject>;
    slices: WrittenObjects<EndpointSliceObject>;
    secrets: WrittenObjects<KubeconfigSecret>;
  };

  beforeEach(() => {
    nowMs = 0;
    mayPublish = true;
    asked = [];
    outcomes = [];
    findings = new Map();
    const now = () => nowMs;
    const versionOf = ({ metadata }: ServiceObject | EndpointSliceObject) => metadata?.resourceVersion ?? '';
    written = {
      services: new WrittenObjects<ServiceObject>(versionOf, SILENT_WATCH),
      slices: new WrittenObjects<EndpointSliceObject>(versionOf, SILENT_WATCH),
      secrets: new WrittenObjects<KubeconfigSecret>(({ resourceVersion }) => resourceVersion, SILENT_WATCH),
    };
    const client: Requester = {
      request: <T>(request: Request) =>
        new Promise<T>((resolve, reject) => {
          request.signal?.addEventListener('abort', () => reject(new Error('aborted')));
          asked.push({
            ...request,
            answer: (value) => {
              resolve(value as T);
              return settled();
            },
            refuse: (code, retryAfterMs) => {
              reject(refusal(code, retryAfterMs ?? null));
              return settled();
            },
          });
        }),
    };
    applier = new Applier({
      client,
      written,
      mayPublish: () => mayPublish,
      onFinding: (key, finding) => findings.set(key, finding),
      onOutcome: (outcome) => outcomes.push(outcome),
      now,
      random: () => 1,
    });
  });

  const begin = async (...actions: Action[]) => {
    applier.apply(actions);
    await settled();
  };

  test('sends one request per object at a time, and eight at most', async () => {
    const names = Array.from({ length: 10 }, (_, i) => `c${i}`);
    await begin(...names.map(create));
    await begin(...names.map(create));
    expect(asked).toHaveLength(8);
    await asked[0]?.answer({ metadata: { name: 'c0', resourceVersion: '5' } });
    expect(asked.map(({ body }) => (body as ServiceObject).metadata?.name)).toEqual(names.slice(0, 9));
  });

  test('drops actions that have not started when a newer plan arrives', async () => {
    await begin(...Array.from({ length: 9 }, (_, i) => create(`c${i}`)));
    await begin(create('new'));
    await asked[0]?.answer({ metadata: { name: 'c0' } });
    expect(asked[8]?.body).toMatchObject({ metadata: { name: 'new' } });
  });

  test('shows written objects to the next turn before the watch delivers them', async () => {
    await begin(create('a'));
    await asked[0]?.answer({ metadata: { name: 'a', resourceVersion: '5' }, spec: { ports: [] } });
    expect(written.services.over(PersistentMap.empty()).get('a')?.metadata?.resourceVersion).toBe('5');
    expect(outcomes).toMatchObject([{ kind: 'done', changed: true }]);
  });

  test('deletes with uid and version', async () => {
    await begin(remove('a'));
    expect(asked[0]).toMatchObject({
      method: 'DELETE',
      path: '/api/v1/namespaces/ns/services/a',
      body: { preconditions: { uid: 'u', resourceVersion: '1' } },
    });
  });

  test('patches with the version that was seen', async () => {
    const patch = { metadata: { labels: { a: 'b' } }, spec: { ports: [] } };
    await begin({ kind: 'patch', ...target('a'), patch, resourceVersion: '7' });
    expect(asked[0]).toMatchObject({
      method: 'PATCH',
      patch: 'merge',
      body: { metadata: { resourceVersion: '7', labels: { a: 'b' } }, spec: { ports: [] } },
    });
  });

  test.each<[KubeErrorCode, Action]>([
    ['conflict', create('a')],
    ['already-exists', create('a')],
    ['not-found', remove('a')],
  ])('treats %s as a change by another writer, and waits a second for the watch', async (code, action) => {
    await begin(action);
    await asked[0]?.refuse(code);
    expect(outcomes).toMatchObject([{ kind: 'overtaken' }]);
    expect(applier.problems()).toEqual([]);
    await begin(action);
    expect(asked).toHaveLength(1);
    nowMs = 1000;
    await begin(action);
    expect(asked).toHaveLength(2);
  });

  test('backs off for an object whose write fails, up to a minute, and writes the others at once', async () => {
    const waits: number[] = [];
    for (let i = 0; i < 9; i += 1) {
      await begin(create('a'), create(`other-${i}`));
      await asked[i * 2]?.refuse('server-error');
      await asked[i * 2 + 1]?.answer({ metadata: { name: 'x' } });
      const at = applier.retryAtMs() ?? Number.NaN;
      waits.push(at - nowMs);
      nowMs = at;
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    expect(applier.problems()).toMatchObject([{ origin: 'services/ns/a' }]);
    await begin(create('a'));
    await asked.at(-1)?.answer({ metadata: { name: 'a' } });
    expect(applier.problems()).toEqual([]);
  });

  test('does not back off for a different action, or for a rejected one with a new version from the watch', async () => {
    await begin(create('a'));
    await asked[0]?.refuse('server-error');
    await begin(remove('a'));
    expect(asked[1]?.method).toBe('DELETE');
    await asked[1]?.refuse('conflict');
    await begin(remove('a'));
    expect(asked).toHaveLength(2);
    await begin({ ...remove('a'), resourceVersion: '2' } as Action);
    expect(asked).toHaveLength(3);
  });

  test('reports no problem for an object without a planned action', async () => {
    await begin(create('a'));
    await asked[0]?.refuse('forbidden');
    expect(applier.problems()).toHaveLength(1);
    await begin();
    expect(applier.problems()).toEqual([]);
    expect(applier.retryAtMs()).toBeNull();
  });

  test('backs off for an object that another writer always changes first', async () => {
    const waits: number[] = [];
    for (let i = 0; i < 7; i += 1) {
      await begin(create('a'));
      await asked[i]?.refuse('already-exists');
      const at = applier.retryAtMs() ?? Number.NaN;
      waits.push(at - nowMs);
      nowMs = at;
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  test('deletes a slice even if all other requests hang, and retries within seconds', async () => {
    await begin(...Array.from({ length: 20 }, (_, i) => create(`c${i}`)));
    expect(asked).toHaveLength(8);
    const slice: Action = { ...remove('a'), resource: 'endpointslices' };
    await begin(slice);
    expect(asked.at(-1)?.path).toContain('/endpointslices/a');
    for (let i = 0; i < 10; i += 1) {
      await asked.at(-1)?.refuse('server-error');
      nowMs = applier.retryAtMs() ?? Number.NaN;
      await begin(slice);
    }
    await asked.at(-1)?.refuse('server-error');
    expect((applier.retryAtMs() ?? Number.NaN) - nowMs).toBe(5000);
  });

  test.each([null, 'text', {}, { metadata: null }, []])(
    'treats the answer %j as a failure, and continues',
    async (answer) => {
      await begin(create('a'), { ...remove('b'), kind: 'patch', patch: {} } as Action, {
        ...target('c-kubeconfig'),
        kind: 'kubeconfig',
        resource: 'secrets',
        server: 'https://c.ns:6443',
        tlsServerName: null,
        annotate: true,
      });
      for (const each of asked) await each.answer(answer);
      expect(outcomes.map((outcome) => outcome.kind === 'failed' && outcome.error.code)).toEqual(
        Array.from({ length: 3 }, () => 'bad-answer'),
      );
    },
  );

  test('waits as long as the server asks', async () => {
    await begin(create('a'));
    await asked[0]?.refuse('too-many-requests', 7000);
    expect(applier.retryAtMs()).toBe(7000);
  });

  test('reports a missing namespace as a failure, not as a change by another writer', async () => {
    await begin(create('a'));
    await asked[0]?.refuse('not-found');
    expect(outcomes).toMatchObject([{ kind: 'failed' }]);
  });

  test('stops at once, and reports no outcome for aborted requests', async () => {
    await begin(create('a'));
    await applier.stop();
    await begin(create('b'));
    expect(asked).toHaveLength(1);
    expect(outcomes).toEqual([]);
    expect(applier.busy).toBe(false);
  });

  describe('a kubeconfig', () => {
    const kubeconfig = (server: string) =>
      `apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts:\n- {name: x, context: {cluster: c, user: u}}\n` +
      `clusters:\n- name: c\n  cluster:\n    server: ${server} # where it is\nusers: []\n`;
    const secret = (text: string, changes: object = {}) => ({
      metadata: { name: 'a-kubeconfig', resourceVersion: '3' },
      type: 'cluster.x-k8s.io/secret',
      data: { value: Buffer.from(text).toString('base64') },
      ...changes,
    });
    const action: Extract<Action, { kind: 'kubeconfig' }> = {
      kind: 'kubeconfig',
      resource: 'secrets',
      namespace: 'ns',
      name: 'a-kubeconfig',
      cluster: 'a',
      server: 'https://a.ns:6443',
      tlsServerName: null,
      annotate: true,
      why: '',
    };

    test('is read, changed only in its server, annotated, and written with the version that was read', async () => {
      await begin(action);
      await asked[0]?.answer(secret(kubeconfig('https://10.0.0.5:6443')));
      const body = asked[1]!.body as { metadata: object; data: { value: string } };
      expect(body.metadata).toEqual({
        resourceVersion: '3',
        annotations: { 'isthmus.dev/kubeconfig-server': 'https://a.ns:6443' },
      });
      expect(Buffer.from(body.data.value, 'base64').toString()).toBe(kubeconfig('https://a.ns:6443'));
      await asked[1]?.answer(secret('', { metadata: { resourceVersion: '4' } }));
      expect(findings.get('ns/a-kubeconfig')).toEqual({
        resourceVersion: '4',
        server: 'https://a.ns:6443',
        tlsServerName: null,
        skipReason: null,
      });
    });

    test.each([
      ['of a type that a user chose', { type: 'Opaque' }, 'user'],
      ['that is immutable', { immutable: true }, 'immutable'],
      ['without its key', { data: {} }, 'no key value'],
      ['that is no text', { data: { value: Buffer.from([0xff, 0xfe]).toString('base64') } }, 'UTF-8'],
      ['that is no kubeconfig', { data: { value: Buffer.from('a: [').toString('base64') } }, ''],
    ])('%s is not changed, and the reason is recorded', async (_title, changes, reason) => {
      await begin(action);
      await asked[0]?.answer(secret(kubeconfig('https://10.0.0.5:6443'), changes));
      expect(asked).toHaveLength(1);
      expect(findings.get('ns/a-kubeconfig')?.skipReason).toContain(reason);
      expect(outcomes).toMatchObject([{ kind: 'done', changed: false }]);
    });

    test('that another writer changed after us is not restored: only our annotation is removed', async () => {
      const back: Action = { ...action, server: 'https://192.0.2.7:6443', annotate: false };
      const marked = {
        metadata: {
          resourceVersion: '3',
          annotations: { 'isthmus.dev/kubeconfig-server': 'https://a.ns:6443' },
        },
      };
      await begin(back);
      await asked[0]?.answer(secret(kubeconfig('https://vpn.example:6443'), marked));
      expect(asked[1]?.body).toEqual({
        metadata: { resourceVersion: '3', annotations: { 'isthmus.dev/kubeconfig-server': null } },
      });
      await asked[1]?.answer(secret('', { metadata: { resourceVersion: '4' } }));
      expect(findings.get('ns/a-kubeconfig')?.server).toBe('https://vpn.example:6443');
      await begin({ ...back, name: 'b-kubeconfig' });
      await asked[2]?.answer(secret(kubeconfig('https://a.ns:6443'), marked));
      const { data } = asked[3]!.body as { data: { value: string } };
      expect(Buffer.from(data.value, 'base64').toString()).toBe(kubeconfig('https://192.0.2.7:6443'));
    });

    describe('with a tls-server-name', () => {
      const NAMED = { ...action, tlsServerName: 'a.own' };
      const BACK = { ...action, server: 'https://10.0.0.5:6443', annotate: false };
      const withName = (server: string, name: string) =>
        kubeconfig(server).replace('    server', `    tls-server-name: ${name}\n    server`);
      const marks = (server: string | null, name: string | null) => ({
        metadata: {
          resourceVersion: '3',
          annotations: {
            ...(server !== null && { 'isthmus.dev/kubeconfig-server': server }),
            ...(name !== null && { 'isthmus.dev/kubeconfig-tls-server-name': name }),
          },
        },
      });
      const OURS = marks('https://a.ns:6443', 'a.own');
      const NONE = marks(null, null);
      type Written = readonly [annotations: object, text: string | null];

      test.each<[title: string, Action, text: string, metadata: object, Written]>([
        [
          'gets both fields and both marks in one write',
          NAMED,
          kubeconfig('https://10.0.0.5:6443'),
          NONE,
          [
            {
              'isthmus.dev/kubeconfig-server': 'https://a.ns:6443',
              'isthmus.dev/kubeconfig-tls-server-name': 'a.own',
            },
            withName('https://a.ns:6443', 'a.own'),
          ],
        ],
        [
          'gets the name back after a rotation of Cluster API, which keeps only the server and the annotations',
          NAMED,
          kubeconfig('https://a.ns:6443'),
          OURS,
          [
            {
              'isthmus.dev/kubeconfig-server': 'https://a.ns:6443',
              'isthmus.dev/kubeconfig-tls-server-name': 'a.own',
            },
            withName('https://a.ns:6443', 'a.own'),
          ],
        ],
        [
          'loses a name of ours that is not needed any more',
          action,
          withName('https://a.ns:6443', 'a.own'),
          OURS,
          [
            {
              'isthmus.dev/kubeconfig-server': 'https://a.ns:6443',
              'isthmus.dev/kubeconfig-tls-server-name': null,
            },
            kubeconfig('https://a.ns:6443'),
          ],
        ],
        [
          'is restored with its server and without the name',
          BACK,
          withName('https://a.ns:6443', 'a.own'),
          OURS,
          [
            { 'isthmus.dev/kubeconfig-server': null, 'isthmus.dev/kubeconfig-tls-server-name': null },
            kubeconfig('https://10.0.0.5:6443'),
          ],
        ],
        [
          'keeps the name of another writer when its server is restored',
          BACK,
          withName('https://a.ns:6443', 'vpn.example'),
          OURS,
          [
            { 'isthmus.dev/kubeconfig-server': null, 'isthmus.dev/kubeconfig-tls-server-name': null },
            withName('https://10.0.0.5:6443', 'vpn.example'),
          ],
        ],
        [
          'that lost only its marks gets them again',
          NAMED,
          withName('https://a.ns:6443', 'a.own'),
          NONE,
          [
            {
              'isthmus.dev/kubeconfig-server': 'https://a.ns:6443',
              'isthmus.dev/kubeconfig-tls-server-name': 'a.own',
            },
            null,
          ],
        ],
      ])('%s', async (_title, planned, text, metadata, [annotations, after]) => {
        await begin(planned);
        await asked[0]?.answer(secret(text, metadata));
        const body = asked[1]!.body as { metadata: object; data?: { value: string } };
        expect(body.metadata).toEqual({ resourceVersion: '3', annotations });
        const written = body.data === undefined ? null : Buffer.from(body.data.value, 'base64').toString();
        expect(written).toBe(after);
      });

      test.each<[title: string, Action, text: string, metadata: object, reason: string]>([
        [
          'of another writer',
          action,
          withName('https://10.0.0.5:6443', 'vpn.example'),
          NONE,
          'tls-server-name "vpn.example"',
        ],
        [
          'of another writer in place of ours',
          NAMED,
          withName('https://a.ns:6443', 'x'),
          OURS,
          'tls-server-name "x"',
        ],
        [
          'that equals ours beside another server',
          NAMED,
          withName('https://10.0.0.5:6443', 'a.own'),
          NONE,
          'tls-server-name "a.own"',
        ],
        ['that is a list', action, withName('https://10.0.0.5:6443', '[a]'), NONE, 'is not text'],
        [
          'absent and a proxy-url',
          NAMED,
          kubeconfig('https://10.0.0.5:6443').replace(
            '    server',
            '    proxy-url: socks5://h:1\n    server',
          ),
          NONE,
          'proxy-url',
        ],
      ])('%s is left alone, and the reason says so', async (_title, planned, text, metadata, reason) => {
        await begin(planned);
        await asked[0]?.answer(secret(text, metadata));
        expect(asked).toHaveLength(1);
        expect(findings.get('ns/a-kubeconfig')?.skipReason).toContain(reason);
      });
    });

    test('that already points to the proxy is only annotated, so a later restore is possible', async () => {
      await begin(action);
      await asked[0]?.answer(secret(kubeconfig('https://a.ns:6443')));
      expect(asked[1]?.body).not.toHaveProperty('data');
    });
  });

  describe('while the data plane does not have the routes yet, the applier', () => {
    const slice = { ...target('a'), resource: 'endpointslices' } as const;
    const endpoints = (ready: boolean) => [{ addresses: ['192.0.2.1'], conditions: { ready } }];

    test('publishes no ready endpoint, and publishes it as soon as the data plane has them', async () => {
      mayPublish = false;
      const patch = { kind: 'patch', ...slice, name: 'b', resourceVersion: '1' } as const;
      await begin(
        { kind: 'create', ...slice, object: { metadata: { name: 'a' }, endpoints: endpoints(true) } },
        { ...patch, patch: { endpoints: endpoints(true) } },
      );
      expect(asked).toEqual([]);
      mayPublish = true;
      applier.resume();
      await settled();
      expect(asked.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
    });

    test('removes dead endpoints, makes slices terminating, and creates objects without ready endpoints', async () => {
      mayPublish = false;
      await begin(
        { kind: 'delete', ...slice, uid: 'u', resourceVersion: '1' },
        { kind: 'patch', ...slice, name: 'b', resourceVersion: '1', patch: { endpoints: endpoints(false) } },
        { kind: 'patch', ...slice, name: 'c', resourceVersion: '1', patch: { metadata: {} } },
        create('a'),
      );
      expect(asked.map(({ method }) => method)).toEqual(['DELETE', 'PATCH', 'PATCH', 'POST']);
    });
  });
});
