import { describe, expect, test } from 'vitest';
import type { ListenerState, ListenerStatus } from '../desired/listener-status.ts';
import { LISTENER_EVENTS } from './listener-events.ts';
import { type EventMemory, statusEvents } from './status-events.ts';

const status = (state: ListenerState, reason = 'because', detail: string | null = null): ListenerStatus => ({
  name: 'ssh',
  namespace: 'ns',
  cluster: 'kube-1',
  protocol: 'TCP',
  port: 22,
  targetPort: 22,
  service: 'kube-1-ssh',
  listenPort: null,
  serverNames: [],
  state,
  reason,
  detail,
  members: [],
});

function reported(isFirst = true) {
  let nowMs = 0;
  let memory: EventMemory<ListenerStatus> | null = null;
  const objectOf = ({ name, namespace }: ListenerStatus) => ({
    apiVersion: 'isthmus.dev/v1alpha1',
    kind: 'AdditionalListener',
    name,
    namespace,
    uid: 'u',
  });
  return {
    later: () => {
      nowMs += 3_600_000;
    },
    see: (...listeners: readonly ListenerStatus[]) => {
      const context = { objectOf, isFirst, isFirstServing: () => true, instance: 'net-1', nowMs };
      const result = statusEvents(LISTENER_EVENTS, listeners, context, memory);
      memory = result.memory;
      return result.events.map(({ type, reason }) => `${type} ${reason}`);
    },
  };
}

test('the start and the end of serving are reported by the instance that serves the listener', () => {
  const { see, later } = reported(false);
  see(status('pending'));
  later();
  expect(see(status('serving'))).toEqual(['Normal Serving']);
  expect(see(status('serving', 'two answer'))).toEqual([]);
  expect(see(status('unhealthy'))).toEqual(['Warning NotServing']);
  expect(see(status('no-members'))).toEqual([]);
});

describe('no Event', () => {
  test('is caused by the end of our own start', () => {
    const { see } = reported();
    expect(see()).toEqual([]);
    expect(see(status('pending'))).toEqual([]);
    expect(see(status('serving'))).toEqual([]);
  });

  test('is caused by the normal state of a node that cannot reach the listener', () => {
    const { see, later } = reported();
    see(status('no-netns'));
    later();
    expect(see(status('unhealthy'))).toEqual([]);
  });
});

test('an invalid listener is reported once for each reason, by the first live instance', () => {
  const [first, other] = [reported(true), reported(false)];
  for (const { see } of [first, other]) see(status('serving'));
  expect(first.see(status('invalid', 'a'))).toEqual(['Warning Invalid']);
  expect(first.see(status('invalid', 'a'))).toEqual([]);
  expect(first.see(status('invalid', 'a', '1 of 2 machines answer'))).toEqual([]);
  expect(first.see(status('invalid', 'b'))).toEqual(['Warning Invalid']);
  expect(other.see(status('invalid', 'a'))).toEqual([]);
});

test('a name conflict is reported once for each reason, by the first live instance', () => {
  const [first, other] = [reported(true), reported(false)];
  const lost = (nameConflict: string) => ({ ...status('serving'), service: 'a-b-0123', nameConflict });
  for (const { see } of [first, other]) see(status('serving'));
  expect(first.see(lost('x has it'))).toEqual(['Warning NameConflict']);
  expect(first.see(lost('x has it'))).toEqual([]);
  expect(first.see(lost('y has it'))).toEqual(['Warning NameConflict']);
  expect(first.see(status('serving'))).toEqual([]);
  expect(other.see(lost('x has it'))).toEqual([]);
});
