// Names a network namespace for the rest of the program: by path and identity, never by descriptor number.

/** A netns that is recreated under the same path has another identity, so a route to the old netns never reaches the new one. */
export interface NetnsRef {
  readonly path: string;
  readonly identity: string;
}
