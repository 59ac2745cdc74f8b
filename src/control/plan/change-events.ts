// Collects the Events of one turn, for clusters and for additional listeners, each with the object it is about.

import type { DesiredState } from '../desired/desired-state.ts';
import { LISTENER_KIND } from '../sources/additional-listener.ts';
import { OPENSTACK_CLUSTER_KIND } from '../sources/openstack-cluster-layout.ts';
import { ClusterEvents } from './cluster-events.ts';
import { ListenerEvents } from './listener-events.ts';
import type { StatusEvent } from './status-events.ts';

export class ChangeEvents {
  readonly #clusters: ClusterEvents;
  readonly #listeners: ListenerEvents;

  constructor(settings: { readonly now: () => number; readonly instance: string }) {
    this.#clusters = new ClusterEvents(settings);
    this.#listeners = new ListenerEvents(settings);
  }

  changes(desired: DesiredState, isFirst: boolean): readonly StatusEvent[] {
    const { clusters, objects, listeners, listenerObjects } = desired;
    const ofClusters = this.#clusters.changes(clusters, {
      objectOf: ({ origin, namespace }) => {
        const { uid, apiVersion, name, deleting } = objects.get(origin) ?? { uid: null };
        return uid === null || deleting
          ? null
          : { apiVersion, kind: OPENSTACK_CLUSTER_KIND, name, namespace, uid };
      },
      isFirst,
    });
    const ofListeners = this.#listeners.changes(listeners, {
      objectOf: ({ namespace, name }) => {
        const { uid, apiVersion } = listenerObjects.get(`${namespace}/${name}`) ?? { uid: null };
        return uid === null || apiVersion === undefined
          ? null
          : { apiVersion, kind: LISTENER_KIND, name, namespace, uid };
      },
      isFirst,
    });
    return [...ofClusters, ...ofListeners];
  }
}
