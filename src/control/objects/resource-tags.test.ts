import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { appliedAnnotation, appliedKeys, appliedTags, readTags } from './resource-tags.ts';

const tags = (text: string) => {
  const read = readTags(text);
  return read.kind === 'tags' ? read.tags : read.problems;
};

describe('tags', () => {
  test.each<[string, Record<string, string>]>([
    ['', {}],
    [' \n', {}],
    ['team=a', { team: 'a' }],
    [' b = 2 ,\n a=1', { a: '1', b: '2' }],
    ['empty=', { empty: '' }],
    ['example.com/team=A_b-c.9', { 'example.com/team': 'A_b-c.9' }],
    ['app.kubernetes.io/part-of=magnum', { 'app.kubernetes.io/part-of': 'magnum' }],
    ['my-k8s.io/a=b', { 'my-k8s.io/a': 'b' }],
  ])('are read from %j, sorted', (text, expected) => {
    expect(tags(text)).toEqual(expected);
    expect(Object.keys(tags(text))).toEqual(Object.keys(expected).sort());
  });

  test.each([
    ['isthmus.dev/resource-owner', 'isthmus.dev'],
    ['sub.isthmus.dev/x', 'isthmus.dev'],
    ['kubernetes.io/service-name', 'kubernetes.io'],
    ['service.kubernetes.io/service-proxy-name', 'kubernetes.io'],
    ['sub.app.kubernetes.io/x', 'kubernetes.io'],
    ['gateway.networking.k8s.io/x', 'k8s.io'],
    ['magnum-cluster-api.vexxhost.com/node', 'magnum-cluster-api.vexxhost.com'],
  ])('may not have the key %s', (key, domain) =>
    expect(tags(`${key}=x`)).toEqual([
      `the key ${JSON.stringify(key)} cannot be used: keys of ${domain} are reserved`,
    ]),
  );

  test('are used only if all are valid, and every problem is named', () => {
    expect(tags('good=1,,a=b=c,good=2,=x,Ä=1')).toEqual([
      '"" is not a tag. Use key=value',
      expect.stringMatching(/^the value "b=c" of "a" cannot be used: /),
      'the key "good" is given twice',
      expect.stringMatching(/^the key "" cannot be used: /),
      expect.stringMatching(/^the key "Ä" cannot be used: /),
    ]);
  });

  test('are limited to 32', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `t${i}=x`).join(',');
    expect(Object.keys(tags(many(32)))).toHaveLength(32);
    expect(tags(many(33))).toEqual(['there are 33 tags, and the limit is 32']);
  });

  test('can be read back from a tagged object', () => {
    const pairs = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.stringMatching(/^[a-z]{0,3}$/));
    fc.assert(
      fc.property(pairs, (wanted) => {
        const annotations = { ...wanted, ...appliedAnnotation(wanted), theirs1: 'x' };
        expect(appliedTags({ annotations })).toEqual(wanted);
      }),
    );
  });

  test('with invalid or reserved keys or invalid values do not count as applied', () => {
    const text = 'team,,kubernetes.io/service-name,a b,isthmus.dev/instance,constructor';
    const annotations = { 'isthmus.dev/applied-tags': text, team: 'no label value!', other: 'x' };
    expect([...appliedKeys({ annotations })]).toEqual(['team', 'constructor']);
    expect(appliedTags({ annotations })).toEqual({});
    expect(appliedKeys(undefined).size).toBe(0);
  });
});
