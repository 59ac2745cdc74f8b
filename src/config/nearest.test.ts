import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

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

test('of two that are as near the first is taken', () => {
  expect(nearest('bat', ['cat', 'bar'])).toBe('cat');
});

test('without choices there is nothing to mean', () => {
  expect(nearest('listen', [])).toBeNull();
});
