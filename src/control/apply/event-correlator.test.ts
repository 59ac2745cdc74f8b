import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StatusEvent } from '../plan/status-events.ts';
import { EventCorrelator, type EventDecision } from './event-correlator.ts';

const MINUTE = 60_000;
const object = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'OpenStackCluster',
  name: 'kube-1-x7k2p',
  namespace: 'magnum-system',
  uid: 'u-1',
};
const event = (message: string, more: Partial<StatusEvent> = {}): StatusEvent => ({
  object,
  type: 'Warning',
  reason: 'Unhealthy',
  message,
  ...more,
});

function setup() {
  const clock = { ms: 0 };
  let count = 0;
  const correlator = new EventCorrelator({
    now: () => clock.ms,
    wallClock: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) + clock.ms,
    instance: 'net-1',
    random: () => (++count).toString(16).padStart(16, '0'),
  });
  return { clock, correlator, kindOf: (each: StatusEvent) => correlator.decide(each).kind };
}

function created(decision: EventDecision) {
  if (decision.kind !== 'create') expect.fail(`not created: ${decision.kind}`);
  return decision.body;
}

describe('an Event', () => {
  test('refers to its object in the form that Kubernetes requires', () => {
    expect(setup().correlator.decide(event('no longer served'))).toEqual({
      kind: 'create',
      body: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'kube-1-x7k2p.0000000000000001', namespace: 'magnum-system' },
        involvedObject: object,
        type: 'Warning',
        reason: 'Unhealthy',
        message: 'no longer served',
        source: { component: 'isthmus', host: 'net-1' },
        reportingComponent: 'isthmus',
        reportingInstance: 'net-1',
        firstTimestamp: '2026-01-02T03:04:05Z',
        lastTimestamp: '2026-01-02T03:04:05Z',
        count: 1,
      },
    });
  });

  test('that happens again within ten minutes increases the count, and is created again if it was deleted', () => {
    const { correlator, clock } = setup();
    const first = created(correlator.decide(event('x')));
    clock.ms += 9 * MINUTE;
    const again = { count: 2, lastTimestamp: '2026-01-02T03:13:05Z' };
    expect(correlator.decide(event('x'))).toEqual({
      kind: 'patch',
      name: first.metadata.name,
      namespace: 'magnum-system',
      body: { ...again, message: 'x' },
      instead: { ...first, ...again },
    });
    clock.ms += 9 * MINUTE;
    expect(correlator.decide(event('x'))).toMatchObject({ kind: 'patch', body: { count: 3 } });
  });

  test('that happens again after ten minutes is a new Event', () => {
    const { correlator, clock } = setup();
    const first = created(correlator.decide(event('x')));
    clock.ms += 10 * MINUTE;
    const second = created(correlator.decide(event('x')));
    expect(second).toMatchObject({ count: 1, firstTimestamp: '2026-01-02T03:14:05Z' });
    expect(second.metadata.name).not.toBe(first.metadata.name);
  });

  test.each<[title: string, more: Partial<StatusEvent>]>([
    ['another reason', { reason: 'NoNetns' }],
    ['another type', { type: 'Normal' }],
    ['another object, even of the same name', { object: { ...object, uid: 'u-2' } }],
    ['another message', { message: 'y' }],
  ])('with %s is a separate Event', (_title, more) => {
    const { correlator, kindOf } = setup();
    correlator.decide(event('x'));
    expect(kindOf(event('x', more))).toBe('create');
  });

  test('gets a unique name by default', () => {
    const settings = { now: () => 0, wallClock: () => 0, instance: 'net-1' };
    const names = [1, 2].map(() => created(new EventCorrelator(settings).decide(event('x'))).metadata.name);
    expect(names[0]).toMatch(/^kube-1-x7k2p\.[0-9a-f]{16}$/);
    expect(names[0]).not.toBe(names[1]);
  });

  test('of an object with a long name has a name of valid length', () => {
    const name = `${'a'.repeat(235)}.${'b'.repeat(17)}`;
    const { metadata } = created(setup().correlator.decide(event('x', { object: { ...object, name } })));
    expect(metadata.name).toBe(`${'a'.repeat(235)}.0000000000000001`);
  });

  test.each<[title: string, message: string, expected: string]>([
    ['1024 bytes stay', 'a'.repeat(1024), 'a'.repeat(1024)],
    ['one more is cut', 'a'.repeat(1025), `${'a'.repeat(1021)}…`],
    ['no character is cut in half', `a${'ä'.repeat(600)}`, `a${'ä'.repeat(510)}…`],
    ['not even one of four bytes', '😀'.repeat(300), `${'😀'.repeat(255)}…`],
    ['half a character of UTF-16 is replaced', 'a\ud83d', 'a\ufffd'],
  ])('has a message of 1024 bytes at most: %s', (_title, message, expected) => {
    expect(created(setup().correlator.decide(event(message))).message).toBe(expected);
  });
});

