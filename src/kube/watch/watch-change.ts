// Interprets one event of a watch: an existing object, a deleted object, or a bookmark. Throws if the event is invalid, or if it
// shows an older version than known. Pure.
import { KubeError } from '../kube-error.ts';
import {
  isKubeObject,
  isOlderVersion,
  type KubeObject,
  resourceVersionOf,
  type WatchEvent,
} from '../kube-object.ts';
import type { Position } from './whole-list.ts';

export type WatchChange =
  | { readonly kind: 'exists' | 'deleted'; readonly object: KubeObject; readonly version: string }
  | { readonly kind: 'bookmark'; readonly version: string };

export function watchChange({ type, object }: WatchEvent, { path, version: known }: Position): WatchChange {
  const bad = (detail: string) =>
    new KubeError({ code: 'bad-answer', verb: 'watch', path, status: 200, detail });
  const version = resourceVersionOf(object);
  if (version === null) throw bad('the watch sent an event without a resourceVersion');
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      if (!isKubeObject(object)) throw bad('the watch sent an object without a name');
      return { kind: 'exists', object, version };
    case 'DELETED':
      if (!isKubeObject(object)) throw bad('the watch sent an object without a name');
      return { kind: 'deleted', object, version };
    case 'BOOKMARK':
      // The server was restored from a backup, and can assign known versions again to other objects.
      if (isOlderVersion(version, known)) {
        const detail = 'the server shows an older version than before';
        throw new KubeError({ code: 'gone', verb: 'watch', path, detail });
      }
      return { kind: 'bookmark', version };
    default:
      throw bad('the watch sent an event of an unknown type');
  }
}
