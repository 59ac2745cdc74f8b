// The SNI policy for names of an additional listener: balancing over its members, and its allowed networks.
import { BlockList } from 'node:net';
import { expect, test } from 'vitest';
import { helloMessage, hostNameExtension, records } from '../../test/tls/hello-builder.ts';
import { type Backend, type Route, type RouteTable, routeTable } from '../routing/route-table.ts';
import type { ConnectionRecord } from './connection-record.ts';
import type { Peer } from './engine.ts';
import { SniPolicy } from './sni-policy.ts';

const ACCESS_DENIED = Uint8Array.of(21, 3, 1, 0, 2, 2, 49);
const NAME = 'kube-registry.magnum-system';
const HELLO = records(helloMessage({ extensions: [hostNameExtension(NAME)] }));
const CLIENT: Peer = { address: '192.0.2.1', port: 40_000 };
const BALANCER: Peer = { address: '10.0.0.9', port: 50_000 };
const header = (source: string) => Buffer.from(`PROXY TCP4 ${source} 10.0.0.1 1000 6443\r\n`);

const backend = (address: string): Backend => ({ key: address, address, port: 443, netns: null });
const pooled = (addresses: readonly string[], allowedCidrs: readonly string[] = []): Route => ({
  cluster: 'kube',
  namespace: 'magnum-system',
  backends: addresses.map(backend),
  pool: { listener: 'magnum-system/registry', allowedCidrs },
});
const tableOf = (route: Route): RouteTable => routeTable([{ serverNames: [NAME], route }], null);

function policyFor(first: Route, trusted?: string) {
  let table = tableOf(first);
  const logged: ConnectionRecord[] = [];
  const trustedProxies = trusted === undefined ? null : new BlockList();
  if (trusted !== undefined) trustedProxies?.addAddress(trusted);
  const policy = new SniPolicy({
    routes: () => table,
    trustedProxies,
    maxConnectionsPerCluster: 9,
    onEnded: (ending) => logged.push(ending.record()),
    onDialFailed: () => {},
  });
  return {
    policy,
    publish: (route: Route) => {
      table = tableOf(route);
    },
    ask: (client = CLIENT, bytes: Uint8Array = HELLO) =>
      policy.decide({ listener: 'tls', client, bytes, note: undefined }),
    record: (note: unknown, client = CLIENT): ConnectionRecord => {
      policy.ended({
        ...{ listener: 'tls', client, note, outcome: 'alert-sent', attempts: [], backend: null },
        ...{ bytesFromClient: 0, bytesFromBackend: 0, durationMs: 1 },
      });
      return logged.at(-1) as ConnectionRecord;
    },
  };
}

test('members are balanced by connections and counted for the listener, also in prepared answers', () => {
  const route = pooled(['10.0.0.5', '10.0.0.6']);
  const { policy, ask } = policyFor(route);
  const wanted = {
    backends: route.backends,
    balance: 'least-connections',
    share: { key: 'listener:magnum-system/registry', limit: 9 },
  };
  expect(ask()).toMatchObject(wanted);
  expect(policy.prepared().get(NAME)).toMatchObject(wanted);
});

test('a client from another network gets access_denied, and the record has the reason', () => {
  const { ask, record } = policyFor(pooled(['10.0.0.5'], ['198.51.100.0/24']));
  const decision = ask();
  expect(decision).toMatchObject({ kind: 'alert', bytes: ACCESS_DENIED });
  expect(record(decision.note)).toMatchObject({
    level: 'warn',
    reason: 'source-not-allowed',
    cluster: 'kube',
    pool: 'magnum-system/registry',
    serverName: NAME,
  });
  expect(ask({ address: '198.51.100.7', port: 1 }).kind).toBe('candidates');
});

test('a route with a list of allowed networks has no prepared answer, even if it had one before', () => {
  const { policy, publish } = policyFor(pooled(['10.0.0.5']));
  const open = policy.prepared().get(NAME);
  expect(open).toBeDefined();
  publish(pooled(['10.0.0.5'], ['198.51.100.0/24']));
  expect(policy.prepared().get(NAME)).toBeUndefined();
  publish(pooled(['10.0.0.5']));
  const again = policy.prepared().get(NAME);
  expect(again).toMatchObject({ balance: 'least-connections' });
  publish(pooled(['10.0.0.5']));
  expect(policy.prepared().get(NAME)).toBe(again); // an unchanged answer is the same object
  publish({ ...pooled(['10.0.0.5']), pool: { listener: 'magnum-system/other', allowedCidrs: [] } });
  expect(policy.prepared().get(NAME)?.share?.key).toBe('listener:magnum-system/other');
});

test('the allowed networks apply to the client address from a trusted PROXY header', () => {
  const { ask, record } = policyFor(pooled(['10.0.0.5'], ['198.51.100.0/24']), BALANCER.address);
  const behind = (source: string) => ask(BALANCER, Buffer.concat([header(source), HELLO]));
  expect(behind('198.51.100.7').kind).toBe('candidates');
  const refused = behind('203.0.113.1');
  expect(refused.kind).toBe('alert');
  expect(record(refused.note, BALANCER)).toMatchObject({
    client: '203.0.113.1:1000',
    via: '10.0.0.9:50000',
    reason: 'source-not-allowed',
  });
  expect(ask(BALANCER).kind).toBe('alert'); // without a header the client is the proxy itself
});

test('without a ready member an allowed client gets internal_error', () => {
  const { ask } = policyFor(pooled([], ['192.0.2.0/24']));
  expect(ask()).toMatchObject({ kind: 'alert', bytes: Uint8Array.of(21, 3, 1, 0, 2, 2, 80) });
});
