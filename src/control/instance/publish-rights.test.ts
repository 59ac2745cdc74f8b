import { afterEach, expect, test, vi } from 'vitest';
import type { KubeRequest, Requester } from '../../kube/kube-client.ts';
import { KubeError, type KubeErrorCode } from '../../kube/kube-error.ts';
import { PublishRights } from './publish-rights.ts';

interface Attributes {
  readonly resource: string;
  readonly verb: string;
  readonly namespace: string;
}

/** Answers reviews. `denied` names what is not granted, as `<verb> <resource>`. */
function harness(denied: readonly string[], code: KubeErrorCode | null = null) {
  const state = { denied, code, asked: [] as Attributes[], changes: 0 };
  const request = async ({ path, body }: KubeRequest) => {
    const { resourceAttributes } = (body as { spec: { resourceAttributes: Attributes } }).spec;
    state.asked.push(resourceAttributes);
    if (state.code !== null)
      throw new KubeError({ code: state.code, verb: 'create', path, detail: 'a test' });
    return {
      status: {
        allowed: !state.denied.includes(`${resourceAttributes.verb} ${resourceAttributes.resource}`),
      },
    };
  };
  const rights = new PublishRights({
    client: { request } as Requester,
    namespace: 'proxy',
    clusterNamespace: null,
    onChange: () => {
      state.changes += 1;
    },
    retryMs: 1,
  });
  cleanups.push(() => rights.stop());
  rights.start();
  const failure = () => rights.check().failure;
  return { state, rights, failure };
}

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

test('an account with all rights passes, and is asked once about the namespace of the published objects', async () => {
  const { state, failure } = harness([]);
  expect(failure()).toBe('not asked yet');
  await vi.waitFor(() => expect(failure()).toBeNull());
  expect(state.changes).toBe(1);
  expect(new Set(state.asked.map(({ namespace }) => namespace))).toEqual(new Set(['proxy']));
  expect([...new Set(state.asked.map(({ resource }) => resource))].sort()).toEqual([
    'endpointslices',
    'leases',
    'services',
  ]);
});

test('a missing right is named, and the check passes when it is granted', async () => {
  const { state, failure } = harness(['patch leases', 'delete endpointslices']);
  await vi.waitFor(() =>
    expect(failure()).toBe(
      'may not delete endpointslices.discovery.k8s.io, patch leases.coordination.k8s.io in proxy: add these verbs to the Role',
    ),
  );
  state.denied = [];
  await vi.waitFor(() => expect(failure()).toBeNull());
  expect(state.changes).toBe(2);
});

test.each<KubeErrorCode>(['forbidden', 'not-found'])(
  'a server that does not answer reviews (%s) does not keep the instance from being ready',
  async (code) => {
    const { failure } = harness([], code);
    await vi.waitFor(() => expect(failure()).toBeNull());
  },
);

test.each<KubeErrorCode>(['unreachable', 'unauthorized', 'server-error'])(
  'an answer that did not arrive (%s) is asked for again',
  async (code) => {
    const { state, failure } = harness([], code);
    await vi.waitFor(() => expect(failure()).toContain(code));
    state.code = null;
    await vi.waitFor(() => expect(failure()).toBeNull());
  },
);

test('after a stop, nothing more is asked', async () => {
  const { state, rights, failure } = harness(['patch leases']);
  await vi.waitFor(() => expect(failure()).toContain('patch leases'));
  rights.stop();
  const asked = state.asked.length;
  // Another instance asks again several times meanwhile.
  const other = harness(['patch leases']);
  await vi.waitFor(() => expect(other.state.asked.length).toBeGreaterThan(100));
  expect(state.asked).toHaveLength(asked);
});
