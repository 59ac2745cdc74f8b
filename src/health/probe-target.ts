// What is probed, as plain data.
import type { DialTarget } from '../netns/dial.ts';

export interface ProbeTarget extends DialTarget {
  /** The backend's key in the route table. */
  readonly key: string;
  /** Sent as SNI by the TLS check. */
  readonly serverName: string;
  /** Whatever `--health` says, this one is asked by this check. */
  readonly check?: 'tcp';
}
