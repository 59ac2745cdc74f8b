// The connection of this instance to the Kubernetes API, for `/status` and metrics. Types only.

export interface KubernetesStatus {
  readonly server: string;
  /** The user that the API sees, or how this instance authenticates. Contains no secret. */
  readonly identity: string;
  readonly instance: string;
  readonly lease: 'not-yet' | 'held' | 'lost';
  readonly liveness: 'lease' | 'timestamp' | null;
  /** Live instances, this one included; null while unknown. */
  readonly instances: number | null;
  /** Whether this instance receives clients (`--node-selector`); null before its Node has been read. */
  readonly takesPart: boolean | null;
  readonly takesPartBecause: string | null;
  /** Since when a watch has been broken; routes keep the state of that time. Null while all watches work. */
  readonly staleSince: string | null;
  /** Why the Machines of control planes are unreadable now; absent: they are readable, or not in use. */
  readonly controlPlanesProblem?: string;
  /** HTTP requests since the start, by verb. */
  readonly calls: Readonly<Record<string, number>>;
}
