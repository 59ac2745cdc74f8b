import { BlockList } from 'node:net';
import { beforeEach, describe, expect, test } from 'vitest';
import { CAPTURES } from '../../test/captures/captures.ts';
import { helloMessage, hostNameExtension, records } from '../../test/tls/hello-builder.ts';
import {
  type Backend,
  EMPTY_ROUTE_TABLE,
  type Route,
  type RouteTable,
  routeTable,
} from '../routing/route-table.ts';
import type { ConnectionRecord } from './connection-record.ts';
import type { ConnectionReport, Decision, Outcome, Peer } from './engine.ts';
import { ConnectionNote, SniPolicy } from './sni-policy.ts';

const UNRECOGNIZED_NAME = Uint8Array.of(21, 3, 1, 0, 2, 2, 112);
const INTERNAL_ERROR = Uint8Array.of(21, 3, 1, 0, 2, 2, 80);
const NAME = 'demo-cluster.magnum-system';
const CLIENT: Peer = { address: '192.0.2.1', port: 40_000 };
const BALANCER: Peer = { address: '10.0.0.9', port: 50_000 };

const backend = (address: string): Backend => ({ key: address, address, port: 6443, netns: null });
const route = (cluster: string, ...addresses: string[]): Route => ({
  cluster,
  namespace: 'magnum-system',
  backends: addresses.map(backend),
});
const tableOf = (served: Route, defaultRoute: Route | null = null): RouteTable =>
  routeTable([{ serverNames: [NAME], route: served }], defaultRoute);
const DEMO = route('demo-cluster', '10.0.0.5', '10.0.0.6');

const captured = (name: string): Uint8Array => {
  const capture = CAPTURES.find((each) => each.name === name);
  if (capture === undefined) throw new Error(`no capture ${name}`);
  return capture.bytes;
};
const HELLO = captured('kubectl-1.32');
const NAMELESS = captured('openssl-3.0-no-server-name');
const helloFor = (name: string) => records(helloMessage({ extensions: [hostNameExtension(name)] }));
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));
const joined = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

let table: RouteTable;
let logged: ConnectionRecord[];
let dialFailures: [Backend, string][];
beforeEach(() => {
  table = tableOf(DEMO);
  logged = [];
  dialFailures = [];
});

function policyWith(options: { trusted?: string; maxConnectionsPerCluster?: number } = {}): SniPolicy {
  const trustedProxies = options.trusted === undefined ? null : new BlockList();
  if (options.trusted !== undefined)
    trustedProxies?.addAddress(options.trusted, options.trusted.includes(':') ? 'ipv6' : 'ipv4');
  return new SniPolicy({
    routes: () => table,
    trustedProxies,
    maxConnectionsPerCluster: options.maxConnectionsPerCluster ?? 100,
    onEnded: (ending) => logged.push(ending.record()),
    onDialFailed: (failed, error) => dialFailures.push([failed, error]),
  });
}

function ask(policy: SniPolicy, bytes: Uint8Array, client = CLIENT, note?: unknown): Decision {
  return policy.decide({ listener: 'tls', client, bytes, note });
}

function end(
  policy: SniPolicy,
  note: unknown,
  outcome: Outcome = 'finished',
  client = CLIENT,
): ConnectionRecord {
  const report: ConnectionReport = {
    listener: 'tls',
    client,
    note,
    outcome,
    attempts: [],
    backend: null,
    bytesFromClient: 0,
    bytesFromBackend: 0,
    durationMs: 1,
  };
  policy.ended(report);
  return logged.at(-1) as ConnectionRecord;
}

describe('a known name', () => {
  test.each(CAPTURES.filter(({ serverName }) => serverName === NAME))(
    'in the hello of $name gives its backends in order',
    ({ bytes }) => {
      const decision = ask(policyWith(), bytes);
      expect(decision).toEqual({
        kind: 'candidates',
        backends: DEMO.backends,
        skipBytes: 0,
        farewell: INTERNAL_ERROR,
        share: {
          key: 'magnum-system/demo-cluster',
          limit: 100,
          group: 'magnum-system/demo-cluster',
        },
        note: expect.any(ConnectionNote),
      });
    },
  );

  test('may have upper-case letters and a trailing dot', () => {
    expect(ask(policyWith(), helloFor('Demo-Cluster.MAGNUM-system.'))).toMatchObject({
      kind: 'candidates',
      backends: DEMO.backends,
    });
  });

  test('is in the record, together with its cluster', () => {
    const policy = policyWith();
    expect(end(policy, ask(policy, HELLO).note)).toMatchObject({
      serverName: NAME,
      cluster: 'demo-cluster',
      namespace: 'magnum-system',
      reason: 'finished',
      level: 'info',
    });
  });
});

