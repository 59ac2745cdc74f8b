import { expect, test } from 'vitest';
import { descriptorBudget, descriptorLimit } from './descriptor-limit.ts';

const limits = (soft: string, hard: string) =>
  [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             63431                63431                processes ',
    `Max open files            ${soft.padEnd(21)}${hard.padEnd(21)}files     `,
    'Max locked memory         8388608              8388608              bytes     ',
  ].join('\n');

test.each<[title: string, text: string, limit: number]>([
  ['the soft limit counts, not the hard one', limits('1024', '524288'), 1024],
  ['no limit is infinite', limits('unlimited', 'unlimited'), Number.POSITIVE_INFINITY],
  ['a missing limit is infinite', 'Max processes 1 1 processes\n', Number.POSITIVE_INFINITY],
])('%s', (_title, text, limit) => {
  expect(descriptorLimit(text)).toBe(limit);
});

test('the limit of this process can be read', () => {
  expect(descriptorLimit()).toBeGreaterThan(64);
});

const MOST_RESERVED = 128 + 464 + 1024 + 2 * 192;

test.each<[title: string, wanted: number, descriptors: number, connections: number]>([
  ['the wanted number if there is room', 8192, 524_288, 8192],
  ['the wanted number without a limit', 8192, Number.POSITIVE_INFINITY, 8192],
  ['the wanted number if it just fits', 8192, 2 * 8192 + MOST_RESERVED, 8192],
  ['one less if one descriptor is missing', 8192, 2 * 8192 + MOST_RESERVED - 1, 8191],
  ['9000 with 20 000 descriptors, a common site size', 9300, 20_000, 9000],
  ['half of the remaining descriptors of a small limit', 8192, 1024, 320],
  ['one if there is no room at all', 8192, 100, 1],
])('the connections are %s', (_title, wanted, descriptors, connections) => {
  expect(descriptorBudget(descriptors, wanted).maxConnections).toBe(connections);
});

test.each<[title: string, wanted: number, descriptors: number, connections: number]>([
  ['1024 if there is room', 8192, 131_072, 1024],
  ['1024 without a limit', 8192, Number.POSITIVE_INFINITY, 1024],
  ['half of the descriptors that clients leave', 8192, 20_000, 744],
  ['128 if clients leave none', 9300, 20_000, 128],
])('the connections of the admin port are %s', (_title, wanted, descriptors, connections) => {
  expect(descriptorBudget(descriptors, wanted).maxAdminConnections).toBe(connections);
});

test('the sum of all shares never exceeds the limit', () => {
  for (let limit = 320; limit < 30_000; limit += 7) {
    const { maxConnections, maxNetnsHandles, maxPipes } = descriptorBudget(limit, 1_000_000);
    expect(2 * maxConnections + maxNetnsHandles + 2 * maxPipes).toBeLessThanOrEqual(limit);
  }
});