describe('many Events', () => {
  test('of one kind with different messages are combined from the eleventh on', () => {
    const { correlator } = setup();
    const kinds = Array.from({ length: 13 }, (_, i) => correlator.decide(event(`message ${i}`)));
    expect(kinds.map(({ kind }) => kind)).toEqual([...new Array(11).fill('create'), 'patch', 'patch']);
    expect(created(kinds[9]!).message).toBe('message 9');
    expect(created(kinds[10]!).message).toBe('(combined from similar events): message 10');
    expect(kinds[12]).toMatchObject({
      body: { count: 3, message: '(combined from similar events): message 12' },
    });
  });

  test('are no longer combined after ten minutes of silence', () => {
    const { correlator, clock } = setup();
    for (let i = 0; i < 12; i += 1) correlator.decide(event(`message ${i}`));
    clock.ms += 10 * MINUTE;
    expect(created(correlator.decide(event('new'))).message).toBe('new');
  });

  test('on one object are limited to 25 at once, and then to one in five minutes', () => {
    const { clock, kindOf } = setup();
    const flap = (i: number) => event('x', { reason: i % 2 === 0 ? 'Unhealthy' : 'Proxied' });
    const kinds = Array.from({ length: 40 }, (_, i) => kindOf(flap(i)));
    expect(kinds.filter((kind) => kind !== 'drop')).toHaveLength(25);
    expect(kinds.slice(25)).toEqual(new Array(15).fill('drop'));
    clock.ms += 5 * MINUTE - 1;
    expect(kindOf(flap(0))).toBe('drop');
    clock.ms += 1;
    expect(kindOf(flap(0))).toBe('patch');
    expect(kindOf(flap(0))).toBe('drop');
    clock.ms += 24 * 60 * MINUTE;
    const later = Array.from({ length: 40 }, (_, i) => kindOf(flap(i)));
    expect(later.filter((kind) => kind !== 'drop')).toHaveLength(25);
  });

  test('that are dropped still increase the count', () => {
    const { clock, correlator } = setup();
    for (let i = 0; i < 30; i += 1) correlator.decide(event('x'));
    clock.ms += 5 * MINUTE;
    expect(correlator.decide(event('x'))).toMatchObject({ kind: 'patch', body: { count: 31 } });
  });

  test('on one object do not use the budget of another', () => {
    const { kindOf } = setup();
    for (let i = 0; i < 40; i += 1) kindOf(event('x'));
    expect(kindOf(event('x', { object: { ...object, uid: 'u-2' } }))).toBe('create');
  });

  test('on more objects than the limit evict the oldest object', () => {
    const { kindOf } = setup();
    const on = (i: number) => event('x', { object: { ...object, uid: `u-${i}` } });
    for (let i = 0; i <= 4096; i += 1) kindOf(on(i));
    expect(kindOf(on(4096))).toBe('patch');
    expect(kindOf(on(1))).toBe('patch');
    expect(kindOf(on(0))).toBe('create');
  });
});

test('for any input, an object stays within its budget, every message fits, and only created Events are patched', () => {
  const step = fc.record({
    message: fc.oneof(fc.constantFrom('a', 'b'), fc.string({ unit: 'binary', maxLength: 2000 })),
    reason: fc.constantFrom('Proxied', 'Unhealthy', 'Pending'),
    uid: fc.constantFrom('u-1', 'u-2'),
    passed: fc.nat(2 * MINUTE),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { correlator, clock } = setup();
      const names = new Set<string>();
      const writes: Record<string, number> = {};
      for (const { message, reason, uid, passed } of steps) {
        clock.ms += passed;
        const decision = correlator.decide(
          event(message, { reason: reason as 'Proxied', object: { ...object, uid } }),
        );
        if (decision.kind === 'drop') continue;
        writes[uid] = (writes[uid] ?? 0) + 1;
        if (decision.kind === 'create') names.add(decision.body.metadata.name ?? '');
        else expect(names).toContain(decision.name);
        expect(Buffer.byteLength(decision.body.message ?? '')).toBeLessThanOrEqual(1024);
      }
      for (const count of Object.values(writes))
        expect(count).toBeLessThanOrEqual(25 + clock.ms / (5 * MINUTE));
    }),
  );
});
