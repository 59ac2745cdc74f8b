import { expect, test } from 'vitest';
import type { Desired } from '../control/desired/desired-state.ts';
import { changedDesired, NOTHING_DESIRED } from './control-changes.ts';
import { ControlOutbox } from './control-outbox.ts';

const problem = (origin: string) => ({ origin, reason: 'broken' });
const withProblems = (...origins: string[]): Desired => ({
  ...NOTHING_DESIRED,
  problems: origins.map(problem),
});

function receiver() {
  const state = { desired: NOTHING_DESIRED, messages: 0 };
  const outbox = new ControlOutbox((changes) => {
    state.messages += 1;
    state.desired = changedDesired(state.desired, structuredClone(changes));
  });
  return { outbox, state };
}

test('the outbox has one message in flight, and then sends all later changes in one message', () => {
  const { outbox, state } = receiver();
  for (const origins of [['a'], ['a', 'b'], ['b'], ['b', 'c']]) outbox.put(withProblems(...origins));
  expect([state.messages, state.desired]).toEqual([1, withProblems('a')]);
  outbox.taken();
  expect([state.messages, state.desired]).toEqual([2, withProblems('b', 'c')]);
  outbox.taken();
  expect(state.messages).toBe(2);
});

test('the outbox is empty once the main thread has taken the last message', async () => {
  const { outbox, state } = receiver();
  await outbox.empty(); // resolves at once for an empty outbox
  outbox.put(withProblems('a'));
  outbox.put(withProblems('b'));
  let seen = 0;
  const empty = outbox.empty().then(() => {
    seen = state.messages;
  });
  outbox.taken();
  await Promise.resolve();
  expect(seen).toBe(0);
  outbox.taken();
  await empty;
  expect(seen).toBe(2);
});

test('the outbox sends nothing for an unchanged state', () => {
  const { outbox, state } = receiver();
  const desired = withProblems('a');
  outbox.put(desired);
  outbox.taken();
  outbox.put(desired);
  expect(state.messages).toBe(1);
});

test('routesTaken covers the newest routes, even while another message is in flight', () => {
  const { outbox } = receiver();
  const routes = { byServerName: new Map(), defaultRoute: null };
  expect(outbox.routesTaken).toBe(true);
  outbox.put(withProblems('a'));
  expect(outbox.routesTaken).toBe(true);
  outbox.put({ ...withProblems('a'), routes });
  expect(outbox.routesTaken).toBe(false);
  outbox.taken(); // the first message, without the newest routes
  expect(outbox.routesTaken).toBe(false);
  outbox.taken();
  expect(outbox.routesTaken).toBe(true);
});

test('routesTaken covers listener ports too', () => {
  const { outbox } = receiver();
  const route = { cluster: 'kube-1', namespace: 'magnum-system', backends: [] };
  outbox.put({ ...withProblems('a'), ports: [{ name: 'magnum-system/ssh', preferredPort: null, route }] });
  expect(outbox.routesTaken).toBe(false);
  outbox.taken();
  expect(outbox.routesTaken).toBe(true);
});
