// What an explanation consists of. Types only.

/**
 * `ok`: this link holds. `broken`: it does not, by its own fault. `waits`: it does not, and cannot before an earlier one does.
 * `unknown`: nothing is known of it. `apart`: it does not hold, and most clients do not need it.
 */
export type LinkState = 'ok' | 'broken' | 'waits' | 'unknown' | 'apart';

/** One link of the chain from the object to a client's kubeconfig. */
export interface Link {
  readonly link: LinkName;
  readonly state: LinkState;
  readonly says: string;
  /** What to do about it; null where nothing is to be done. */
  readonly next: string | null;
}

export type LinkName =
  | 'object'
  | 'proxied'
  | 'name'
  | 'network'
  | 'netns'
  | 'backend'
  | 'route'
  | 'service'
  | 'slice'
  | 'kubeconfig';

export type Explanation =
  | {
      readonly kind: 'explained';
      readonly cluster: string;
      readonly instance: string;
      /** Clients that come to this node are served. */
      readonly reachable: boolean;
      readonly summary: string;
      /** The first link that does not hold; null where all do. */
      readonly broken: Link | null;
      readonly chain: readonly Link[];
      /** What else to know before believing it: data that are old, other objects of the same name. */
      readonly notes: readonly string[];
      /** Its additional listeners, a sentence each: they work whether or not the cluster itself is reachable. */
      readonly listeners: readonly string[];
    }
  | {
      readonly kind: 'unknown';
      readonly asked: string;
      readonly nearest: readonly string[];
      readonly known: number;
    };
