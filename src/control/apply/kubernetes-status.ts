// The state of this instance at the Kubernetes API, for status and metrics. Types only.

export interface KubernetesStatus {
  readonly server: string;
  /** Contains no secret. */
  readonly identity: string;
  readonly instance: string;
  readonly lease: 'not-yet' | 'held' | 'lost';
  readonly liveness: 'lease' | 'timestamp' | null;
  /** Live instances, this one included; null while unknown. */
  readonly instances: number | null;
  /** Whether this instance receives clients (`--node-selector`); null before its Node has been read. */
  readonly takesPart: boolean | null;
  readonly takesPartBecause: string | null;
  /** Since when a watch has been broken; clients are served by the state of that time. Null while all watches work. */
  readonly staleSince: string | null;
  /** HTTP requests since the start, by verb. */
  readonly calls: Readonly<Record<string, number>>;
}
