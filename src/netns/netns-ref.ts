// Names a network namespace for the rest of the program: by path and identity, never by descriptor number.

/** A netns recreated under the same path has another identity, so a route made for the old one can never reach the new one. */
export interface NetnsRef {
  readonly path: string;
  readonly identity: string;
}
