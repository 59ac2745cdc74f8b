import { describe, expect, test } from 'vitest';
import { isDnsSubdomain, labelKeyProblem, labelValueProblem } from './label-syntax.ts';

const long = (count: number) => 'a'.repeat(count);

describe('the key of a label', () => {
  test.each([
    ['a plain name', 'team'],
    ['one character', '7'],
    ['a prefix', 'example.com/team'],
    ['dots, dashes and underscores inside', 'a.b-c_D'],
    ['63 characters', long(63)],
    ['a prefix of 253 characters', `${long(63)}.${long(63)}.${long(63)}.${long(61)}/x`],
    ['a prefix of one label', 'x/y'],
    ['a name that every object has', 'constructor'],
  ])('may be %s', (_, key) => expect(labelKeyProblem(key)).toBeNull());

  test.each([
    ['empty', '', 'use 1 to 63'],
    ['longer than 63', long(64), 'use 1 to 63'],
    ['with a dash at its end', 'team-', 'a letter or digit first and last'],
    ['with a space', 'a b', 'use 1 to 63'],
    ['with a line break at its end', 'team\n', 'use 1 to 63'],
    ['not ASCII', 'größe', 'use 1 to 63'],
    ['with two slashes', 'a/b/c', 'use at most one "/"'],
    ['without a name after its prefix', 'example.com/', 'after the "/"'],
    ['without a prefix before its slash', '/team', 'before the "/"'],
    ['with a prefix in upper case', 'Example.com/team', 'in lower case'],
    ['with a prefix that ends with a dot', 'example.com./team', 'before the "/"'],
    ['with a prefix longer than 253', `${long(63)}.${long(63)}.${long(63)}.${long(62)}/x`, '253'],
  ])('is invalid when it is %s', (_, key, problem) => expect(labelKeyProblem(key)).toContain(problem));
});

describe('the value of a label', () => {
  test.each(['', 'a', 'A-b_c.9', long(63)])('may be %j', (value) =>
    expect(labelValueProblem(value)).toBeNull(),
  );
  test.each(['-a', 'a-', 'a b', 'a/b', 'ü', long(64), ' '])('may not be %j', (value) =>
    expect(labelValueProblem(value)).toContain('use an empty value, or'),
  );
});

test('a DNS label of the prefix may be longer than 63 characters, as in Kubernetes', () =>
  expect(isDnsSubdomain(long(64))).toBe(true));
