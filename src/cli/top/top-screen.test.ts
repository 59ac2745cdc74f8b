import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusterView, kubernetesView, listenerViewOf, statusOf } from '../../../test/support/status-views.ts';
import type { StatusView } from '../../telemetry/status/status.ts';
import { TOP_SORTS, type TopSort } from './top-order.ts';
import { lineText, plainText, type TopInput, type TopLine, topScreen } from './top-screen.ts';

const traffic = (ended: number, bytes: number) => ({
  ended,
  unserved: 0,
  bytesFromClient: bytes,
  bytesFromBackend: bytes * 10,
});
const KUBERNETES = kubernetesView();
const BEFORE = statusOf({
  clusters: [clusterView('alpha'), clusterView('beta'), clusterView('gamma')],
  listeners: [listenerViewOf('ssh')],
});
const NOW = statusOf({
  uptimeSeconds: 101,
  connections: 12,
  pendingDials: 1,
  traffic: traffic(60, 1_234_567),
  clusters: [
    clusterView('alpha', { connections: 2, traffic: traffic(40, 1000) }),
    clusterView('beta', { connections: 9, traffic: traffic(1, 2_000_000) }),
    clusterView('gamma', {
      state: 'unhealthy',
      backends: [{ address: '10.0.0.5', port: 6443, netns: 'x', up: false, lastProbe: null }],
    }),
  ],
  listeners: [listenerViewOf('ssh', { connections: 1 })],
});

const INPUT: TopInput = { previous: BEFORE, status: NOW, size: null, sort: 'connections', trouble: null };
const screen = (parts: Partial<TopInput> = {}): string[] => topScreen({ ...INPUT, ...parts }).map(lineText);
const names = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => /^(alpha|beta|gamma)(:\w+)?(?= )/.exec(line)?.[0] ?? []);
const size = (columns: number, rows: number) => ({ columns, rows });

test('the text shows the instance, its activity, its clusters and its listeners', () => {
  expect(
    plainText(topScreen(INPUT)),
  ).toBe(`isthmus 0.1.0 on net-3: ready, up 1m 41s, listening on 0.0.0.0:6443
12 connections, 72 new/s, 1 dialling; ended: in 1.2MB/s, out 12MB/s
3 clusters: 2 serving, 1 unhealthy; 1 listener: 1 serving; 0 problems; control loop 0.4 ms
cluster:listener  state      open*  new/s  fail/s  in/s  out/s   up  netns
beta              serving        9     10       0    2M    20M  1/1  qdhcp-0f1e2d3c-1111-2222-3333-444455556666
alpha             serving        2     42       0    1k    10k  1/1  qdhcp-0f1e2d3c-1111-2222-3333-444455556666
alpha:ssh         serving        1      1       0     0      0  1/2  -
gamma             unhealthy      0      0       0     0      0  0/1  qdhcp-0f1e2d3c-1111-2222-3333-444455556666
`);
});

test.each<[TopSort, string[]]>([
  ['connections', ['beta', 'alpha', 'alpha:ssh', 'gamma']],
  ['rate', ['alpha', 'beta', 'alpha:ssh', 'gamma']],
  ['bytes', ['beta', 'alpha', 'alpha:ssh', 'gamma']],
  ['name', ['alpha', 'alpha:ssh', 'beta', 'gamma']],
  ['state', ['gamma', 'beta', 'alpha', 'alpha:ssh']],
])('the rows can be sorted by %s', (sort, order) => {
  expect(names(screen({ sort }))).toEqual(order);
});

test('rates are unknown before the second answer', () => {
  const [, second = '', , , row = ''] = screen({ previous: null });
  expect(second).toBe('12 connections, - new/s, 1 dialling; ended: in -B/s, out -B/s');
  expect(row).toMatch(/^beta +serving +9 +- +- +- +- +1\/1/);
});

describe('the head shows', () => {
  const head = (status: Partial<StatusView>, parts: Partial<TopInput> = {}) =>
    screen({ status: { ...NOW, ...status }, ...parts }).join('\n');

  test.each<[title: string, status: Partial<StatusView>, text: string]>([
    ['why it is not ready', { ready: false, notReadyBecause: 'draining' }, 'net-3: not ready: draining, up'],
    ['that it listens nowhere yet', { listen: null }, 'listening on nothing yet'],
    [
      'that the Lease is held',
      { kubernetes: KUBERNETES },
      'Lease held, 3 live instances, 0 clusters published',
    ],
    [
      'that the Lease is lost',
      { kubernetes: { ...KUBERNETES, lease: 'lost', instances: null } },
      'Lease lost to another process, instances not known',
    ],
    [
      'that the node takes no part',
      { kubernetes: { ...KUBERNETES, takesPart: false, takesPartBecause: 'no label' } },
      'does not take part, other instances serve its clients: no label',
    ],
    [
      'that Kubernetes is silent',
      { kubernetes: { ...KUBERNETES, staleSince: '2026-01-02T03:04:05.678Z' } },
      'no update from Kubernetes since 2026-01-02T03:04:05.678Z',
    ],
    [
      'that the control loop does not answer',
      { control: { stalledSince: '2026-01-02T03:04:05.678Z', lagMs: 7000, probesAt: null } },
      'the control loop has not answered since 2026-01-02T03:04:05.678Z',
    ],
    ['what is wrong', { problems: [{ origin: 'b.yaml', reason: 'not YAML' }] }, '! b.yaml: not YAML'],
  ])('%s', (_title, status, text) => {
    expect(head(status)).toContain(text);
  });

  test('first that the proxy does not answer', () => {
    expect(screen({ trouble: 'no proxy answers' })[0]).toBe('no proxy answers');
  });

  test('three problems, and how many more there are', () => {
    const problems = Array.from({ length: 5 }, (_, i) => ({ origin: `${i}.yaml`, reason: 'not YAML' }));
    expect(screen({ status: { ...NOW, problems } }).filter((line) => line.startsWith('!'))).toEqual([
      '! 0.yaml: not YAML',
      '! 1.yaml: not YAML',
      '! 2.yaml: not YAML',
      '! and 2 more: isthmus status lists them',
    ]);
  });
});

