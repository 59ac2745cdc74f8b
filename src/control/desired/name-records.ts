// Which object each name belongs to, as the Services of ours say: they lie in the proxy's own namespace, where no tenant writes. Read off
// the Services alone, so that it is still true after a restart, a restore or a move. Pure.
import type { ServiceObject } from '../objects/cluster-shape.ts';
import { listenerMarks } from '../objects/listener-marks.ts';
import { NAME_HOLDER_ANNOTATION } from '../objects/object-labels.ts';
import { foreignNamespace, ownershipOf } from '../objects/ownership.ts';

export interface NameRecord {
  readonly kind: 'cluster' | 'listener';
  /** `<namespace>/<name>` of the object. */
  readonly key: string;
  /** Its cluster is where other instances look, and this one does not: that it is not seen here proves nothing. */
  readonly isElsewhere: boolean;
}

export interface NameRecords {
  /** By name of the Service. Those of earlier versions and of magnum-cluster-api-proxy say nothing. */
  readonly byName: ReadonlyMap<string, NameRecord>;
  /** By key of the listener: the names of its Services. */
  readonly ofListeners: ReadonlyMap<string, ReadonlySet<string>>;
  /** There is a Service of this name, ours or not. */
  isTaken(name: string): boolean;
}

export const NO_RECORDS: NameRecords = Object.freeze({
  byName: new Map(),
  ofListeners: new Map(),
  isTaken: () => false,
});

/** The same map is the same Services: they are read once for all turns in which none changed. */
const known = new WeakMap<ReadonlyMap<string, ServiceObject>, Map<string | null, NameRecords>>();

export function nameRecords(
  services: ReadonlyMap<string, ServiceObject>,
  /** The one that clusters are looked for in; null: in all. */
  scope: string | null,
): NameRecords {
  const byScope = known.get(services) ?? new Map<string | null, NameRecords>();
  known.set(services, byScope);
  const found = byScope.get(scope) ?? readRecords(services, scope);
  byScope.set(scope, found);
  return found;
}

function readRecords(services: ReadonlyMap<string, ServiceObject>, scope: string | null): NameRecords {
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

/** null for what is not ours, has not the name that goes with its marks, or does not say whose it is. */
function recordOf(name: string, service: ServiceObject, scope: string | null): NameRecord | null {
  const ownership = ownershipOf(service);
  if (ownership.kind !== 'ours') return null;
  const isElsewhere = foreignNamespace(service, scope) !== null;
  const marks = listenerMarks(service.metadata);
  if (marks !== null)
    return marks.service === name ? { kind: 'listener', key: marks.listener, isElsewhere } : null;
  const key = service.metadata?.annotations?.[NAME_HOLDER_ANNOTATION];
  return ownership.cluster === name && typeof key === 'string' ? { kind: 'cluster', key, isElsewhere } : null;
}
