import { afterEach, describe, expect, test } from 'vitest';
import type { KubeClient, KubeRequest, KubeWatchRequest } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { WatchEvent } from '../../kube/kube-object.ts';
import { KubeSource } from './kube-source.ts';

const GROUP = '/apis/infrastructure.cluster.x-k8s.io';
const cluster = (name: string, changes: object = {}) => ({
  metadata: {
    name: `${name}-x`,
    namespace: 'ns',
    uid: `uid-${name}`,
    resourceVersion: '5',
    labels: { 'cluster.x-k8s.io/cluster-name': name },
  },
  spec: { disableAPIServerFloatingIP: true, apiServerFixedIP: '10.0.0.5' },
  status: { network: { id: '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66' } },
  ...changes,
});

/** Answers by path, and with not-found for an unknown path. A watch is silent until the test sends an event. */
class Script implements KubeClient {
  readonly server = '';
  readonly identity = '';
  readonly asked: string[] = [];
  answers: Record<string, unknown> = {};
  #tell: ((event: WatchEvent | null) => void) | null = null;

  async request<T>({ path, method }: KubeRequest): Promise<T> {
    this.asked.push(path);
    const answer = this.answers[path];
    if (answer === undefined) throw new KubeError({ code: 'not-found', verb: method, path, detail: '' });
    return answer as T;
  }

  async *watch({ onOpen, signal }: KubeWatchRequest): AsyncGenerator<WatchEvent, void, void> {
    onOpen?.();
    while (!signal.aborted) {
      const event = await new Promise<WatchEvent | null>((resolve) => {
        this.#tell = resolve;
        signal.addEventListener('abort', () => resolve(null));
      });
      if (event === null) return;
      yield event;
    }
  }

  tell(event: WatchEvent): void {
    this.#tell?.(event);
  }

  serve(version: string, ...items: object[]): void {
    this.answers = {
      [GROUP]: { versions: [{ version }], preferredVersion: { version } },
      [`${GROUP}/${version}`]: { resources: [{ name: 'openstackclusters', namespaced: true }] },
      [`${GROUP}/${version}/namespaces/ns/openstackclusters`]: { metadata: { resourceVersion: '9' }, items },
    };
  }

  callCounts(): ReadonlyMap<string, number> {
    return new Map();
  }

  async close(): Promise<void> {}
}

describe('OpenStackClusters from the API', () => {
  let source: KubeSource | null = null;
  afterEach(() => source?.stop());
  const started = async (client: Script, namespace: string | null = 'ns') => {
    source = new KubeSource({ client, namespace, settings: { proxyAlways: false } });
    await source.start(() => {});
    return source;
  };

  test('are read in the version that is served, sorted, and complete once they are watched', async () => {
    const client = new Script();
    client.serve('v1beta1', cluster('b'), cluster('a'));
    const now = await started(client);
    await expect.poll(() => now.snapshot().complete).toBe(true);
    expect(now.snapshot().clusters).toMatchObject([
      { kind: 'proxied', facts: { name: 'a', key: 'ns/a-x', object: { uid: 'uid-a' } } },
      { kind: 'proxied', facts: { name: 'b' } },
    ]);
    expect(now.snapshot()).toBe(now.snapshot());
    expect(now.staleSinceMs).toBeNull();
  });

  test('follow the watch, and an invalid object affects only its own reading', async () => {
    const client = new Script();
    client.serve('v1beta1', cluster('a'));
    const now = await started(client);
    await expect.poll(() => now.snapshot().complete).toBe(true);
    const odd = { ...cluster('b'), spec: 'x'.repeat(10_000) };
    client.tell({ type: 'ADDED', object: odd });
    await expect.poll(() => now.snapshot().clusters.length).toBe(2);
    expect(now.snapshot().clusters[1]?.kind).not.toBe('proxied');
    expect(now.snapshot().complete).toBe(true);
  });

  test.each<[string, (client: Script) => void, string]>([
    ['the CRD is not installed', () => {}, 'is not installed'],
    [
      'the server serves only unknown versions',
      (client) => client.serve('v9'),
      'the server serves only v9; this program reads v1alpha6, v1alpha7, v1beta1, v1beta2',
    ],
  ])('are an empty, incomplete list when %s', async (_title, prepare, reason) => {
    const client = new Script();
    prepare(client);
    const now = await started(client);
    expect(now.snapshot()).toMatchObject({ complete: false, clusters: [] });
    expect(now.snapshot().problems).toMatchObject([
      { origin: 'watch of openstackclusters', reason: expect.stringContaining(reason) },
    ]);
    expect(now.staleSinceMs).not.toBeNull();
  });

  test('are found once the CRD is installed, and kept while it is removed again', async () => {
    const client = new Script();
    const now = await started(client);
    client.serve(
      'v1beta2',
      cluster('a', { spec: { apiServer: { enableFloatingIP: false, fixedIP: '10.0.0.5' } } }),
    );
    await expect.poll(() => now.snapshot().complete).toBe(true);
    expect(now.snapshot().clusters).toMatchObject([{ kind: 'proxied' }]);
    client.answers = {};
    client.tell({ type: 'NONSENSE', object: { metadata: { resourceVersion: '10' } } });
    client.tell({ type: 'NONSENSE', object: { metadata: { resourceVersion: '11' } } });
    await expect.poll(() => now.snapshot().complete).toBe(false);
    expect(now.snapshot().clusters).toHaveLength(1);
  });
});
