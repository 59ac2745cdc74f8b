// A problem that an operator should see: in the log, in /status and as a metric. Types only.

/** `origin` names the unusable input (a file, a document in it, a flag); `reason` says why it is unusable. */
export interface Problem {
  readonly origin: string;
  readonly reason: string;
}
