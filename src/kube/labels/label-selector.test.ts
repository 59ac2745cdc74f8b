import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { labelSelectors, labelSets } from '../../../test/kube/selector-cases.ts';
import {
  both,
  isEverything,
  type LabelSelector,
  matches,
  NOTHING,
  parseLabelSelector,
  withoutKeys,
} from './label-selector.ts';

const selector = (value: unknown): LabelSelector => {
  const parsed = parseLabelSelector(value);
  if (parsed.kind === 'invalid') throw new Error(parsed.problems.join('; '));
  return parsed.selector;
};
const problems = (value: unknown): readonly string[] => {
  const parsed = parseLabelSelector(value);
  return parsed.kind === 'invalid' ? parsed.problems : [];
};
const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

describe('a label selector', () => {
  test.each<[string, unknown, Record<string, string>, boolean]>([
    ['that is empty matches everything', {}, { a: 'b' }, true],
    ['that is empty matches an object without labels', {}, {}, true],
    ['that is null matches nothing', null, {}, false],
    ['that is undefined matches nothing', undefined, { a: 'b' }, false],
    ['with empty parts matches everything', { matchLabels: {}, matchExpressions: null }, {}, true],
    ['by label matches that value', { matchLabels: { a: 'b' } }, { a: 'b', c: 'd' }, true],
    ['by label matches no other value', { matchLabels: { a: 'b' } }, { a: 'c' }, false],
    ['by label matches no absent key', { matchLabels: { a: '' } }, {}, false],
    ['by an empty value matches an empty one', { matchLabels: { a: '' } }, { a: '' }, true],
    ['by In matches any of the values', expression('a', 'In', 'x', 'y'), { a: 'y' }, true],
    ['by In matches no absent key', expression('a', 'In', 'x'), {}, false],
    ['by NotIn matches an absent key', expression('a', 'NotIn', 'x'), {}, true],
    ['by NotIn matches other values only', expression('a', 'NotIn', 'x'), { a: 'x' }, false],
    ['by Exists matches an empty value', expression('a', 'Exists'), { a: '' }, true],
    ['by DoesNotExist matches an absent key only', expression('a', 'DoesNotExist'), { a: '' }, false],
    [
      'matches only if all parts match',
      { matchLabels: { a: 'b' }, ...expression('c', 'Exists') },
      { a: 'b' },
      false,
    ],
    ['does not treat an inherited property as a label', expression('constructor', 'Exists'), {}, false],
  ])('%s', (_, value, labels, expected) => expect(matches(selector(value), labels)).toBe(expected));

  test('reports every problem with its path', () => {
    expect(
      problems({
        matchLabel: {},
        matchLabels: { 'a b': 'ok', c: '-', d: 7 },
        matchExpressions: [
          { key: 'a', operator: 'Gt', values: ['1'] },
          { key: '', operator: 'In', values: [] },
          { key: 'a', operator: 'Exists', values: ['x'] },
          { key: 'a', operator: 'In', values: 'x' },
          { key: 'a', operator: 'NotIn', values: ['ok', 'a b', null] },
          { key: 'a', operator: 'In', values: ['ok', 'a b'], value: 'x' },
          'a=b',
        ],
      }),
    ).toEqual([
      'selector has a field "matchLabel", but only matchLabels, matchExpressions are known',
      expect.stringMatching(/^selector.matchLabels has the key "a b": use 1 to 63/),
      expect.stringMatching(/^selector.matchLabels\["c"\] is "-": use an empty value, or 1 to 63/),
      'selector.matchLabels["d"] is 7: expected text, in quotes',
      'selector.matchExpressions[0].operator is "Gt": expected one of In, NotIn, Exists, DoesNotExist',
      expect.stringMatching(/^selector.matchExpressions\[1\].key is "": use 1 to 63/),
      'selector.matchExpressions[1].values is []: In needs at least one value',
      'selector.matchExpressions[2].values is ["x"]: Exists takes no values',
      'selector.matchExpressions[3].values is "x": expected a list of texts',
      'selector.matchExpressions[4].values[2] is null: expected text, in quotes',
      'selector.matchExpressions[5] has a field "value", but only key, operator, values are known',
      expect.stringMatching(/^selector.matchExpressions\[5\].values\[1\] is "a b": use an empty value/),
      'selector.matchExpressions[6] is "a=b": expected an object with key, operator and values',
    ]);
  });

  test.each<[unknown, string]>([
    ['a=b', 'selector is "a=b": expected a label selector'],
    [[], 'selector is []: expected a label selector'],
    [{ matchLabels: [] }, 'selector.matchLabels is []: expected labels'],
    [{ matchExpressions: {} }, 'selector.matchExpressions is an object: expected a list'],
  ])('%j is invalid', (value, problem) => expect(problems(value)).toEqual([problem]));

  test('never throws for any input', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withSparseArray: true }), (value) => {
        const parsed = parseLabelSelector(value);
        if (parsed.kind === 'invalid') expect(parsed.problems.length).toBeGreaterThan(0);
        else expect(typeof matches(parsed.selector, {})).toBe('boolean');
      }),
    );
  });

  test('matches exactly if each of its requirements matches alone', () => {
    fc.assert(
      fc.property(labelSelectors, labelSets, (value, labels) => {
        const parsed = parseLabelSelector(value);
        if (parsed.kind === 'invalid' || parsed.selector.requirements === null) return;
        const alone = parsed.selector.requirements.map((each) => matches({ requirements: [each] }, labels));
        expect(matches(parsed.selector, labels)).toBe(!alone.includes(false));
      }),
    );
  });
});

describe('a selector without some keys', () => {
  const keys = fc
    .uniqueArray(fc.constantFrom<string[]>('a', 'b', 'app', 'example.com/team'))
    .map((list) => new Set(list));

  test('matches at least the same labels as before, and ignores those keys', () => {
    fc.assert(
      fc.property(labelSelectors, labelSets, keys, (value, labels, left) => {
        const parsed = parseLabelSelector(value);
        if (parsed.kind === 'invalid') return;
        const reduced = withoutKeys(parsed.selector, left);
        if (matches(parsed.selector, labels)) expect(matches(reduced, labels)).toBe(true);
        const others = Object.fromEntries(Object.entries(labels).filter(([key]) => !left.has(key)));
        expect(matches(reduced, others)).toBe(matches(reduced, labels));
        expect(withoutKeys(reduced, left)).toBe(reduced);
      }),
    );
  });

  test('can select everything, which isEverything detects, and a selector of nothing stays so', () => {
    const one = selector({ matchLabels: { a: 'b' } });
    expect(isEverything(one)).toBe(false);
    expect(isEverything(withoutKeys(one, new Set(['a'])))).toBe(true);
    expect(withoutKeys(NOTHING, new Set(['a']))).toBe(NOTHING);
    expect(isEverything(NOTHING)).toBe(false);
  });

  test('combined with another one matches what both match', () => {
    const one = selector({ matchLabels: { a: 'b' } });
    const other = selector(expression('c', 'Exists'));
    expect(matches(both(one, other), { a: 'b', c: '' })).toBe(true);
    expect(matches(both(one, other), { a: 'b' })).toBe(false);
    expect(both(one, NOTHING)).toBe(NOTHING);
    expect(matches(both({ requirements: [] }, one), { a: 'b' })).toBe(true);
  });
});
