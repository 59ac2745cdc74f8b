// The types of a plan: its actions, Events and Lease reads, and the status of each publication. `diff` makes a plan and
// `apply` executes it. Each action carries its preconditions, so the API server rejects a stale one.

import type { Problem } from '../objects/problem.ts';
import type { EndpointSliceObject, ServiceObject } from '../objects/published-objects.ts';
import type { ChangeEventsMemory } from './change-events.ts';
import type { StatusEvent } from './status-events.ts';

export type Resource = 'services' | 'endpointslices' | 'secrets' | 'leases' | 'additionallisteners';

interface Target {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  /** null when the object does not belong to a single cluster. */
  readonly cluster: string | null;
  /** A short reason for the log. */
  readonly why: string;
}

export type Action =
  | (Target & { readonly kind: 'create'; readonly object: ServiceObject | EndpointSliceObject })
  | (Target & {
      readonly kind: 'patch';
      /** A merge patch. `apply` adds the resourceVersion, so the API server rejects the patch if the object has changed since. */
      readonly patch: object;
      readonly resourceVersion: string;
    })
  | (Target & { readonly kind: 'delete'; readonly uid: string; readonly resourceVersion: string })
  | (Target & {
      /** Read the Secret, check it, and write these two fields if they differ. The content never becomes part of a plan. */
      readonly kind: 'kubeconfig';
      readonly server: string;
      /** null: the entry gets none, and one that Isthmus wrote is removed. */
      readonly tlsServerName: string | null;
      /** true writes our annotations; false removes them. */
      readonly annotate: boolean;
    })
  /** Writes only the status subresource. */
  | (Target & { readonly kind: 'status'; readonly status: object });

/** State that one plan passes to the next. All times are monotonic. */
export interface PlanMemory {
  /** Since when an orphaned object could be deleted, by `<resource>/<name>`. */
  readonly collectibleSince: ReadonlyMap<string, number>;
  /** Since when a slice of ours has been terminating, by its name. */
  readonly terminatingSince: ReadonlyMap<string, number>;
  /** Since when this instance has waited for instances of a lower rank to write a kubeconfig, by `<namespace>/<name>`. */
  readonly kubeconfigWaits: ReadonlyMap<string, number>;
  /** Since when a mass deletion has been due. */
  readonly breakerSinceMs: number | null;
  /** The last status that this instance planned for each AdditionalListener, by `<namespace>/<name>`. */
  readonly listenerStatus: ReadonlyMap<string, WrittenStatus>;
  /** Since when that status differs from the object, by `<namespace>/<name>`. */
  readonly listenerStatusDue: ReadonlyMap<string, number>;
  /** The statuses that the next Events are compared with. */
  readonly events: ChangeEventsMemory;
}

export interface WrittenStatus {
  readonly text: string;
  /** Monotonic. */
  readonly atMs: number;
}

export const NO_MEMORY: PlanMemory = Object.freeze({
  collectibleSince: new Map(),
  terminatingSince: new Map(),
  kubeconfigWaits: new Map(),
  breakerSinceMs: null,
  listenerStatus: new Map(),
  listenerStatusDue: new Map(),
  events: Object.freeze({ clusters: null, listeners: null }),
});

/** What exists in Kubernetes for one publication, as the plan found it. */
export interface PublicationStatus {
  readonly service: 'ours' | 'upstream' | 'foreign' | 'absent';
  /** This instance's slice. */
  readonly slice: 'ready' | 'terminating' | 'absent';
  /** Number of instances that are ready for clients, including this one. */
  readonly readyInstances: number;
  readonly kubeconfig: 'proxied' | 'direct' | 'unread' | 'absent' | 'left-alone' | 'unverifiable';
  /** What is wrong, for an operator; null if there is no problem. */
  readonly problem: string | null;
}

export interface Plan {
  /** In the order in which they start: removals of dead endpoints come first. */
  readonly actions: readonly Action[];
  readonly events: readonly StatusEvent[];
  /** Names of Leases to read live (`KubeWorld.doubtedLeases`). */
  readonly leaseReads: readonly string[];
  /** By publication key: see `publicationKey`. */
  readonly publications: ReadonlyMap<string, PublicationStatus>;
  readonly problems: readonly Problem[];
  /** No client of a published slice of this instance would lose its cluster: `LeaseClaim` may need that. */
  readonly servesAll: boolean;
  /** Why this process must not replace its predecessor; null: it may. */
  readonly servesNone: string | null;
  readonly memory: PlanMemory;
  /** When the next plan may differ without any new observation (monotonic); null: never. */
  readonly lookAgainAtMs: number | null;
}

export const actionKey = ({ resource, namespace, name }: Pick<Target, 'resource' | 'namespace' | 'name'>) =>
  `${resource}/${namespace}/${name}`;
