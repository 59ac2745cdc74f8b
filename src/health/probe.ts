// One look at one backend inside its netns: what it is asked stands in tcp-probe.ts (the default, which the backend's program never
// learns of) and in tls-probe.ts.
import type { DialTarget } from '../netns/dial.ts';

/** What is probed, as plain data. */
export interface ProbeTarget extends DialTarget {
  /** The backend's key in the route table. */
  readonly key: string;
  /** Sent as SNI by the TLS check. */
  readonly serverName: string;
  /** Whatever `--health` says, this one is asked by this check. */
  readonly check?: 'tcp';
}

export interface ProbeOutcome {
  readonly ok: boolean;
  /** A code such as ECONNREFUSED or ETIMEDOUT; null when it passed. */
  readonly error: string | null;
  /** Until the verdict; the closing that follows is not counted. */
  readonly durationMs: number;
}

export interface Probe {
  /**
   * Begins, and returns how to call it off: then it ends with ECANCELED. However it ends, `ended` is called exactly once, when its
   * socket is closed, and never before this returns. Never throws.
   */
  start(target: ProbeTarget, ended: (outcome: ProbeOutcome) => void): () => void;
}

/** To be closed when nothing is under way any more. */
export interface ClosableProbe extends Probe {
  close(): void;
}
