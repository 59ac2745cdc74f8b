import { beforeEach, describe, expect, test } from 'vitest';
import type { Backend, Route } from '../routing/route-table.ts';
import type { ConnectionRecord } from './connection-record.ts';
import type { Decision, Outcome } from './engine.ts';
import { PortPolicy } from './port-policy.ts';

const backend = (address: string): Backend => ({ key: address, address, port: 22, netns: null });
const route = (addresses: readonly string[], allowedCidrs: readonly string[] = []): Route => ({
  cluster: 'kube',
  namespace: 'magnum-system',
  backends: addresses.map(backend),
  pool: { listener: 'magnum-system/ssh', allowedCidrs },
});

let current: Route;
let logged: ConnectionRecord[];
let dialFailures: [Backend, string][];
let policy: PortPolicy;
beforeEach(() => {
  current = route(['10.0.0.5', '10.0.0.6']);
  logged = [];
  dialFailures = [];
  policy = new PortPolicy({
    route: () => current,
    maxConnections: 7,
    onEnded: (ending) => logged.push(ending.record()),
    onDialFailed: (failed, error) => dialFailures.push([failed, error]),
  });
});

const ask = (address = '192.0.2.1'): Decision =>
  policy.decide({
    listener: 'listener:magnum-system/ssh',
    client: { address, port: 40_000 },
    bytes: new Uint8Array(),
    note: undefined,
  });
const end = (note: unknown, outcome: Outcome): ConnectionRecord => {
  policy.ended({
    listener: 'listener:magnum-system/ssh',
    client: { address: '192.0.2.1', port: 40_000 },
    note,
    outcome,
    attempts: [],
    backend: null,
    bytesFromClient: 0,
    bytesFromBackend: 0,
    durationMs: 1,
  });
  return logged.at(-1) as ConnectionRecord;
};

test('every connection goes to the members with the fewest connections and counts for the listener', () => {
  const decision = ask();
  expect(decision).toMatchObject({
    kind: 'candidates',
    balance: 'least-connections',
    skipBytes: 0,
    farewell: null,
    share: { key: 'listener:magnum-system/ssh', limit: 7 },
  });
  expect(end(decision.note, 'finished')).toMatchObject({
    level: 'info',
    listener: 'listener:magnum-system/ssh',
    pool: 'magnum-system/ssh',
    cluster: 'kube',
    namespace: 'magnum-system',
    serverName: null,
    reason: 'finished',
  });
  expect(end(decision.note, 'refused-share')).toMatchObject({
    level: 'warn',
    reason: 'listener-connections',
  });
});

test('the list of members is the same object while the route is unchanged', () => {
  const [one, two] = [ask(), ask('192.0.2.2')];
  expect(one).toBe(two);
  expect(one.kind === 'candidates' && one.backends).toBe(current.backends);
});

test('a connection uses the route that is current when it arrives', () => {
  ask();
  current = route(['10.0.0.9']);
  expect(ask()).toMatchObject({ backends: [{ address: '10.0.0.9' }] });
});

test('without a ready member the connection is closed, and the record has the reason', () => {
  current = route([]);
  const decision = ask();
  expect(decision.kind).toBe('close');
  expect(end(decision.note, 'closed')).toMatchObject({
    level: 'warn',
    reason: 'no-healthy-backend',
    cluster: 'kube',
  });
});

describe('the allowed networks', () => {
  beforeEach(() => {
    current = route(['10.0.0.5'], ['192.0.2.0/24', '2001:db8::/32']);
  });

  test.each(['192.0.2.200', '2001:db8::1'])('admit %s', (address) => {
    expect(ask(address).kind).toBe('candidates');
  });

  test.each(['198.51.100.1', '2001:db9::1', ''])('reject %j', (address) => {
    const decision = ask(address);
    expect(decision.kind).toBe('close');
    expect(end(decision.note, 'closed')).toMatchObject({ level: 'warn', reason: 'source-not-allowed' });
  });

  test('are those of the current route', () => {
    expect(ask('198.51.100.1').kind).toBe('close');
    current = route(['10.0.0.5'], ['198.51.100.0/24']);
    expect(ask('198.51.100.1').kind).toBe('candidates');
  });
});

test('a failed dial is reported at once, and a connection that ended before any question has a record too', () => {
  policy.dialFailed(backend('10.0.0.5'), 'ECONNREFUSED');
  expect(dialFailures).toEqual([[backend('10.0.0.5'), 'ECONNREFUSED']]);
  expect(end(undefined, 'refused-connections')).toMatchObject({ reason: 'refused-connections', pool: null });
});