describe('the policy rejects', () => {
  test.each<
    [
      title: string,
      table: RouteTable,
      bytes: Uint8Array,
      alert: Uint8Array | null,
      reason: string,
      found: Partial<ConnectionRecord>,
    ]
  >([
    [
      'an unknown name, with alert 112',
      tableOf(DEMO),
      helloFor('other.magnum-system'),
      UNRECOGNIZED_NAME,
      'unknown-server-name',
      { serverName: 'other.magnum-system', cluster: null, level: 'debug' },
    ],
    [
      'every name if the table is empty, with alert 112',
      EMPTY_ROUTE_TABLE,
      HELLO,
      UNRECOGNIZED_NAME,
      'unknown-server-name',
      { serverName: NAME, cluster: null },
    ],
    [
      'an unknown name even if there is a default route',
      tableOf(DEMO, DEMO),
      helloFor('other'),
      UNRECOGNIZED_NAME,
      'unknown-server-name',
      { cluster: null },
    ],
    [
      'a hello without a name, with alert 112',
      tableOf(DEMO),
      NAMELESS,
      UNRECOGNIZED_NAME,
      'no-server-name',
      { serverName: null, cluster: null, level: 'debug' },
    ],
    [
      'a name of a cluster without a healthy backend, with alert 80',
      tableOf(route('demo-cluster')),
      HELLO,
      INTERNAL_ERROR,
      'no-healthy-backend',
      { serverName: NAME, cluster: 'demo-cluster', level: 'warn' },
    ],
    [
      'a hello without a name if the default route has no healthy backend, with alert 80',
      tableOf(DEMO, route('default')),
      NAMELESS,
      INTERNAL_ERROR,
      'no-healthy-backend',
      { serverName: null, cluster: 'default' },
    ],
    [
      'plain HTTP, without an alert',
      tableOf(DEMO),
      latin1('GET / HTTP/1.1\r\n\r\n'),
      null,
      'plain-http',
      { serverName: null, level: 'debug' },
    ],
    ['SSH, without an alert', tableOf(DEMO), latin1('SSH-2.0-OpenSSH_9.2\r\n'), null, 'ssh', {}],
    [
      'an unexpected PROXY header, without an alert',
      tableOf(DEMO),
      latin1('PROXY UNKNOWN\r\n'),
      null,
      'proxy-protocol',
      {},
    ],
    [
      'a name that is an IP address, without an alert',
      tableOf(DEMO),
      helloFor('10.0.0.1'),
      null,
      'name-is-ip',
      {},
    ],
  ])('%s', (_title, routes, bytes, alert, reason, found) => {
    table = routes;
    const policy = policyWith();
    const decision = ask(policy, bytes);
    const note = expect.any(ConnectionNote);
    expect(decision).toEqual(
      alert === null ? { kind: 'close', note } : { kind: 'alert', bytes: alert, note },
    );
    expect(end(policy, decision.note, alert === null ? 'closed' : 'alert-sent')).toMatchObject({
      reason,
      ...found,
    });
  });
});

test('a hello without a name goes to the default route if there is one', () => {
  const fallback = route('default', '10.0.0.7');
  table = tableOf(DEMO, fallback);
  const policy = policyWith();
  const decision = ask(policy, NAMELESS);
  expect(decision).toMatchObject({ kind: 'candidates', backends: fallback.backends, skipBytes: 0 });
  expect(end(policy, decision.note)).toMatchObject({
    serverName: null,
    cluster: 'default',
    reason: 'finished',
  });
});

describe('the share', () => {
  const shareOf = (policy: SniPolicy, bytes: Uint8Array) => {
    const decision = ask(policy, bytes);
    return decision.kind === 'candidates' ? decision.share : expect.fail(decision.kind);
  };

  test('is the cluster, for all its names and addresses', () => {
    table = routeTable([{ serverNames: [NAME, 'demo-cluster'], route: DEMO }], null);
    const policy = policyWith({ maxConnectionsPerCluster: 2 });
    const share = {
      key: 'magnum-system/demo-cluster',
      limit: 2,
      group: 'magnum-system/demo-cluster',
    };
    expect(shareOf(policy, HELLO)).toEqual(share);
    expect(shareOf(policy, helloFor('demo-cluster'))).toEqual(share);
    table = tableOf(route('demo-cluster', '10.9.9.9'));
    expect(shareOf(policy, HELLO)).toEqual(share);
  });

  test('of a cluster at its connection limit is the reason in the record', () => {
    const policy = policyWith({ maxConnectionsPerCluster: 2 });
    expect(end(policy, ask(policy, HELLO).note, 'refused-share')).toMatchObject({
      reason: 'cluster-connections',
      cluster: 'demo-cluster',
      serverName: NAME,
      level: 'warn',
    });
  });
});

