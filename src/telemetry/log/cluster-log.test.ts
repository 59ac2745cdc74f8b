import { beforeEach, expect, test } from 'vitest';
import type { ClusterState, ClusterStatus } from '../../control/desired/cluster-status.ts';
import type { Logger } from './logger.ts';
import { CLUSTERS, StatusLog } from './status-log.ts';

const cluster = (
  state: ClusterState,
  reason: string = state,
  parts: Partial<ClusterStatus> = {},
): ClusterStatus => ({
  name: 'kube',
  namespace: 'magnum-system',
  origin: 'a.yaml',
  state,
  reason,
  serverNames: [],
  backends: [],
  ...parts,
});

let lines: [level: string, fields: unknown, message: string][];
let log: StatusLog<ClusterStatus>;
beforeEach(() => {
  lines = [];
  const at = (level: string) => (fields: unknown, message: string) => lines.push([level, fields, message]);
  log = new StatusLog({ info: at('info'), warn: at('warn') } as unknown as Logger, CLUSTERS);
});

const facts = (state: ClusterState, was: ClusterState | null, reason: string = state) => ({
  cluster: 'kube',
  namespace: 'magnum-system',
  state,
  was,
  reason,
});

test.each<[state: ClusterState, level: string]>([
  ['serving', 'info'],
  ['not-proxied', 'info'],
  ['pending', 'info'],
  ['no-netns', 'info'],
  ['unhealthy', 'info'],
  ['invalid', 'warn'],
])('a cluster found %s is logged at level %s', (state, level) => {
  log.write([cluster(state)]);
  expect(lines).toEqual([[level, facts(state, null), 'cluster found']]);
});

test.each<[from: ClusterState, to: ClusterState, level: string]>([
  ['serving', 'unhealthy', 'warn'],
  ['serving', 'no-netns', 'warn'],
  ['serving', 'pending', 'warn'],
  ['serving', 'not-proxied', 'warn'],
  ['serving', 'invalid', 'warn'],
  ['unhealthy', 'serving', 'info'],
  ['no-netns', 'serving', 'info'],
  ['unhealthy', 'no-netns', 'info'],
  ['no-netns', 'unhealthy', 'info'],
])('a cluster that was %s and is %s is logged at level %s', (from, to, level) => {
  log.write([cluster(from)]);
  log.write([cluster(to)]);
  expect(lines.slice(1)).toEqual([[level, facts(to, from), 'cluster changed']]);
});

test('a state that does not change is logged once', () => {
  for (let turn = 0; turn < 3; turn += 1) log.write([cluster('unhealthy', 'refused')]);
  expect(lines).toHaveLength(1);
});

test('a new reason for the same state is logged, unless the cluster is serving', () => {
  log.write([cluster('unhealthy', 'refused')]);
  log.write([cluster('unhealthy', 'timed out')]);
  expect(lines.slice(1)).toEqual([['info', facts('unhealthy', 'unhealthy', 'timed out'), 'cluster changed']]);
  log.write([cluster('serving', 'one of two')]);
  log.write([cluster('serving', 'two of two')]);
  expect(lines).toHaveLength(3);
});

test('a deleted cluster is logged once, and is found again when it returns', () => {
  log.write([cluster('serving')]);
  log.write([]);
  log.write([]);
  log.write([cluster('serving')]);
  expect(lines.slice(1)).toEqual([
    ['info', { cluster: 'kube', namespace: 'magnum-system', was: 'serving' }, 'cluster gone'],
    ['info', facts('serving', null), 'cluster found'],
  ]);
});

test('two objects that claim one name are two clusters, as are those of two namespaces', () => {
  const all = [
    cluster('serving'),
    cluster('invalid', 'taken', { origin: 'b.yaml' }),
    cluster('serving', 'serving', { namespace: 'other' }),
  ];
  log.write(all);
  log.write([...all].reverse());
  expect(lines.map(([level, , message]) => `${level}: ${message}`)).toEqual([
    'info: cluster found',
    'warn: cluster found',
    'info: cluster found',
  ]);
});
