// The settings of health checks: plain values, validated where the configuration is read.

export interface HealthSettings {
  readonly kind: 'tcp' | 'tls';
  readonly intervalMs: number;
  /** Covers the whole probe, from opening the netns to the last byte of the handshake. */
  readonly timeoutMs: number;
  readonly rise: number;
  readonly fall: number;
  readonly fastIntervalMs: number;
  readonly maxProbesPerSecond: number;
  /** An additional rate for targets without a verdict, because clients wait for their verdict. After a start, these are all targets. */
  readonly maxFirstProbesPerSecond: number;
  /**
   * At least maxProbesPerSecond × timeout. On an OVN node most backends never answer. If probes that wait for their timeout used
   * the whole limit, the few reachable backends would be probed late.
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
  maxFirstProbesPerSecond: 1000,
  maxConcurrent: 256,
});

/** TLS handshakes run in JavaScript, on the thread of the control loop. So new targets do not get a higher rate than known ones. */
const FIRST_HANDSHAKES_PER_SECOND = 200;

export function healthSettings(chosen: Partial<HealthSettings>): HealthSettings {
  const settings = { ...DEFAULT_HEALTH_SETTINGS, ...chosen };
  return settings.kind === 'tcp'
    ? settings
    : { ...settings, maxFirstProbesPerSecond: FIRST_HANDSHAKES_PER_SECOND };
}
