import { beforeEach, describe, expect, test } from 'vitest';
import { KubeError, type KubeErrorCode } from '../../kube/kube-error.ts';
import type { Action } from '../plan/plan.ts';
import type { WriteOutcome } from './apply.ts';
import { PublishLog } from './publish-log.ts';

const target = {
  resource: 'services',
  namespace: 'ns',
  name: 'prod',
  cluster: 'prod',
  why: 'because',
} as const;
const CREATE: Action = { kind: 'create', ...target, object: {} };
const PATCH: Action = { kind: 'patch', ...target, patch: {}, resourceVersion: '1' };
const DELETE: Action = { kind: 'delete', ...target, uid: 'u', resourceVersion: '1' };
const KUBECONFIG: Action = {
  kind: 'kubeconfig',
  ...target,
  resource: 'secrets',
  server: 's',
  tlsServerName: null,
  annotate: true,
};
const failed = (code: KubeErrorCode, action = CREATE): WriteOutcome => ({
  kind: 'failed',
  action,
  error: new KubeError({ code, verb: 'create', path: '/api/v1/namespaces/ns/services', detail: 'no' }),
  retryInMs: 499.6,
});

describe('the log of what is published', () => {
  let lines: string[];
  let facts: Readonly<Record<string, unknown>>[];
  let log: PublishLog;
  beforeEach(() => {
    lines = [];
    facts = [];
    log = new PublishLog((level, reported, message) => {
      lines.push(`${level} ${message}`);
      facts.push(reported);
    });
  });

  test.each<[Action, boolean, string]>([
    [CREATE, true, 'info published'],
    [DELETE, true, 'info withdrawn'],
    [KUBECONFIG, true, 'info kubeconfig rewritten'],
    [KUBECONFIG, false, 'debug kubeconfig rewritten'],
    // While magnum-cluster-api-proxy runs too, slices are patched every ten seconds.
    [PATCH, true, 'debug changed'],
  ])('writes the right message for outcome %#', (action, changed, line) => {
    log.write({ kind: 'done', action, changed });
    expect(lines).toEqual([line]);
    const kind = action.resource === 'secrets' ? 'Secret' : 'Service';
    expect(facts).toEqual([{ cluster: 'prod', object: `${kind} ns/prod`, why: 'because' }]);
  });

  test('reports a failure once, again when the error changes, and its recovery', () => {
    for (const code of ['forbidden', 'forbidden', 'server-error', 'server-error'] as const)
      log.write(failed(code));
    log.write({ kind: 'overtaken', action: CREATE });
    log.write({ kind: 'done', action: CREATE, changed: true });
    log.write({ kind: 'done', action: CREATE, changed: true });
    expect(lines).toEqual([
      'warn write to the Kubernetes API failed: retrying',
      'warn write to the Kubernetes API failed: retrying',
      'debug write rejected: another writer changed the object first; planning again',
      'info write succeeded after a failure',
      'info published',
    ]);
    expect(facts[0]).toMatchObject({ error: 'forbidden: cannot create services in ns: no', retryInMs: 500 });
  });
});