describe('on a terminal', () => {
  const many = Array.from({ length: 1000 }, (_, i) => clusterView(`kube-${i}`, { connections: i }));

  test('the busiest fill it, and the last line counts the others and names the keys', () => {
    const lines = screen({ status: { ...NOW, clusters: many, listeners: [] }, size: size(100, 20) });
    expect(lines).toHaveLength(20);
    expect(lines.slice(4, 6).map((line) => line.split(' ')[0])).toEqual(['kube-999', 'kube-998']);
    expect(lines.at(-1)).toBe(
      '985 more below; by connections; c connections  r rate  b bytes  n name  s state  q quit',
    );
  });

  test('the last line counts no other rows if all are shown', () => {
    expect(screen({ size: size(100, 24) }).at(-1)).toMatch(/^by connections;/);
    expect(screen({ size: size(100, 9) }).at(-1)).toMatch(/^by connections;/);
    expect(screen({ size: size(100, 8) }).at(-1)).toMatch(/^1 more below;/);
  });

  test('of 80 columns has no room for the netns, and one of 100 columns shows its beginning', () => {
    expect(screen({ size: size(70, 24) }).join('\n')).not.toContain('qdhcp');
    expect(screen({ size: size(100, 24) }).join('\n')).toMatch(/qdhcp-0f1e2d3c-[-\d]*…$/m);
    expect(screen({ size: size(120, 24) }).join('\n')).toContain('444455556666');
  });

  test('a name that is too long is cut, and the numbers stay', () => {
    const clusters = [clusterView('n'.repeat(63), { connections: 77 })];
    const row = screen({ status: { ...NOW, clusters }, size: size(80, 24) }).find((line) =>
      line.startsWith('nn'),
    );
    expect(row).toMatch(/^n+… {2}serving +77 /);
  });

  test('half of the screen is for the clusters, however many problems there are', () => {
    const problems = Array.from({ length: 9 }, () => ({ origin: 'x', reason: 'y '.repeat(500) }));
    const lines = screen({ status: { ...NOW, problems }, size: size(80, 14), trouble: 'word '.repeat(100) });
    expect(names(lines)).toHaveLength(4);
  });
});

test('the namespace is shown if there is more than one', () => {
  const clusters = [clusterView('kube', { namespace: 'a' }), clusterView('kube', { namespace: 'b' })];
  const lines = screen({ status: { ...NOW, clusters, listeners: [] }, sort: 'name' });
  expect(lines.slice(4).map((line) => line.split(' ')[0])).toEqual(['a/kube', 'b/kube']);
});

const state = fc.constantFrom(
  ...(['serving', 'unhealthy', 'no-netns', 'pending', 'not-proxied', 'invalid'] as const),
);
const word = fc.string({ unit: 'binary', maxLength: 80 });
const count = fc.nat({ max: 2 ** 40 });
const anyTraffic = fc.record({
  ended: count,
  unserved: count,
  bytesFromClient: count,
  bytesFromBackend: count,
});
const anyCluster = fc
  .record({
    name: word,
    namespace: word,
    state,
    netns: fc.option(word),
    connections: count,
    traffic: anyTraffic,
  })
  .map(({ name, ...parts }) => clusterView(name, parts));
const anyStatus = fc
  .record({
    instance: fc.constantFrom('net-3', 'net-4'),
    uptimeSeconds: fc.nat({ max: 1e7 }),
    connections: count,
    pendingDials: count,
    traffic: anyTraffic,
    ready: fc.boolean(),
    notReadyBecause: fc.option(word),
    clusters: fc.array(anyCluster, { maxLength: 30 }),
    problems: fc.array(fc.record({ origin: word, reason: word }), { maxLength: 6 }),
  })
  .map((parts) => statusOf(parts));
const anyInput: fc.Arbitrary<TopInput> = fc.record({
  previous: fc.option(anyStatus),
  status: anyStatus,
  size: fc.option(
    fc.record({ columns: fc.integer({ min: 1, max: 250 }), rows: fc.integer({ min: 1, max: 60 }) }),
  ),
  sort: fc.constantFrom(...TOP_SORTS),
  trouble: fc.option(word),
});

test('no input moves text out of its place on the screen, and no rate is negative', () => {
  fc.assert(
    fc.property(anyInput, (input) => {
      const lines: readonly TopLine[] = topScreen(input);
      for (const line of lines) {
        const text = lineText(line);
        expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
        expect(text).not.toMatch(/(?:^|\s)-\d/);
        if (input.size !== null) expect(text.length).toBeLessThanOrEqual(input.size.columns);
      }
      if (input.size !== null) expect(lines.length).toBeLessThanOrEqual(input.size.rows);
      else
        expect(lines.filter(([first]) => first?.tone === 'strong').length).toBeGreaterThanOrEqual(
          input.status.clusters.length,
        );
    }),
  );
});
