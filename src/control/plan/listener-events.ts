// Decides which changes of additional listeners become Kubernetes Events, as cluster-events.ts does for clusters. A node that cannot
// reach the listener's machines reports nothing: that is normal.
//
// | before → now                       | event                  | reported by                  |
// | anything → serving                 | Normal Serving         | the instance that serves     |
// | serving → anything but invalid     | Warning NotServing     | the instance that served     |
// | anything → invalid, or another reason | Warning Invalid     | the first live instance      |
// | others                             | none                   |                              |
// | another object has its plain name  | Warning NameConflict   | the first live instance      |
import { conditionText, type ListenerStatus } from '../desired/listener-status.ts';
import type { EventDraft, EventRules, StatusChange } from './status-events.ts';

function stateEvent({ status, was, isStarting, instance }: StatusChange<ListenerStatus>): EventDraft | null {
  const { state, reason, detail } = status;
  if (state === 'serving')
    return isStarting
      ? null
      : { type: 'Normal', reason: 'Serving', message: `served by ${instance}: ${reason}`, shared: false };
  if (state === 'invalid') return { type: 'Warning', reason: 'Invalid', message: reason, shared: true };
  if (was?.state !== 'serving') return null;
  const message = `no longer served by ${instance}: ${conditionText({ reason, detail })}`;
  return { type: 'Warning', reason: 'NotServing', message, shared: false };
}

/** The Event about a name conflict. An invalid listener without a Service already reports the conflict as its reason. */
function nameEvents({ status, was }: StatusChange<ListenerStatus>): readonly EventDraft[] {
  const { nameConflict, service, state } = status;
  if (nameConflict === undefined || nameConflict === was?.nameConflict) return [];
  if (service === null && state === 'invalid') return [];
  const message = `its Service is called ${service}: ${nameConflict}`;
  return [{ type: 'Warning', reason: 'NameConflict', message, shared: true }];
}

export const LISTENER_EVENTS: EventRules<ListenerStatus> = {
  keyOf: ({ namespace, name }) => `${namespace}/${name}`,
  stateEvent,
  extraEvents: nameEvents,
  // In the first few turns, listeners may not have been listed yet.
  waitsForFirst: true,
};
