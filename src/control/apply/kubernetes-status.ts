// What status and metrics say of the Kubernetes API. Types only.

/** How this instance stands with the Kubernetes API, for status and metrics. */
export interface KubernetesStatus {
  readonly server: string;
  /** Never a secret. */
  readonly identity: string;
  readonly instance: string;
  readonly lease: 'not-yet' | 'held' | 'lost';
  readonly liveness: 'lease' | 'timestamp' | null;
  /** That live, this one included; null while it is not known. */
  readonly instances: number | null;
  /** Whether clients are sent to this instance (`--node-selector`); null while its Node has not been looked at. */
  readonly takesPart: boolean | null;
  readonly takesPartBecause: string | null;
  /** Since when something of the API could not be watched; clients are served by what was known then. */
  readonly staleSince: string | null;
  /** HTTP requests by verb since the start. */
  readonly calls: Readonly<Record<string, number>>;
}
