// The recorded owner of each name, from our own Services in the proxy's namespace, where no tenant writes. The records come from the
// Services alone, so they survive a restart, a restore and a move. Pure.

import { listenerLabels } from '../objects/listener-labels.ts';
import { NAME_HOLDER_ANNOTATION } from '../objects/object-labels.ts';
import { foreignNamespace, ownershipOf } from '../objects/ownership.ts';
import type { ServiceObject } from '../objects/published-objects.ts';

export interface NameRecord {
  readonly kind: 'cluster' | 'listener';
  /** `<namespace>/<name>` of the object. */
  readonly key: string;
  /** The cluster is in a namespace that only other instances watch. Its absence here proves nothing. */
  readonly isElsewhere: boolean;
}

export interface NameRecords {
  /** By name of the Service. Services of earlier versions and of magnum-cluster-api-proxy contain no record. */
  readonly byName: ReadonlyMap<string, NameRecord>;
  /** By listener key: the names of its Services. */
  readonly ofListeners: ReadonlyMap<string, ReadonlySet<string>>;
  /** A Service of this name exists, ours or not. */
  isTaken(name: string): boolean;
}

export const NO_RECORDS: NameRecords = Object.freeze({
  byName: new Map(),
  ofListeners: new Map(),
  isTaken: () => false,
});

export function nameRecords(
  services: ReadonlyMap<string, ServiceObject>,
  /** The namespace that is searched for clusters; null: all namespaces. */
  scope: string | null,
): NameRecords {
  const byName = new Map<string, NameRecord>();
  const ofListeners = new Map<string, Set<string>>();
  for (const [name, service] of services) {
    const record = recordOf(name, service, scope);
    if (record === null) continue;
    byName.set(name, record);
    if (record.kind !== 'listener') continue;
    const names = ofListeners.get(record.key);
    if (names === undefined) ofListeners.set(record.key, new Set([name]));
    else names.add(name);
  }
  return { byName, ofListeners, isTaken: (name) => services.has(name) };
}

/** null if the Service is not ours, its name does not match its labels, or it names no owner. */
function recordOf(name: string, service: ServiceObject, scope: string | null): NameRecord | null {
  const ownership = ownershipOf(service);
  if (ownership.kind !== 'ours') return null;
  const isElsewhere = foreignNamespace(service, scope) !== null;
  const labels = listenerLabels(service.metadata);
  if (labels !== null)
    return labels.service === name ? { kind: 'listener', key: labels.listener, isElsewhere } : null;
  const key = service.metadata?.annotations?.[NAME_HOLDER_ANNOTATION];
  return ownership.cluster === name && typeof key === 'string' ? { kind: 'cluster', key, isElsewhere } : null;
}
