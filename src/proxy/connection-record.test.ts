import { describe, expect, test } from 'vitest';
import type { Backend } from '../routing/route-table.ts';
import { ConnectionEnding, type PolicyFacts, type RecordLevel } from './connection-record.ts';
import type { ConnectionReport, Outcome } from './engine.ts';
import type { Refusal } from './reasons.ts';

const BACKEND: Backend = {
  key: 'k',
  address: '10.0.0.5',
  port: 6443,
  netns: { path: '/run/netns/qdhcp-1', identity: 'cookie:7' },
};

function report(parts: Partial<ConnectionReport> = {}): ConnectionReport {
  return {
    listener: 'tls',
    client: { address: '192.0.2.1', port: 40_000 },
    note: undefined,
    outcome: 'finished',
    attempts: [],
    backend: null,
    bytesFromClient: 11,
    bytesFromBackend: 22,
    durationMs: 1234.5678,
    ...parts,
  };
}

const connectionRecord = (ended: ConnectionReport, facts: PolicyFacts | null) =>
  new ConnectionEnding(ended, facts).record();

const FINDINGS = {
  source: null,
  serverName: 'kube.magnum-system',
  route: { cluster: 'kube', namespace: 'magnum-system' },
  refusal: null,
};

test('the record of a served connection has all fields, with stable names and in stable order', () => {
  const record = connectionRecord(
    report({ backend: BACKEND, attempts: [{ backend: BACKEND, durationMs: 1, error: null }] }),
    FINDINGS,
  );
  expect(Object.entries(record)).toEqual([
    ['level', 'info'],
    ['listener', 'tls'],
    ['client', '192.0.2.1:40000'],
    ['via', null],
    ['serverName', 'kube.magnum-system'],
    ['cluster', 'kube'],
    ['namespace', 'magnum-system'],
    ['pool', null],
    ['netns', '/run/netns/qdhcp-1'],
    ['backend', '10.0.0.5:6443'],
    ['bytesFromClient', 11],
    ['bytesFromBackend', 22],
    ['durationMs', 1234.6],
    ['outcome', 'finished'],
    ['reason', 'finished'],
    ['failedDials', []],
  ]);
});

test('the record of a connection without facts has the same fields', () => {
  const full = connectionRecord(report({ backend: BACKEND }), FINDINGS);
  const bare = connectionRecord(report({ outcome: 'refused-connections' }), null);
  expect(Object.keys(bare)).toEqual(Object.keys(full));
  expect(bare).toMatchObject({
    client: '192.0.2.1:40000',
    via: null,
    serverName: null,
    cluster: null,
    namespace: null,
    pool: null,
    netns: null,
    backend: null,
    reason: 'refused-connections',
  });
});

describe('the level', () => {
  const BY_OUTCOME: Record<Outcome, RecordLevel> = {
    finished: 'info',
    'client-reset': 'info',
    'backend-reset': 'info',
    'client-timeout': 'info',
    'backend-timeout': 'info',
    'drain-expired': 'info',
    stopped: 'info',
    closed: 'debug',
    'client-left': 'debug',
    'hello-timeout': 'debug',
    'hello-too-large': 'debug',
    'evicted-hello': 'warn',
    'alert-sent': 'debug',
    'dial-failed': 'warn',
    'refused-connections': 'warn',
    'refused-descriptors': 'warn',
    'refused-dials': 'warn',
    'refused-hello-memory': 'warn',
    'refused-share': 'warn',
    'refused-slots': 'warn',
    'policy-error': 'error',
  };
  test.each(Object.entries(BY_OUTCOME))('of %s is %s', (outcome, level) => {
    expect(connectionRecord(report({ outcome: outcome as Outcome }), null).level).toBe(level);
  });

  test.each<[refusal: Refusal, level: RecordLevel]>([
    ['no-server-name', 'debug'],
    ['unknown-server-name', 'debug'],
    ['no-healthy-backend', 'warn'],
  ])('of an alert for %s is %s', (refusal, level) => {
    const record = connectionRecord(report({ outcome: 'alert-sent' }), { ...FINDINGS, refusal });
    expect(record).toMatchObject({ level, reason: refusal, outcome: 'alert-sent' });
  });

  test.each<[refusal: Refusal, level: RecordLevel]>([
    ['proxy-header-v1-bad-address', 'warn'],
    ['no-healthy-backend', 'warn'],
    ['source-not-allowed', 'warn'],
    ['plain-http', 'debug'],
  ])('of a close for %s is %s', (refusal, level) => {
    expect(connectionRecord(report({ outcome: 'closed' }), { ...FINDINGS, refusal }).level).toBe(level);
  });
});

describe('the reason', () => {
  const failed = (error: string | null) => ({ backend: BACKEND, durationMs: 1, error });

  test.each<[title: string, parts: Partial<ConnectionReport>, refusal: Refusal | null, reason: string]>([
    ['is the outcome if there is no other information', { outcome: 'client-reset' }, null, 'client-reset'],
    ['is the reason of the policy', { outcome: 'closed' }, 'plain-http', 'plain-http'],
    [
      'is the last error of the dials',
      { outcome: 'dial-failed', attempts: [failed('ECONNREFUSED'), failed('ETIMEDOUT')] },
      null,
      'ETIMEDOUT',
    ],
    [
      'of a cluster at its connection limit is cluster-connections',
      { outcome: 'refused-share' },
      null,
      'cluster-connections',
    ],
    ['of a dial without any candidate is no-candidate', { outcome: 'dial-failed' }, null, 'no-candidate'],
    [
      'is not the error of a failed dial if a later dial succeeded',
      { attempts: [failed('ECONNREFUSED'), failed(null)] },
      null,
      'finished',
    ],
    [
      'of a bug is its message',
      { outcome: 'policy-error', note: new TypeError('x is null') },
      null,
      'TypeError: x is null',
    ],
  ])('%s', (_title, parts, refusal, reason) => {
    expect(connectionRecord(report(parts), { ...FINDINGS, refusal }).reason).toBe(reason);
  });
});

test('client is the address from a trusted proxy, and via is the proxy', () => {
  const source = { address: '2001:db8::7', port: 5 };
  expect(connectionRecord(report(), { ...FINDINGS, source })).toMatchObject({
    client: '[2001:db8::7]:5',
    via: '192.0.2.1:40000',
  });
});

test('IPv6 addresses are in brackets, a backend without netns has none, and failed dials include their error', () => {
  const six: Backend = { key: 'six', address: 'fd00::5', port: 6443, netns: null };
  const record = connectionRecord(
    report({
      client: { address: '::1', port: 1 },
      backend: six,
      attempts: [
        { backend: BACKEND, durationMs: 1, error: 'ENETNSCHANGED' },
        { backend: six, durationMs: 1, error: null },
      ],
    }),
    FINDINGS,
  );
  expect(record).toMatchObject({
    client: '[::1]:1',
    backend: '[fd00::5]:6443',
    netns: null,
    failedDials: ['10.0.0.5:6443: ENETNSCHANGED'],
  });
});
