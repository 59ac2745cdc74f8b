// Decides which object holds which name. Clusters and additional listeners share one set of names, because Services and server names derive
// from it. A Service of Isthmus records the object that holds its name. Without a record, name-order.ts decides. Pure.
import { hashedName, isClusterName, type NamedListener, plainName } from '../objects/service-names.ts';
import { byText } from '../objects/text-order.ts';
import { keyOf, nameOf, namespaceOf } from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';
import {
  byClaim,
  type Claimant,
  claimantText,
  clusterClaimant,
  listenerClaimant,
  namespaceOfKey,
  whyFirst,
} from './name-order.ts';
import type { NameRecord, NameRecords } from './name-records.ts';

export interface NameQuestion {
  readonly clusters: readonly ClusterReading[];
  readonly lastKnown: ReadonlyMap<string, ClusterFacts>;
  /** Listeners with a usable spec, including those that are being withdrawn. */
  readonly listeners: readonly NamedListener[];
  readonly records: NameRecords;
  /** The Services were listed once, or there is no Kubernetes API. Before the first list, an existing record may be unknown. */
  readonly servicesListed: boolean;
  /** A cluster that is not in the list no longer exists. */
  readonly clustersComplete: boolean;
  /** A listener that is not in the list no longer exists. */
  readonly listenersComplete: boolean;
  /** The proxy's namespace. */
  readonly ownNamespace: string;
}

export interface ListenerName {
  /** Name of its Service; null if neither of its two names is free. */
  readonly service: string | null;
  /** Why its Service does not have its plain name; null if it has that name, or if no Service could have it. */
  readonly conflict: string | null;
}

export interface NameClaims {
  /** No object holds or claims the name. */
  isFree(name: string): boolean;
  /** This cluster holds the name that it claims. */
  holds(reading: ClusterReading): boolean;
  /** This cluster is the only one of its namespace that may use the names of that namespace, although it may not hold its name. */
  isFirstOfNamespace(reading: ClusterReading): boolean;
  /** This cluster, which is not proxied, may withdraw the objects that are published under its name. */
  mayLeave(reading: ClusterReading): boolean;
  /** The holder of the name cannot be decided yet. */
  isUndecided(name: string): boolean;
  /** Why this cluster does not hold the name that it claims. */
  refusal(loser: ClusterReading): string;
  listenerName(listener: NamedListener): ListenerName;
}

type Holding =
  | { readonly kind: 'ordered'; readonly holder: Claimant }
  | { readonly kind: 'recorded'; readonly holder: Claimant; readonly how: string }
  | { readonly kind: 'undecided' };

const UNDECIDED: Holding = { kind: 'undecided' };

export function nameClaims(question: NameQuestion): NameClaims {
  const claimants = clusterClaimants(question);
  const held = heldByClusters(question, claimants);
  const services = listenerServices(question, held);
  const { lastKnown, records, ownNamespace } = question;
  const isUndecided = (name: string) => held.get(name)?.kind === 'undecided';
  const refusal = (name: string, loser: Claimant) => refusalOf(name, held.get(name), loser, ownNamespace);
  const holds = (reading: ClusterReading): boolean => {
    const holder = holderOf(held.get(nameOf(reading)));
    return holder?.kind === 'cluster' && holder.key === keyOf(reading);
  };
  return {
    isFree: (name) => !held.has(name),
    holds,
    isFirstOfNamespace: (reading) => {
      const holder = holderOf(held.get(nameOf(reading)));
      // The holder has the names of its own namespace too.
      if (holder?.kind === 'cluster' && holder.namespace === namespaceOf(reading)) return holds(reading);
      const first = claimants.ofNamespace.get(`${namespaceOf(reading)}/${nameOf(reading)}`);
      return first?.key === keyOf(reading);
    },
    mayLeave: (reading) => {
      const name = nameOf(reading);
      return held.has(name) ? holds(reading) : claimants.leaving.get(name)?.key === keyOf(reading);
    },
    isUndecided,
    refusal: (loser) => {
      const name = nameOf(loser);
      const reason = refusal(name, clusterClaimant(loser, lastKnown));
      return isUndecided(name)
        ? reason
        : `${reason}; this one is served once the other is deleted or one of them is renamed`;
    },
    listenerName(listener) {
      const service = services.get(listener.key) ?? null;
      const plain = plainName(listener);
      const claimant = claimantOf(listener, held);
      const isHeld = held.has(plain) || records.isTaken(plain);
      const conflict = service !== plain && isClusterName(plain) && isHeld ? [refusal(plain, claimant)] : [];
      if (service === null) conflict.push(refusal(hashedName(listener), claimant));
      return { service, conflict: conflict.length === 0 ? null : conflict.join('; ') };
    },
  };
}

