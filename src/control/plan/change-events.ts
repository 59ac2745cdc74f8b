// The Events of one turn, for clusters and for additional listeners, each with the object that it is about. Pure.

import type { ClusterStatus } from '../desired/cluster-status.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import type { ListenerStatus } from '../desired/listener-status.ts';
import { isFirst, mayAct, rankAmong } from '../instance/turn-order.ts';
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
  { self, peers, slices, nowMs }: KubeWorld,
  before: ChangeEventsMemory,
): { readonly events: readonly StatusEvent[]; readonly memory: ChangeEventsMemory } {
  const { instance } = self;
  const context = { isFirst: isFirst(peers), instance, nowMs, isFirstServing: () => false };
  const isFirstServing = ({ name }: ClusterStatus): boolean => {
    const ready = (slices.ours.get(name) ?? []).filter(
      (slice) => slice.ready && peers.live.has(slice.instance),
    );
    return (
      ready.length === 0 ||
      rankAmong(
        instance,
        ready.map((slice) => slice.instance),
      ) === 0
    );
  };
  const clusters = statusEvents(
    CLUSTER_EVENTS,
    mayAct(self) ? desired.clusters : desired.clusters.map(withoutCertificate),
    {
      ...context,
      isFirstServing,
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

/** Certificates are read before this process holds its Lease. Their Events follow once it does. */
function withoutCertificate(status: ClusterStatus): ClusterStatus {
  if (status.certificate === undefined) return status;
  const { certificate: _unreported, ...others } = status;
  return others;
}