describe('prepared answers', () => {
  test('are equal to the answers for a hello with the same name, and give the same record', () => {
    table = routeTable([{ serverNames: [NAME, 'demo-cluster'], route: DEMO }], null);
    const policy = policyWith();
    const prepared = policy.prepared();
    expect([...prepared.keys()]).toEqual([NAME, 'demo-cluster']);
    for (const [name, { backends, farewell, share, note }] of prepared) {
      const asked = ask(policy, helloFor(name));
      expect(asked).toMatchObject({ kind: 'candidates', backends, farewell, share, skipBytes: 0 });
      for (const outcome of ['finished', 'refused-share', 'dial-failed'] as const)
        expect(end(policy, note, outcome)).toEqual(end(policy, asked.note, outcome));
    }
  });

  test('do not exist for a cluster without a healthy backend', () => {
    table = tableOf(route('demo-cluster'));
    expect(policyWith().prepared().size).toBe(0);
  });

  test('do not exist if a PROXY header may come first', () => {
    expect(policyWith({ trusted: BALANCER.address }).prepared().size).toBe(0);
  });

  test('stay the same objects while the route is unchanged', () => {
    const policy = policyWith();
    const first = policy.prepared().get(NAME);
    table = tableOf(route('demo-cluster', '10.0.0.5', '10.0.0.6'));
    expect(policy.prepared().get(NAME)).toBe(first);
    for (const changed of [
      route('demo-cluster', '10.0.0.6', '10.0.0.5'),
      route('demo-cluster', '10.0.0.6'),
      route('other', '10.0.0.6'),
    ]) {
      const before = policy.prepared().get(NAME);
      table = tableOf(changed);
      const now = policy.prepared().get(NAME);
      expect(now).not.toBe(before);
      expect(now?.backends).toBe(changed.backends);
      expect(end(policy, now?.note).cluster).toBe(changed.cluster);
    }
  });

  test('have a frozen note, because connections share them', () => {
    expect(policyWith().prepared().get(NAME)?.note).toSatisfy(Object.isFrozen);
  });
});

test('a swapped table applies from the next connection on', () => {
  const policy = policyWith();
  expect(ask(policy, HELLO)).toMatchObject({ backends: DEMO.backends });
  const moved = route('demo-cluster', '10.7.7.7');
  table = tableOf(moved);
  expect(ask(policy, HELLO)).toMatchObject({ backends: moved.backends });
  table = EMPTY_ROUTE_TABLE;
  expect(ask(policy, HELLO)).toMatchObject({ kind: 'alert', bytes: UNRECOGNIZED_NAME });
});

test('a table that is swapped between two pieces of a hello applies to that hello', () => {
  const policy = policyWith();
  const first = ask(policy, HELLO.subarray(0, 20));
  table = EMPTY_ROUTE_TABLE;
  expect(ask(policy, HELLO, CLIENT, first.note)).toMatchObject({ kind: 'alert', bytes: UNRECOGNIZED_NAME });
});

const V1 = latin1('PROXY TCP4 198.51.100.7 198.51.100.8 1234 6443\r\n');
const V2 = joined(
  latin1('\r\n\r\n\0\r\nQUIT\n'),
  Uint8Array.of(
    0x21,
    0x11,
    0,
    12,
    198,
    51,
    100,
    7,
    198,
    51,
    100,
    8,
    1234 >> 8,
    1234 & 0xff,
    6443 >> 8,
    6443 & 0xff,
  ),
);
const LOCAL = joined(latin1('\r\n\r\n\0\r\nQUIT\n'), Uint8Array.of(0x20, 0, 0, 0));

