// An attempt to do what a directive of isthmus.service forbids, as a script. It runs twice: under the unit, and under the unit without the
// directive. Only the difference proves that the directive is what stops it.

export interface Limit {
  readonly directive: string;
  /** With SystemCallFilter: the group that the unit removes and that the attempt is about. */
  readonly group?: string;
  readonly tries: string;
  readonly script: string;
  readonly forbidden: RegExp;
  readonly allowed: RegExp;
  /** Directives that forbid the same. They are absent in both runs. */
  readonly beside?: readonly string[];
  /**
   * Without this part in its kernel or its container, a machine cannot enforce the directive. Then the test only compares what `systemctl
   * show` says with and without the directive.
   */
  readonly needs?: 'CAP_SYS_RESOURCE' | 'device filter' | 'pids controller';
  /** What `systemctl show` says about the directive. */
  readonly shown?: string;
}

/** Root without other capabilities: the owner of the system's files, and nothing more. */
export const AS_ROOT = ['User', 'Group', 'AmbientCapabilities'];
export const ALL_CAPABILITIES = [...AS_ROOT, 'CapabilityBoundingSet'];
export const DENIED = /Operation not permitted|Permission denied/;
/** Prints `done` if the command succeeds. */
export const done = (command: string) => `${command} 2>&1 && echo done`;
