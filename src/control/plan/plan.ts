// What a plan consists of, and what it says of each cluster. A plan is made by `diff` and carried out by `apply`; each action
// names everything that must still be true, so that the API server refuses what was overtaken.

import type { PublicationStatus } from '../desired/publication.ts';
import type { EndpointSliceObject, ServiceObject } from '../objects/cluster-shape.ts';
import type { Problem } from '../sources/cluster-source.ts';

export type Resource = 'services' | 'endpointslices' | 'secrets' | 'leases' | 'additionallisteners';

interface Target {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  /** null for what belongs to no single cluster. */
  readonly cluster: string | null;
  /** For the log, in a few words. */
  readonly why: string;
}

export type Action =
  | (Target & { readonly kind: 'create'; readonly object: ServiceObject | EndpointSliceObject })
  | (Target & {
      readonly kind: 'patch';
      /** A merge patch; `apply` adds the resourceVersion, so that it changes only what was seen. */
      readonly patch: object;
      readonly resourceVersion: string;
    })
  | (Target & { readonly kind: 'delete'; readonly uid: string; readonly resourceVersion: string })
  | (Target & {
      /** Read the Secret, judge it, and write its server if it differs: the content never becomes part of a plan. */
      readonly kind: 'kubeconfig';
      readonly server: string;
      /** false takes our mark off again. */
      readonly mark: boolean;
    })
  /** Its status alone; nobody else writes that. */
  | (Target & { readonly kind: 'status'; readonly status: object });

/** What a plan has to remember until the next one. */
export interface PlanMemory {
  /** Since when (monotonic) something could be collected, by `<resource>/<name>`. */
  readonly collectibleSince: ReadonlyMap<string, number>;
  /** Since when a slice of ours has been terminating, by its name. */
  readonly terminatingSince: ReadonlyMap<string, number>;
  /** Since when a kubeconfig has waited for instances whose turn comes before ours, by `<namespace>/<name>`. */
  readonly kubeconfigWaits: ReadonlyMap<string, number>;
  /** Since when the breaker against deleting most of what there is has been open. */
  readonly breakerSinceMs: number | null;
  /** What we last wanted each AdditionalListener to say, by `<namespace>/<name>`. */
  readonly listenerStatus: ReadonlyMap<string, ToldStatus>;
  /** Since when it has been different, where somebody else may be about to write it (monotonic). */
  readonly listenerStatusDue: ReadonlyMap<string, number>;
}

export interface ToldStatus {
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
});

export interface Plan {
  /** In the order in which they are to be started: what takes a dead way out comes first. */
  readonly actions: readonly Action[];
  /** By cluster name. */
  readonly clusters: ReadonlyMap<string, PublicationStatus>;
  /** By `<namespace>/<name>` of the AdditionalListener. */
  readonly listeners: ReadonlyMap<string, PublicationStatus>;
  readonly problems: readonly Problem[];
  readonly memory: PlanMemory;
  /** When, at the latest, the next plan may differ although nothing happens (monotonic); null: never. */
  readonly lookAgainAtMs: number | null;
}

export const actionKey = ({ resource, namespace, name }: Pick<Target, 'resource' | 'namespace' | 'name'>) =>
  `${resource}/${namespace}/${name}`;
