// A problem that an operator should see: in the log, in /status and as a metric. Types only.

/** Unusable input (a file, a document in it, a flag) with its name and the reason. */
export interface Problem {
  readonly origin: string;
  readonly reason: string;
}
