// How backends are probed: plain values, checked where the configuration is read.

export interface HealthSettings {
  readonly kind: 'tcp' | 'tls';
  readonly intervalMs: number;
  /** Covers everything from opening the netns to the last byte of a handshake. */
  readonly timeoutMs: number;
  readonly rise: number;
  readonly fall: number;
  readonly fastIntervalMs: number;
  readonly maxProbesPerSecond: number;
  /**
   * At least maxProbesPerSecond × timeout: on an OVN node most backends never answer, and if those that wait for their timeout
   * took every place, the few that can be reached would be probed late.
   */
  readonly maxConcurrent: number;
}

export const DEFAULT_HEALTH_SETTINGS: HealthSettings = Object.freeze({
  kind: 'tcp',
  intervalMs: 2000,
  timeoutMs: 1000,
  rise: 2,
  fall: 2,
  fastIntervalMs: 200,
  maxProbesPerSecond: 200,
  maxConcurrent: 256,
});
