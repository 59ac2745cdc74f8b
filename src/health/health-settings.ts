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
  /** Beside those: of targets that have no verdict yet. Their clients wait for it, and after a start that is everybody. */
  readonly maxFirstProbesPerSecond: number;
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
  maxFirstProbesPerSecond: 1000,
  maxConcurrent: 256,
});

/** A TLS handshake is work for JavaScript, in the thread that also decides: new targets hurry no more than the others. */
const FIRST_HANDSHAKES_PER_SECOND = 200;

export function healthSettings(chosen: Partial<HealthSettings>): HealthSettings {
  const settings = { ...DEFAULT_HEALTH_SETTINGS, ...chosen };
  return settings.kind === 'tcp'
    ? settings
    : { ...settings, maxFirstProbesPerSecond: FIRST_HANDSHAKES_PER_SECOND };
}