/** The clusters with a valid name, by that name. */
interface ClusterClaimants {
  /** The best claim of a cluster that is proxied or may be soon. A cluster in the proxy's namespace counts in any case. */
  readonly asking: ReadonlyMap<string, Claimant>;
  /** Names that more than one cluster asks for. */
  readonly contested: ReadonlySet<string>;
  /** By `<namespace>/<name>`: the best claim within a namespace. */
  readonly ofNamespace: ReadonlyMap<string, Claimant>;
  /** The best claim of a cluster that is not proxied. */
  readonly leaving: ReadonlyMap<string, Claimant>;
}

function clusterClaimants({ clusters, lastKnown, ownNamespace }: NameQuestion): ClusterClaimants {
  const asking = new Map<string, Claimant>();
  const contested = new Set<string>();
  const ofNamespace = new Map<string, Claimant>();
  const leaving = new Map<string, Claimant>();
  for (const reading of clusters) {
    const name = nameOf(reading);
    if (!isClusterName(name)) continue;
    const claimant = clusterClaimant(reading, lastKnown);
    const among = reading.kind === 'not-proxied' ? leaving : asking;
    const rival = among.get(name);
    if (rival !== undefined && among === asking) contested.add(name);
    if (rival === undefined || byClaim(claimant, rival, ownNamespace) < 0) among.set(name, claimant);
    if (among === leaving) continue;
    const place = `${claimant.namespace}/${name}`;
    const neighbour = ofNamespace.get(place);
    if (neighbour === undefined || byClaim(claimant, neighbour, ownNamespace) < 0)
      ofNamespace.set(place, claimant);
  }
  // The operator may isolate such a cluster later. A tenant that took the name before would keep it then.
  for (const [name, claimant] of leaving) {
    const rival = asking.get(name);
    if (claimant.namespace !== ownNamespace || rival?.namespace === ownNamespace) continue;
    if (rival !== undefined) contested.add(name);
    asking.set(name, claimant);
  }
  return { asking, contested, ofNamespace, leaving };
}

/** Holders by name, in this order: the records of Services, the next holders of released names, all other clusters. */
function heldByClusters(question: NameQuestion, claimants: ClusterClaimants): Map<string, Holding> {
  const { clusters, lastKnown, records } = question;
  const byKey = new Map<string, ClusterReading>();
  for (const reading of clusters) byKey.set(keyOf(reading), reading);
  const held = new Map<string, Holding>();
  const released = new Map<string, NameRecord>();
  for (const [name, record] of records.byName) {
    const reading = record.kind === 'cluster' ? byKey.get(record.key) : undefined;
    const how = howRecorded(name, record, reading, question);
    if (how === null) released.set(name, record);
    else held.set(name, { kind: 'recorded', holder: recordedClaimant(record, reading, lastKnown), how });
  }
  for (const [name, holder] of nextHolders(released, question)) held.set(name, { kind: 'ordered', holder });
  for (const [name, holder] of claimants.asking) {
    if (held.has(name)) continue;
    const record = released.get(name);
    held.set(name, record === undefined ? { kind: 'ordered', holder } : beingWithdrawn(name, record));
  }
  if (!question.servicesListed) leaveUndecided(held, claimants, question);
  return held;
}

/** By listener key: the name of its Service. Adds the listeners that win a name to `held`. */
function listenerServices(question: NameQuestion, held: Map<string, Holding>): ReadonlyMap<string, string> {
  const { ownNamespace } = question;
  const order = (a: NamedListener, b: NamedListener): number =>
    byClaim(claimantOf(a, held), claimantOf(b, held), ownNamespace);
  return takenNames(question, order, (name, listener) => {
    const claimant = claimantOf(listener, held);
    const holding = held.get(name);
    const isWon =
      holding === undefined ||
      (holding.kind === 'ordered' &&
        holding.holder.kind === 'cluster' &&
        byClaim(claimant, holding.holder, ownNamespace) < 0);
    if (isWon) held.set(name, { kind: 'ordered', holder: claimant });
    return isWon;
  });
}

/** The name of a cluster is shorter than the names of its listeners, so its holder is already decided here. */
function claimantOf(listener: NamedListener, held: ReadonlyMap<string, Holding>): Claimant {
  const cluster = holderOf(held.get(listener.cluster));
  const isHere = cluster?.kind === 'cluster' && cluster.namespace === namespaceOfKey(listener.key);
  return listenerClaimant(listener, !isHere);
}

function refusalOf(
  name: string,
  holding: Holding | undefined,
  loser: Claimant,
  ownNamespace: string,
): string {
  if (holding === undefined) return `another owner has the Service ${name}`;
  if (holding.kind === 'undecided')
    return `other objects may hold the name ${name}, and the Services that record it have not been listed yet`;
  const { holder } = holding;
  const why = holding.kind === 'recorded' ? holding.how : whyFirst(holder, loser, ownNamespace);
  const what = holder.kind === 'cluster' ? 'cluster name' : 'name';
  return `the ${what} ${name} belongs to ${claimantText(holder)}, which ${why}`;
}

const holderOf = (holding: Holding | undefined): Claimant | null =>
  holding === undefined || holding.kind === 'undecided' ? null : holding.holder;

