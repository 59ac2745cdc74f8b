import { describe, expect, test } from 'vitest';
import { parseNodeSelector, unmetRequirement } from './node-selector.ts';

const matched = (list: unknown, labels: Record<string, string>): boolean => {
  const parsed = parseNodeSelector(list);
  if (parsed.kind !== 'selector') throw new Error(JSON.stringify(parsed));
  return unmetRequirement(parsed.selector, labels) === null;
};
const one = (key: string, operator: string, ...values: string[]) => [{ key, operator, values }];

describe('a node selector', () => {
  test.each<[string, unknown, Record<string, string>, boolean]>([
    ['In', one('type', 'In', 'edge', 'external'), { type: 'edge' }, true],
    ['In, of another value', one('type', 'In', 'edge'), { type: 'core' }, false],
    ['NotIn, of an absent key', one('zone', 'NotIn', 'a'), {}, true],
    ['Exists', one('type', 'Exists'), { type: '' }, true],
    ['DoesNotExist', one('vpc-cni', 'DoesNotExist'), {}, true],
    ['Gt', one('cores', 'Gt', '8'), { cores: '16' }, true],
    ['Gt, of the same number', one('cores', 'Gt', '8'), { cores: '8' }, false],
    ['Gt as numbers, not as texts', one('cores', 'Gt', '8'), { cores: '16' }, true],
    ['Gt, of an absent key', one('cores', 'Gt', '8'), {}, false],
    ['Gt, of a value that is not a number', one('cores', 'Gt', '8'), { cores: 'many' }, false],
    [
      'Gt, of a number that needs more than 64 bits',
      one('cores', 'Gt', '8'),
      { cores: '9223372036854775808' },
      false,
    ],
    [
      'Gt, of two numbers that are equal as doubles',
      one('n', 'Gt', '9007199254740992'),
      { n: '9007199254740993' },
      true,
    ],
    ['Lt', one('cores', 'Lt', '008'), { cores: '7' }, true],
    ['Lt, of an absent key', one('cores', 'Lt', '8'), {}, false],
    [
      'two requirements, one of them not met',
      [...one('a', 'Exists'), ...one('b', 'Exists')],
      { a: '' },
      false,
    ],
  ])('%s', (_, list, labels, expected) => expect(matched(list, labels)).toBe(expected));

  test('without requirements selects every node', () =>
    expect(parseNodeSelector([])).toEqual({ kind: 'every-node' }));

  test('reports every problem', () => {
    expect(
      parseNodeSelector([
        { key: 'a', operator: 'Near', values: ['x'] },
        { key: 'a', operator: 'Gt', values: ['1', '2'] },
        { key: 'a', operator: 'Lt', values: ['1.5'] },
        { key: 'a', operator: 'Gt' },
        { key: 'a', operator: 'Gt', values: ['9223372036854775808'] },
        { operator: 'exists' },
      ]),
    ).toEqual({
      kind: 'invalid',
      problems: [
        'matchExpressions[0].operator is "Near": expected one of In, NotIn, Exists, DoesNotExist, Gt, Lt',
        'matchExpressions[1].values is ["1","2"]: Gt takes exactly one value',
        'matchExpressions[2].values is ["1.5"]: Lt needs a whole number',
        'matchExpressions[3].values is []: Gt takes exactly one value',
        'matchExpressions[4].values is ["9223372036854775808"]: Gt needs a whole number',
        'matchExpressions[5].key is missing: expected the key of a label',
        'matchExpressions[5].operator is "exists": expected one of In, NotIn, Exists, DoesNotExist, Gt, Lt',
      ],
    });
  });

  test('is invalid if it is not a list', () =>
    expect(parseNodeSelector({ matchExpressions: [] })).toMatchObject({
      problems: ['matchExpressions is an object: expected a list'],
    }));

  test('names the first unmet requirement', () => {
    const parsed = parseNodeSelector([...one('a', 'Exists'), ...one('zone', 'In', 'x', 'y')]);
    if (parsed.kind !== 'selector') throw new Error('not a selector');
    expect(unmetRequirement(parsed.selector, { a: '', zone: 'z' })).toBe('zone In x, y');
    expect(unmetRequirement(parsed.selector, { zone: 'x' })).toBe('a Exists');
    expect(unmetRequirement(parsed.selector, { a: '', zone: 'x' })).toBeNull();
  });
});
