// The Events of one turn, for clusters and for additional listeners, each with the object that it is about. Pure.

import type { ClusterStatus } from '../desired/cluster-status.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import type { ListenerStatus } from '../desired/listener-status.ts';
import { isFirst } from '../instance/turn-order.ts';
import { LISTENER_KIND } from '../sources/additional-listener.ts';
import { OPENSTACK_CLUSTER_KIND } from '../sources/openstack-cluster-layout.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { CLUSTER_EVENTS } from './cluster-events.ts';
import { LISTENER_EVENTS } from './listener-events.ts';
import { type EventMemory, type StatusEvent, statusEvents } from './status-events.ts';

export interface ChangeEventsMemory {
  readonly clusters: EventMemory<ClusterStatus> | null;
  readonly listeners: EventMemory<ListenerStatus> | null;
}

export function changeEvents(
  desired: DesiredState,
  { self: { instance }, peers, nowMs }: KubeWorld,
  before: ChangeEventsMemory,
): { readonly events: readonly StatusEvent[]; readonly memory: ChangeEventsMemory } {
  const context = { isFirst: isFirst(peers), instance, nowMs };
  const clusters = statusEvents(
    CLUSTER_EVENTS,
    desired.clusters,
    {
      ...context,
      objectOf: ({ origin, namespace }) => {
        const { uid, apiVersion, name, deleting } = desired.objects.get(origin) ?? { uid: null };
        return uid === null || deleting
          ? null
          : { apiVersion, kind: OPENSTACK_CLUSTER_KIND, name, namespace, uid };
      },
    },
    before.clusters,
  );
  const listeners = statusEvents(
    LISTENER_EVENTS,
    desired.listeners,
    {
      ...context,
      objectOf: ({ namespace, name }) => {
        const { uid, apiVersion } = desired.listenerObjects.get(`${namespace}/${name}`) ?? { uid: null };
        return uid === null || apiVersion === undefined
          ? null
          : { apiVersion, kind: LISTENER_KIND, name, namespace, uid };
      },
    },
    before.listeners,
  );
  return {
    events: [...clusters.events, ...listeners.events],
    memory: { clusters: clusters.memory, listeners: listeners.memory },
  };
}