/** Why the recorded object still holds the name; null if it has released the name. */
function howRecorded(
  name: string,
  { kind, isElsewhere }: NameRecord,
  reading: ClusterReading | undefined,
  { clustersComplete }: NameQuestion,
): string | null {
  const how = `holds it by the record on Service ${name}`;
  // The record of a listener always counts: no cluster can use a listener's Service. If the listener is deleted, its
  // Service is deleted before the name is free.
  if (kind === 'listener') return how;
  if (isElsewhere) return `${how} and is served by instances with another --cluster-namespace`;
  if (reading === undefined) return clustersComplete ? null : `${how} and cannot be read now`;
  if (nameOf(reading) !== name) return clustersComplete ? null : how;
  // The clients of a cluster that is no longer proxied still use this Service, and its kubeconfig may point to it. While the Service
  // exists, no other object gets the name.
  return reading.kind === 'not-proxied' ? `${how} and is being withdrawn` : how;
}

/**
 * By name: the claimant that gets a released name at once. It must be in the namespace of the previous holder,
 * because that is the same tenant.
 */
function nextHolders(
  released: ReadonlyMap<string, NameRecord>,
  { clusters, lastKnown, ownNamespace }: NameQuestion,
): ReadonlyMap<string, Claimant> {
  const found = new Map<string, Claimant>();
  if (released.size === 0) return found;
  for (const reading of clusters) {
    const name = nameOf(reading);
    const record = released.get(name);
    if (record === undefined || reading.kind === 'not-proxied') continue;
    const claimant = clusterClaimant(reading, lastKnown);
    if (claimant.namespace !== namespaceOfKey(record.key)) continue;
    const rival = found.get(name);
    if (rival === undefined || byClaim(claimant, rival, ownNamespace) < 0) found.set(name, claimant);
  }
  return found;
}

/** Clients of the previous holder still use its Service. The Service and its record are removed before another object gets the name. */
const beingWithdrawn = (name: string, record: NameRecord): Holding => ({
  kind: 'recorded',
  holder: recordedClaimant(record, undefined, new Map()),
  how: `held it by the record on Service ${name}, which is being withdrawn`,
});

function recordedClaimant(
  { kind, key }: NameRecord,
  reading: ClusterReading | undefined,
  lastKnown: ReadonlyMap<string, ClusterFacts>,
): Claimant {
  if (reading !== undefined) return clusterClaimant(reading, lastKnown);
  return { ...listenerClaimant({ key, createdAtMs: Number.POSITIVE_INFINITY }, false), kind };
}

/**
 * At startup the clusters may be known before the Services. Until then, a name has no holder if a record could give it to another
 * object. A client that must retry is better than a client that reaches another tenant.
 */
function leaveUndecided(
  held: Map<string, Holding>,
  { asking, contested }: ClusterClaimants,
  { listeners, listenersComplete }: NameQuestion,
): void {
  for (const name of contested) held.set(name, UNDECIDED);
  for (const listener of listeners)
    for (const name of [plainName(listener), hashedName(listener)])
      if (asking.has(name)) held.set(name, UNDECIDED);
  if (listenersComplete) return;
  // A name that begins with the name of a cluster in another namespace may belong to a listener that has not been listed yet.
  for (const [name, { namespace }] of asking) {
    for (let end = name.indexOf('-'); end > 0; end = name.indexOf('-', end + 1)) {
      const cluster = asking.get(name.slice(0, end));
      if (cluster !== undefined && cluster.namespace !== namespace) held.set(name, UNDECIDED);
    }
  }
}

/**
 * By listener key: the name of its Service. An existing Service keeps its name. Shorter names are decided first: a listener's name begins
 * with the name of its cluster, and the holder of that name must be known.
 */
function takenNames(
  { listeners, records }: NameQuestion,
  order: (a: NamedListener, b: NamedListener) => number,
  take: (name: string, listener: NamedListener) => boolean,
): ReadonlyMap<string, string> {
  const services = new Map<string, string>();
  const asking = new Map<string, NamedListener[]>();
  const others: NamedListener[] = [];
  for (const listener of listeners) {
    const own = records.ofListeners.get(listener.key);
    const plain = plainName(listener);
    const existing = [plain, hashedName(listener)].find((name) => own?.has(name) === true);
    if (existing !== undefined) services.set(listener.key, existing);
    else if (!isClusterName(plain) || records.isTaken(plain)) others.push(listener);
    else if (asking.has(plain)) asking.get(plain)?.push(listener);
    else asking.set(plain, [listener]);
  }
  const shortFirst = [...asking].sort(([a], [b]) => a.length - b.length || byText(a, b));
  for (const [plain, claimants] of shortFirst) {
    for (const listener of claimants.sort(order)) {
      if (take(plain, listener)) services.set(listener.key, plain);
      else others.push(listener);
    }
  }
  for (const listener of others.sort((a, b) => byText(a.key, b.key))) {
    const hashed = hashedName(listener);
    if (take(hashed, listener)) services.set(listener.key, hashed);
  }
  return services;
}
