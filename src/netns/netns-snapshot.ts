// What was found in the netns directory, as plain data.
import type { NetnsRef } from './netns-ref.ts';

export interface NetnsEntry extends NetnsRef {
  readonly name: string;
}

export interface NetnsSnapshot {
  /** False while the directory could not be read: then nothing may be concluded from an absence. */
  readonly complete: boolean;
  /** Sorted by name. */
  readonly entries: readonly NetnsEntry[];
  /** Names in the directory that are no usable netns, each with the reason; sorted by name. */
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
}
