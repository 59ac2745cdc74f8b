// A port of its own that leads to one pool, whatever the client says: a TCP listener. The control side names the port it would like;
// which one was really taken only the data plane knows, and says so.
import type { Route } from './route-table.ts';

export interface PortRoute {
  /** `<namespace>/<name>` of the AdditionalListener: one port each. */
  readonly name: string;
  /** The one it had before, as our own slice or its manifest says; null, or one outside of the range: any of it. */
  readonly preferredPort: number | null;
  readonly route: Route;
}

/** What came of the wish for a port, by the name of the PortRoute. */
export type PortOutcome =
  | { readonly kind: 'open'; readonly port: number }
  /** One sentence: the range is full, or the port is busy. Tried again with the next change and the next tick. */
  | { readonly kind: 'failed'; readonly reason: string };
