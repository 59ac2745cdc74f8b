// The parts of an explanation. Pure.

/**
 * `ok`: the link works. `broken`: the link itself is the cause. `waits`: it cannot work before an earlier link does.
 * `unknown`: its state is not known. `apart`: it does not work, and most clients do not need it.
 */
export type LinkState = 'ok' | 'broken' | 'waits' | 'unknown' | 'apart';

/** One link of the chain from the object to a client's kubeconfig. */
export interface Link {
  readonly link: LinkName;
  readonly state: LinkState;
  readonly says: string;
  /** What to do about it; null if there is nothing to do. */
  readonly next: string | null;
}

export const link = (name: LinkName, state: LinkState, says: string, next: string | null = null): Link => ({
  link: name,
  state,
  says,
  next,
});

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
      /** This node serves the cluster's clients. */
      readonly reachable: boolean;
      readonly summary: string;
      /** The first broken link; null if there is none. */
      readonly broken: Link | null;
      readonly chain: readonly Link[];
      /** Facts that limit the explanation, for example old data or other objects of the same name. */
      readonly notes: readonly string[];
      /** One sentence per additional listener. A listener can work while the cluster itself is not reachable. */
      readonly listeners: readonly string[];
    }
  | {
      readonly kind: 'unknown';
      readonly asked: string;
      readonly nearest: readonly string[];
      readonly known: number;
    };