describe('the PROXY header of a trusted peer', () => {
  test.each<[title: string, header: Uint8Array, client: string, via: string | null]>([
    ['of version 1 names the client', V1, '198.51.100.7:1234', '10.0.0.9:50000'],
    ['of version 2 names the client', V2, '198.51.100.7:1234', '10.0.0.9:50000'],
    ['may omit the client', LOCAL, '10.0.0.9:50000', null],
    ['may be absent', new Uint8Array(), '10.0.0.9:50000', null],
  ])('%s', (_title, header, client, via) => {
    const policy = policyWith({ trusted: BALANCER.address });
    const decision = ask(policy, joined(header, HELLO), BALANCER);
    expect(decision).toMatchObject({ kind: 'candidates', backends: DEMO.backends, skipBytes: header.length });
    expect(end(policy, decision.note, 'finished', BALANCER)).toMatchObject({ client, via, serverName: NAME });
  });

  test('closes the connection without an alert if it is invalid, with the reason of the header', () => {
    const policy = policyWith({ trusted: BALANCER.address });
    const decision = ask(policy, joined(latin1('PROXY TCP4 a b 1 2\r\n'), HELLO), BALANCER);
    expect(decision.kind).toBe('close');
    expect(end(policy, decision.note, 'closed', BALANCER)).toMatchObject({
      reason: 'proxy-header-v1-bad-address',
      client: '10.0.0.9:50000',
      via: null,
    });
  });

  test('also names the client of a rejected connection', () => {
    const policy = policyWith({ trusted: BALANCER.address });
    const decision = ask(policy, joined(V1, helloFor('other')), BALANCER);
    expect(decision).toMatchObject({ kind: 'alert', bytes: UNRECOGNIZED_NAME });
    expect(end(policy, decision.note, 'alert-sent', BALANCER)).toMatchObject({
      client: '198.51.100.7:1234',
      via: '10.0.0.9:50000',
    });
  });

  test('is read from IPv6 peers as well', () => {
    const peer = { address: 'fd00::9', port: 1 };
    expect(ask(policyWith({ trusted: 'fd00::9' }), joined(V1, HELLO), peer)).toMatchObject({
      kind: 'candidates',
      skipBytes: V1.length,
    });
  });

  test.each<[title: string, peer: Peer]>([
    ['another peer', CLIENT],
    ['an IPv6 peer', { address: '2001:db8::1', port: 1 }],
    ['a disconnected peer without an address', { address: '', port: 0 }],
  ])('is not trusted from %s', (_title, peer) => {
    const policy = policyWith({ trusted: BALANCER.address });
    for (const header of [V1, V2]) {
      const decision = ask(policy, joined(header, HELLO), peer);
      expect(decision.kind).toBe('close');
      expect(end(policy, decision.note, 'closed', peer)).toMatchObject({
        reason: 'proxy-protocol',
        via: null,
        serverName: null,
      });
    }
    expect(ask(policy, HELLO, peer)).toMatchObject({ kind: 'candidates', skipBytes: 0 });
  });
});

describe('a hello that arrives in pieces', () => {
  test.each<[title: string, header: Uint8Array, peer: Peer]>([
    ['of an ordinary client', new Uint8Array(), CLIENT],
    ['after a header of version 1', V1, BALANCER],
    ['after a header of version 2', V2, BALANCER],
    ['of a trusted peer without a header', new Uint8Array(), BALANCER],
  ])('%s is requested until it is complete, and gives the same answer', (_title, header, peer) => {
    const bytes = joined(header, HELLO);
    const policy = policyWith({ trusted: BALANCER.address });
    let note: unknown;
    for (let length = 1; length < bytes.length; length += 1) {
      const decision = ask(policy, bytes.subarray(0, length), peer, note);
      if (decision.kind !== 'more') expect.fail(`${decision.kind} at ${length}`);
      expect(decision.minBytes).toBeGreaterThan(length);
      expect(decision.minBytes).toBeLessThanOrEqual(bytes.length);
      if (note !== undefined) expect(decision.note).toBe(note);
      note = decision.note;
    }
    const decision = ask(policy, bytes, peer, note);
    expect(decision).toMatchObject({
      kind: 'candidates',
      backends: DEMO.backends,
      skipBytes: header.length,
      note,
    });
  });

  test('after a header counts from the first byte of the header', () => {
    const policy = policyWith({ trusted: BALANCER.address });
    const bare = ask(policy, HELLO.subarray(0, 6));
    const behind = ask(policy, joined(V1, HELLO.subarray(0, 6)), BALANCER);
    if (bare.kind !== 'more' || behind.kind !== 'more') expect.fail('the hello is not whole yet');
    expect(behind.minBytes).toBe(bare.minBytes + V1.length);
  });
});

describe('reports', () => {
  test.each<[title: string, note: unknown, outcome: Outcome, reason: string]>([
    ['of a connection without a question', undefined, 'refused-connections', 'refused-connections'],
    ['of a bug', new Error('boom'), 'policy-error', 'Error: boom'],
  ])('%s create one record', (_title, note, outcome, reason) => {
    const policy = policyWith();
    ask(policy, HELLO);
    expect(end(policy, note, outcome)).toMatchObject({ outcome, reason, serverName: null, cluster: null });
    expect(logged).toHaveLength(1);
  });

  test('of failed dials are forwarded at once', () => {
    policyWith().dialFailed(DEMO.backends[0] as Backend, 'ECONNREFUSED');
    expect(dialFailures).toEqual([[DEMO.backends[0], 'ECONNREFUSED']]);
  });
});
