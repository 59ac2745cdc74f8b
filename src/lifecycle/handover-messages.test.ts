import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type FromPredecessor,
  fromPredecessor,
  messageLine,
  type ToPredecessor,
  toPredecessor,
} from './handover-messages.ts';

const TO: ToPredecessor[] = [
  { kind: 'take', version: '0.1.0' },
  { kind: 'take', version: '0.1.0', daemonSet: 'ns/isthmus:7', takeOver: true },
  { kind: 'serving' },
  { kind: 'upgrade', environment: null },
  { kind: 'upgrade', environment: { KUBECONFIG: '/x' } },
];
const FROM: FromPredecessor[] = [
  { kind: 'sockets', version: '1', sockets: [{ name: 'tls', pinned: true }], more: false },
  { kind: 'refused', reason: 'no' },
  { kind: 'released' },
  { kind: 'upgraded', pid: 7, version: '2' },
  { kind: 'failed', reason: 'it' },
];

test.each(TO)('the message $kind to the predecessor survives a round trip', (message) => {
  expect(toPredecessor(messageLine(message))).toEqual(message);
});
test.each(FROM)('the message $kind from the predecessor survives a round trip', (message) => {
  expect(fromPredecessor(messageLine(message))).toEqual(message);
});

test.each([
  'nonsense',
  'null',
  '[]',
  '{"kind":"give"}',
  '{"kind":"take"}',
  '{"kind":"upgrade"}',
  '{"kind":"upgrade","environment":{"A":1}}',
  '{"kind":"sockets","version":"1","sockets":[{}]}',
  '{"kind":"upgraded","pid":"7","version":"1"}',
  '{"kind":"refused"}',
])('the invalid message %s is rejected in both directions', (line) => {
  expect(toPredecessor(line)).toBeNull();
  expect(fromPredecessor(line)).toBeNull();
});

test('the parsers never throw, whatever the input', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      toPredecessor(line);
      fromPredecessor(line);
      return true;
    }),
  );
});
