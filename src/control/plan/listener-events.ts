// Decides which changes of additional listeners become Kubernetes Events, as cluster-events.ts does for clusters. The normal state of
// a node that cannot reach the listener is not reported.
//
// | before → now                       | event                  | reported by                  |
// | anything → serving                 | Normal Serving         | the instance that serves     |
// | serving → anything but invalid     | Warning NotServing     | the instance that served     |
// | anything → invalid, or another reason | Warning Invalid     | the first live instance      |
// | others                             | none                   |                              |
// | another object has its plain name  | Warning NameConflict   | the first live instance      |
import { type ListenerStatus, standingText } from '../desired/listener-status.ts';
import { StatusEvents, type StatusEventsSettings, type Told } from './status-events.ts';

export class ListenerEvents extends StatusEvents<ListenerStatus> {
  constructor({ instance, ...settings }: StatusEventsSettings & { readonly instance: string }) {
    const told = (status: ListenerStatus, was: ListenerStatus | null, isStarting: boolean) =>
      toldOf(status, was, isStarting, instance);
    // Listeners are not known yet in the first few turns.
    super({ keyOf, told, toldBesides: toldOfName, waitsForFirst: true }, settings);
  }
}

function toldOf(
  { state, reason, detail }: ListenerStatus,
  was: ListenerStatus | null,
  isStarting: boolean,
  instance: string,
): Told | null {
  if (state === 'serving')
    return isStarting
      ? null
      : { type: 'Normal', reason: 'Serving', message: `served by ${instance}: ${reason}`, shared: false };
  if (state === 'invalid') return { type: 'Warning', reason: 'Invalid', message: reason, shared: true };
  if (was?.state !== 'serving') return null;
  const message = `no longer served by ${instance}: ${standingText({ reason, detail })}`;
  return { type: 'Warning', reason: 'NotServing', message, shared: false };
}

/** An invalid listener without a Service already reports the conflict as its reason. */
function toldOfName(
  { nameConflict, service, state }: ListenerStatus,
  was: ListenerStatus | null,
): Told | null {
  if (nameConflict === undefined || nameConflict === was?.nameConflict) return null;
  if (service === null && state === 'invalid') return null;
  const message = `its Service is called ${service}: ${nameConflict}`;
  return { type: 'Warning', reason: 'NameConflict', message, shared: true };
}

const keyOf = ({ namespace, name }: ListenerStatus): string => `${namespace}/${name}`;
