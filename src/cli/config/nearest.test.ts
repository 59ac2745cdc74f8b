import { expect, test } from 'vitest';
import { nearest, nearestFew } from './nearest.ts';

const CHOICES = ['listen', 'admin', 'health', 'health-rise', 'run'];

test.each<[word: string, meant: string | null]>([
  ['listen', 'listen'],
  ['lisen', 'listen'],
  ['listten', 'listen'],
  ['lsiten', 'listen'],
  ['Listen', 'listen'],
  ['helth', 'health'],
  ['health-ries', 'health-rise'],
  ['health-rxxe', 'health-rise'],
  ['health-rxxx', null],
  ['rum', 'run'],
  ['rux', 'run'],
  ['rxx', null],
  ['lxxxen', null],
  ['ru', null],
  ['x', null],
  ['', null],
  ['something-else', null],
])('%s means %s', (word, meant) => {
  expect(nearest(word, CHOICES)).toBe(meant);
});

test('the first of two equally near choices is taken', () => {
  expect(nearest('bat', ['cat', 'bar'])).toBe('cat');
});

test('without choices there is no suggestion', () => {
  expect(nearest('listen', [])).toBeNull();
});

test.each<[word: string, meant: string[]]>([
  ['lisetn', ['listen']],
  ['heal', ['health', 'health-rise']],
  ['my-health', ['health', 'health-rise']],
  ['ru', ['run']],
  ['x', []],
  ['', []],
  ['zzzzzz', []],
])('of several, %s means %j', (word, meant) => {
  const found = nearestFew(word, CHOICES, 2);
  expect(found.slice(0, meant.length)).toEqual(meant.slice(0, found.length));
  expect(found.length === 0).toBe(meant.length === 0);
});

test('at most the given number of choices is returned, nearest first, however long the word is', () => {
  expect(nearestFew('run', ['runs', 'run-a', 'run', 'rum'], 2)).toEqual(['run', 'rum']);
  expect(nearestFew('y'.repeat(1_000_000), ['run'], 2)).toEqual([]);
});
