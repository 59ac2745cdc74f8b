// Reads one manifest file from disk and detects whether it changed. Every failure is a value. It never blocks on a special file and
// never reads more than the size limit. It uses synchronous calls: for a small file, the six round trips to the thread pool cost more
// than all other work.
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../objects/problem.ts';
import {
  type ListenerReading,
  type ListenerReadingSettings,
  readAdditionalListener,
} from './additional-listener.ts';
import type { ClusterReading, ReadingSettings } from './cluster-source.ts';
import { type MachineFacts, readMachine } from './machine.ts';
import { type FoundObject, manifestFile } from './manifest-file.ts';
import { readOpenStackCluster } from './openstack-cluster.ts';

export interface ManifestLimits {
  /** Parsing YAML takes about 0.7 s per MiB, JSON almost nothing. */
  readonly yamlBytes: number;
  readonly jsonBytes: number;
}

/** A value and where it comes from. */
export interface Found<T> {
  readonly origin: string;
  readonly value: T;
}

export interface ManifestContents {
  readonly clusters: readonly ClusterReading[];
  readonly listeners: readonly Found<ListenerReading>[];
  readonly machines: readonly Found<MachineFacts>[];
}

const NO_CONTENTS: ManifestContents = Object.freeze({ clusters: [], listeners: [], machines: [] });

export type ManifestSettings = ReadingSettings & ListenerReadingSettings;

export interface ManifestReading {
  /** Identifies this content; null if the next scan must read the file again, changed or not. */
  readonly stamp: string | null;
  readonly contents: ManifestContents;
  /** Why the file, or a document in it, is unreadable. */
  readonly errors: readonly Problem[];
  readonly skipped: readonly Problem[];
}

export type ManifestLook =
  | { readonly kind: 'unchanged' }
  /** The file changed or disappeared during the read. Only a new directory listing shows which. */
  | { readonly kind: 'changing' }
  | { readonly kind: 'read'; readonly reading: ManifestReading };

/**
 * A file that changed less than this time ago may be half written, and truncated YAML is often valid with less content. Two writes
 * within this time may also have the same timestamp (the kernel's tick is 4 to 10 ms; the rest is margin).
 */
const REST_MS = 50;

export interface ManifestQuestion {
  readonly directory: string;
  readonly name: string;
  readonly knownStamp: string | null;
  /** Skip a file that changed within REST_MS: a late read is better than half a file. False in the first scan, which cannot wait. */
  readonly skipYoung: boolean;
  readonly settings: ManifestSettings;
  readonly limits: ManifestLimits;
}

export async function lookAtManifest(question: ManifestQuestion): Promise<ManifestLook> {
  const { directory, name, settings } = question;
  const path = join(directory, name);
  try {
    const file = readStableFile(path, question);
    if (file.kind !== 'bytes') return file;
    const text = textOf(file.bytes);
    if (text === null) return unreadable(name, file.stamp, 'not UTF-8 text');
    return { kind: 'read', reading: await readingOf(name, text, file.young ? null : file.stamp, settings) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !exists(path)) return { kind: 'changing' };
    const reason = code === 'ENOENT' ? 'a symbolic link to a file that does not exist' : message;
    return unreadable(name, null, reason);
  }
}

const unreadable = (name: string, stamp: string | null, reason: string): ManifestLook => ({
  kind: 'read',
  reading: { stamp, contents: NO_CONTENTS, errors: [{ origin: name, reason }], skipped: [] },
});

interface FileBytes {
  readonly kind: 'bytes';
  readonly bytes: Buffer;
  readonly stamp: string;
  /** The file changed within REST_MS. */
  readonly young: boolean;
}

/** Reads a changed file, unless it changes meanwhile. */
function readStableFile(
  path: string,
  { name, knownStamp, skipYoung, limits }: ManifestQuestion,
): FileBytes | ManifestLook {
  const before = statSync(path, { bigint: true });
  const stamp = stampOf(before);
  if (stamp === knownStamp) return { kind: 'unchanged' };
  if (!before.isFile()) return unreadable(name, stamp, 'not a regular file');
  const ageMs = Date.now() - Number(before.mtimeMs);
  // A negative age means that the other host's clock is ahead.
  const young = ageMs >= 0 && ageMs < REST_MS;
  if (young && skipYoung) return { kind: 'changing' };
  const limit = name.endsWith('.json') ? limits.jsonBytes : limits.yamlBytes;
  if (before.size > limit)
    return unreadable(name, stamp, `${before.size} bytes exceed the limit of ${limit}: split the file`);

  // O_NONBLOCK: if a FIFO has replaced the file since the stat, open must not hang.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (stampOf(fstatSync(fd, { bigint: true })) !== stamp) return { kind: 'changing' };
    const bytes = readFileSync(fd);
    if (stampOf(fstatSync(fd, { bigint: true })) !== stamp) return { kind: 'changing' };
    return { kind: 'bytes', bytes, stamp, young };
  } finally {
    closeSync(fd);
  }
}

async function readingOf(
  name: string,
  text: string,
  stamp: string | null,
  settings: ManifestSettings,
): Promise<ManifestReading> {
  const { clusters, listeners, machines, errors, skipped } = await manifestFile(name, text);
  const readListener = ({ object, origin }: FoundObject) =>
    withoutUid(readAdditionalListener(object, origin, { ...settings, fromFile: true }));
  const contents = {
    clusters: clusters.map(({ object, origin }) => readOpenStackCluster(object, origin, settings)),
    listeners: listeners.map(found(readListener)),
    machines: machines.map(found(({ object }) => readMachine(object))),
  };
  return { stamp, contents, errors, skipped };
}

/** `kubectl get -o yaml` writes a uid. A listener with a uid counts as an object of the API, where some fields are immutable. */
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
    // Also removes a byte order mark, which JSON and some YAML parsers reject.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
