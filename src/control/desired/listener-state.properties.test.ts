// Properties for any events in any order. Decisions depend only on the current objects. Routes contain only Ready members. A
// listener's problems do not affect other listeners.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  desiredFor,
  keyAt,
  listener,
  machine,
  pendingCluster,
  worldFor,
} from '../../../test/support/kubernetes/listeners.ts';
import type { World } from '../world/world.ts';

const ADDRESSES = ['10.0.0.1', '10.0.0.2', '10.0.0.3', 'fd00::4'];
const labels = fc.record(
  {
    role: fc.constantFrom('worker', 'edge'),
    generation: fc.constantFrom('blue', 'green'),
    'cluster.x-k8s.io/control-plane': fc.constant(''),
  },
  { requiredKeys: [] },
);
const machines = fc.uniqueArray(
  fc
    .record({
      name: fc.constantFrom('m-1', 'm-2', 'm-3', 'm-4', 'm-5'),
      addresses: fc.subarray(ADDRESSES),
      labels,
      cluster: fc.constantFrom('kube-1', 'kube-2'),
      deleting: fc.boolean(),
    })
    .map(({ name, addresses, labels: set, cluster, deleting }) =>
      machine(name, addresses, set, { cluster, deleting }),
    ),
  { selector: ({ name }) => name },
);
const spec = fc.record(
  {
    clusterName: fc.constantFrom('kube-1', 'kube-2', 'nowhere'),
    port: fc.constantFrom(22, 80, 6443),
    protocol: fc.constantFrom('TCP', 'TLS', 'UDP'),
    rolloutLabels: fc.constantFrom({}, { generation: 'blue' }, { generation: 'green' }, { role: 'x' }),
    selector: fc.constantFrom({}, { matchLabels: { role: 'worker' } }, { matchLabels: { role: 'edge' } }),
    defaultPoolName: fc.constantFrom('pool', 'x'),
  },
  { requiredKeys: ['port'] },
);
const listeners = fc.uniqueArray(
  fc.tuple(fc.constantFrom('a', 'b', 'c', 'kube-2'), spec).map(([name, each]) => listener(name, each)),
  { selector: ({ name }) => name },
);
const site = fc.record({
  listeners,
  machines,
  up: fc.subarray(ADDRESSES.flatMap((address) => [keyAt(address), keyAt(address, 80)])),
  ports: fc.constantFrom({}, { a: { kind: 'open' as const, port: 17_000 } }),
  clusters: fc.subarray([pendingCluster('kube-1'), pendingCluster('kube-2'), pendingCluster('kube-1-pool')]),
});

test('the route of a listener contains exactly its Ready members, each once', () => {
  fc.assert(
    fc.property(site, (facts) => {
      const { listeners: statuses, ports, routes, backends } = desiredFor(worldFor(facts));
      const probed = new Set(backends.map(({ key }) => key));
      for (const { name, namespace, members, serverNames } of statuses) {
        const key = `${namespace}/${name}`;
        const route =
          ports.find((port) => port.name === key)?.route ?? routes.byServerName.get(serverNames[0] ?? '');
        const ready = members.filter(({ state }) => state === 'Ready').map(({ key: of }) => of);
        if (route?.pool?.listener !== key) continue;
        const sent = route.backends.map((backend) => backend.key);
        expect(new Set(sent)).toEqual(new Set(ready));
        expect(sent.length).toBe(new Set(sent).size);
        for (const each of sent) {
          expect(facts.up).toContain(each);
          expect(probed.has(each)).toBe(true);
        }
      }
      for (const { up, state } of statuses.flatMap(({ members }) => members))
        if (state === 'Ready') expect(up).toBe(true);
    }),
  );
});

test('no listener has the name of a cluster, and no two listeners share a Service', () => {
  fc.assert(
    fc.property(site, (facts) => {
      const { listeners: statuses, routes, clusters } = desiredFor(worldFor(facts));
      const services = statuses.flatMap(({ service }) => (service === null ? [] : [service]));
      expect(new Set(services).size).toBe(services.length);
      const named = clusters.filter(({ serverNames }) => serverNames.length > 0);
      for (const { name } of named) {
        expect(services).not.toContain(name);
        expect(routes.byServerName.get(name)?.pool).toBeUndefined();
      }
    }),
  );
});

test('any order of additions and removals ends in the same state', () => {
  // A listener's selector and cluster do not change while it exists: another test covers such edits.
  const fixed = listeners.map((all) => all.filter(({ definition }) => definition !== null));
  fc.assert(
    fc.property(
      site,
      fc.array(fc.record({ machines, up: site.map(({ up }) => up) })),
      fixed,
      (last, steps, kept) => {
        const end = { ...last, listeners: kept };
        let world: World | null = null;
        for (const step of steps) world = worldFor({ ...end, ...step }, world);
        expect(desiredFor(worldFor(end, world))).toEqual(desiredFor(worldFor(end)));
      },
    ),
  );
});

test('a promotion takes one turn from any earlier state', () => {
  fc.assert(
    fc.property(fc.constantFrom('blue', 'green'), fc.constantFrom('blue', 'green'), (from, to) => {
      const facts = (generation: string) => ({
        listeners: [listener('a', { rolloutLabels: { generation } })],
        machines: ['blue', 'green'].map((each, i) =>
          machine(each, `10.0.0.${i + 1}`, { role: 'worker', generation: each }),
        ),
        up: [keyAt('10.0.0.1'), keyAt('10.0.0.2')],
      });
      const after = desiredFor(worldFor(facts(to), worldFor(facts(from))));
      expect(after.ports[0]?.route.backends.map(({ address }) => address)).toEqual([
        to === 'blue' ? '10.0.0.1' : '10.0.0.2',
      ]);
    }),
  );
});
