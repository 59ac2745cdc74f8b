import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { labelSelectors, labelSets } from '../../../test/kube/selector-cases.ts';
import {
  type PoolFields,
  type PoolMembership,
  poolMembership,
  readPoolSelection,
} from './pool-membership.ts';

const HASH = 'rollouts-pod-template-hash';
const IGNORED = new Set([HASH]);

function selected(fields: Partial<PoolFields>, ignored: ReadonlySet<string> = IGNORED) {
  const read = readPoolSelection({ selector: undefined, rolloutLabels: undefined, ...fields }, ignored);
  if (read.kind === 'refused') throw new Error(read.problems.join('; '));
  return (labels: Record<string, string>) => poolMembership(read.selection, labels);
}
function refusals(fields: Partial<PoolFields>, ignored: ReadonlySet<string> = IGNORED): readonly string[] {
  const read = readPoolSelection({ selector: undefined, rolloutLabels: undefined, ...fields }, ignored);
  return read.kind === 'refused' ? read.problems : [];
}

describe('a blue-green rollout with the pools redis and redis-preview', () => {
  const pool = (hash: string) =>
    selected({ selector: { matchLabels: { app: 'redis' } }, rolloutLabels: { [HASH]: hash } });
  const [blue, green] = [
    { app: 'redis', [HASH]: '778dbdddff' },
    { app: 'redis', [HASH]: '646998df5c' },
  ];

  test('before the promotion, green is Ignored in redis and a member of redis-preview', () => {
    expect([pool('778dbdddff')(blue), pool('778dbdddff')(green)]).toEqual(['member', 'ignored']);
    expect([pool('646998df5c')(blue), pool('646998df5c')(green)]).toEqual(['ignored', 'member']);
  });

  test('a promotion changes one label of the listener and swaps both machines', () => {
    expect([pool('646998df5c')(green), pool('646998df5c')(blue)]).toEqual(['member', 'ignored']);
  });

  test("a promotion can also change the machine's own label", () =>
    expect(pool('778dbdddff')({ ...green, [HASH]: '778dbdddff' })).toBe('member'));

  test('a machine of another app belongs to neither pool', () =>
    expect(pool('778dbdddff')({ ...blue, app: 'web' })).toBe('none'));
});

describe('a pool', () => {
  test.each<[string, Partial<PoolFields>, Record<string, string>, PoolMembership]>([
    ['without a selector has the control plane', {}, { 'cluster.x-k8s.io/control-plane': '' }, 'member'],
    ['without a selector has no worker', {}, { role: 'worker' }, 'none'],
    [
      'with an empty selector has the control plane',
      { selector: {} },
      { 'cluster.x-k8s.io/control-plane': '' },
      'member',
    ],
    [
      'of the control plane can have rollout labels',
      { rolloutLabels: { [HASH]: '2' } },
      { 'cluster.x-k8s.io/control-plane': '', [HASH]: '1' },
      'ignored',
    ],
    [
      'has the machines that its selector matches',
      { selector: { matchLabels: { a: 'b' } } },
      { a: 'b' },
      'member',
    ],
    [
      'ignores a machine that lacks an ignored label of its selector',
      { selector: { matchLabels: { a: 'b', [HASH]: '1' } } },
      { a: 'b' },
      'ignored',
    ],
    [
      'ignores a machine that does not meet an ignored expression',
      {
        selector: {
          matchLabels: { a: 'b' },
          matchExpressions: [{ key: HASH, operator: 'NotIn', values: ['1'] }],
        },
      },
      { a: 'b', [HASH]: '1' },
      'ignored',
    ],
  ])('%s', (_, fields, labels, expected) => expect(selected(fields)(labels)).toBe(expected));

  test('has no Ignored machine if the operator names no labels', () =>
    expect(selected({ selector: { matchLabels: { a: 'b', [HASH]: '1' } } }, new Set())({ a: 'b' })).toBe(
      'none',
    ));

  test('selects only the control plane even if the operator ignores that label', () =>
    expect(selected({}, new Set(['cluster.x-k8s.io/control-plane']))({})).toBe('none'));
});

describe('a pool is refused', () => {
  test('when rollout labels are not among those that the operator named', () => {
    expect(refusals({ rolloutLabels: { app: 'x', [HASH]: '1' } })).toEqual([
      `spec.rolloutLabels has the key "app": only keys in the operator's --ignored-selector-labels are allowed (${HASH})`,
    ]);
    expect(refusals({ rolloutLabels: { [HASH]: '1' } }, new Set())[0]).toContain('(it has none)');
  });

  test('when its selector would be empty without the ignored labels', () =>
    expect(refusals({ selector: { matchLabels: { [HASH]: '1' } } })).toEqual([
      expect.stringContaining('would match every machine'),
    ]));

  test('with all its problems at once', () => {
    expect(
      refusals({
        selector: { matchExpressions: [{ key: 'a', operator: 'Near' }] },
        rolloutLabels: { app: 'x', [HASH]: '-' },
      }),
    ).toEqual([
      expect.stringContaining('spec.selector.matchExpressions[0].operator is "Near"'),
      expect.stringContaining(`spec.rolloutLabels["${HASH}"] is "-"`),
      expect.stringContaining('spec.rolloutLabels has the key "app"'),
    ]);
    expect(refusals({ rolloutLabels: 'x' })).toEqual(['spec.rolloutLabels is "x": expected labels']);
  });
});

test('ignoring labels only turns "none" into "ignored" and never changes which machines get traffic', () => {
  fc.assert(
    fc.property(labelSelectors, labelSets, (selector, labels) => {
      const fields = { selector, rolloutLabels: {} };
      const plain = readPoolSelection(fields, new Set());
      const leaving = readPoolSelection(fields, new Set(['a', 'app']));
      if (plain.kind === 'refused' || leaving.kind === 'refused') return;
      const [before, after] = [
        poolMembership(plain.selection, labels),
        poolMembership(leaving.selection, labels),
      ];
      expect(after === 'member').toBe(before === 'member');
      if (before === 'none') expect(['none', 'ignored']).toContain(after);
    }),
  );
});
