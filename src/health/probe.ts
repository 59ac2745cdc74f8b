// The interface of one probe of one backend inside its netns. Implementations: tcp-probe.ts (the default; the program of
// the backend does not notice it) and tls-probe.ts.
import type { DialTarget } from '../netns/dial.ts';

/** The target of a probe, as plain data. */
export interface ProbeTarget extends DialTarget {
  /** The backend's key in the route table. */
  readonly key: string;
  /** Sent as SNI by the TLS check. */
  readonly serverName: string;
  /** Overrides `--health` for this target. */
  readonly check?: 'tcp';
  /**
   * Present for a further way to an API server, beside the address of its load balancer. `spare`: a better way is up, so clients do not
   * use this one now, and it is probed rarely. `needed`: no better way is up.
   */
  readonly way?: 'needed' | 'spare';
}

export interface ProbeOutcome {
  readonly ok: boolean;
  /** A code such as ECONNREFUSED or ETIMEDOUT; null if the probe passed. */
  readonly error: string | null;
  /** Time until the result, without the close that follows. */
  readonly durationMs: number;
}

export interface Probe {
  /**
   * Starts the probe and returns a function that cancels it; a cancelled probe ends with ECANCELED. `ended` is called exactly once
   * in every case, after the socket is closed, and never before `start` returns. Never throws.
   */
  start(target: ProbeTarget, ended: (outcome: ProbeOutcome) => void): () => void;
}

/** Close it only when no probe runs. */
export interface ClosableProbe extends Probe {
  close(): void;
}
