// The content of the netns directory as plain data.
import type { NetnsRef } from './netns-ref.ts';

export interface NetnsEntry extends NetnsRef {
  readonly name: string;
}

export interface NetnsSnapshot {
  /** False if the directory could not be read. While it is false, a missing entry does not mean that the netns is gone. */
  readonly complete: boolean;
  /** Sorted by name. */
  readonly entries: readonly NetnsEntry[];
  /** Names in the directory that are not a usable netns, each with the reason. Sorted by name. */
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
}
