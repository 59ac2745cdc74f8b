// One manifest file from disk: what it is, whether it changed, what is in it. Every failure is a value; nothing here
// blocks on what is no regular file, and nothing larger than its limit is read. The disk is asked without a detour over Node's
// thread pool: this is the control thread, and six hand-overs for a small file cost more than all that is done with it.
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ListenerReading,
  type ListenerReadingSettings,
  readAdditionalListener,
} from './additional-listener.ts';
import type { ClusterReading, Problem, ReadingSettings } from './cluster-source.ts';
import { type MachineFacts, readMachine } from './machine.ts';
import { type FoundObject, manifestFile } from './manifest-file.ts';
import { readOpenStackCluster } from './openstack-cluster.ts';

export interface ManifestLimits {
  /** YAML takes some 0.7 s per MiB to parse, JSON next to nothing. */
  readonly yamlBytes: number;
  readonly jsonBytes: number;
}

/** What was read, and where. */
export interface Found<T> {
  readonly origin: string;
  readonly value: T;
}

export interface ManifestContents {
  readonly clusters: readonly ClusterReading[];
  readonly listeners: readonly Found<ListenerReading>[];
  readonly machines: readonly Found<MachineFacts>[];
}

export const NO_CONTENTS: ManifestContents = Object.freeze({ clusters: [], listeners: [], machines: [] });

export type ManifestSettings = ReadingSettings & ListenerReadingSettings;

export interface ManifestReading {
  /** Identifies this content; null when it must be read again at the next look, changed or not. */
  readonly stamp: string | null;
  readonly contents: ManifestContents;
  /** What made the file, or a document in it, unreadable. */
  readonly errors: readonly Problem[];
  readonly skipped: readonly Problem[];
}

export type ManifestLook =
  | { readonly kind: 'unchanged' }
  /** It changed or went just now. Only a listing of the directory tells which, or whether that went too. */
  | { readonly kind: 'unsteady' }
  | { readonly kind: 'read'; readonly reading: ManifestReading };

/**
 * A file that changed this recently may still be half written: cut off, YAML is often valid and just says less. It is also
 * as long as two writes may carry one time stamp (the kernel's tick, 4 to 10 ms, with room to spare).
 */
const REST_MS = 50;

export async function lookAtManifest(
  directory: string,
  name: string,
  knownStamp: string | null,
  /** Better late than half: leave a file alone that has not come to rest. The first look of all cannot wait. */
  patient: boolean,
  settings: ManifestSettings,
  limits: ManifestLimits,
): Promise<ManifestLook> {
  const path = join(directory, name);
  const unreadable = (stamp: string | null, reason: string): ManifestLook => ({
    kind: 'read',
    reading: { stamp, contents: NO_CONTENTS, errors: [{ origin: name, reason }], skipped: [] },
  });

  try {
    const before = statSync(path, { bigint: true });
    const stamp = stampOf(before);
    if (stamp === knownStamp) return { kind: 'unchanged' };
    if (!before.isFile()) return unreadable(stamp, 'not a regular file');
    const ageMs = Date.now() - Number(before.mtimeMs);
    // Less than nothing: somebody else's clock.
    const young = ageMs >= 0 && ageMs < REST_MS;
    if (young && patient) return { kind: 'unsteady' };
    const limit = name.endsWith('.json') ? limits.jsonBytes : limits.yamlBytes;
    if (before.size > limit) {
      return unreadable(
        stamp,
        `${before.size} bytes are more than the ${limit} that are read: split the file`,
      );
    }

    // O_NONBLOCK: should a FIFO have taken the file's place since, opening it must not hang.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    let bytes: Buffer;
    try {
      if (stampOf(fstatSync(fd, { bigint: true })) !== stamp) return { kind: 'unsteady' };
      bytes = readFileSync(fd);
      if (stampOf(fstatSync(fd, { bigint: true })) !== stamp) return { kind: 'unsteady' };
    } finally {
      closeSync(fd);
    }

    const text = textOf(bytes);
    if (text === null) return unreadable(stamp, 'not UTF-8 text');
    const { clusters, listeners, machines, errors, skipped } = await manifestFile(name, text);
    return {
      kind: 'read',
      reading: {
        stamp: young ? null : stamp,
        contents: {
          clusters: clusters.map(({ object, origin }) => readOpenStackCluster(object, origin, settings)),
          listeners: listeners.map(
            found(({ object, origin }) =>
              withoutUid(readAdditionalListener(object, origin, { ...settings, fromFile: true })),
            ),
          ),
          machines: machines.map(found(({ object }) => readMachine(object))),
        },
        errors,
        skipped,
      },
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !exists(path)) return { kind: 'unsteady' };
    return unreadable(null, code === 'ENOENT' ? 'a symbolic link to a file that is not there' : message);
  }
}

/** `kubectl get -o yaml` writes one. Kept, it would make this the object of an API, of which not every part may be edited. */
const withoutUid = (reading: ListenerReading): ListenerReading =>
  Object.freeze({ ...reading, object: Object.freeze({ ...reading.object, uid: null }) });

const found =
  <T>(read: (object: FoundObject) => T) =>
  (object: FoundObject): Found<T> => ({ origin: object.origin, value: read(object) });

function stampOf(stats: {
  dev: bigint;
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}

function textOf(bytes: Buffer): string | null {
  try {
    // Also drops a byte order mark, which neither JSON nor every YAML parser takes.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
