import { expect, test } from 'vitest';
import { endpointText } from './addresses.ts';

test.each([
  ['192.0.2.1', 6443, '192.0.2.1:6443'],
  ['fd00::5', 6443, '[fd00::5]:6443'],
])('%s and %d are written %s', (address, port, text) => {
  expect(endpointText({ address, port })).toBe(text);
});
