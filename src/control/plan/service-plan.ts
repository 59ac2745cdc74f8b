// How the Service of one cluster has to change. Ours is kept as it should be; upstream's own is used, and adopted once no
// instance of upstream is seen; anybody else's is never touched, and then nothing of ours is attached to it. Pure.
import { isDeepStrictEqual } from 'node:util';
import { type Publication, type PublicationStatus, serviceNameOf } from '../desired/publication.ts';
import { type LivenessMode, type ServiceObject, serviceOf } from '../objects/cluster-shape.ts';
import { listenerMarks } from '../objects/listener-marks.ts';
import { metadataPatch } from '../objects/metadata-patch.ts';
import { foreignNamespace, type Ownership, ownershipOf } from '../objects/ownership.ts';
import type { ClusterObject } from '../sources/cluster-source.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { foreignTagProblem, tagsOf } from './object-tags.ts';
import type { Action } from './plan.ts';

export interface ServiceSettings {
  /** Of Services. */
  readonly namespace: string;
  /** The one that clusters are looked for in; null or absent: in all. */
  readonly clusterNamespace?: string | null;
}

export interface ServicePlan {
  readonly state: PublicationStatus['service'];
  /** A slice may name it; `later`: one that is there does no harm until then. Never one that is somebody else's. */
  readonly usable: 'yes' | 'later' | 'never';
  readonly action: Action | null;
  readonly problem: string | null;
}

export function servicePlan(
  publication: Publication,
  kube: KubeWorld,
  { namespace, clusterNamespace: scope = null }: ServiceSettings,
): ServicePlan {
  const { cluster, namespace: clusterNamespace, object, want, near, holder, listener } = publication;
  const name = serviceNameOf(publication);
  const found = kube.services.get(name);
  const { takesPart } = kube.self.participation;
  const wanted = serviceOf({
    cluster,
    namespace,
    clusterNamespace,
    owner: ownerOf(object, clusterNamespace),
    mode: kube.peers.mode,
    // All instances write this one: what only one of them is told to add would make them fight.
    tags: tagsOf(publication, found?.metadata, {}),
    ...(holder !== undefined && { holder }),
    ...(listener && { listener }),
  });
  const target = { resource: 'services', namespace, name, cluster } as const;
  if (found === undefined) {
    const create = want !== 'leaving' && near && takesPart;
    return {
      state: 'absent',
      usable: 'later',
      action: create ? { kind: 'create', ...target, object: wanted, why: whyCreated(publication) } : null,
      problem: null,
    };
  }
  const ownership = ownershipOf(found);
  const state = ownership.kind;
  const elsewhere = foreignNamespace(found, scope);
  const why =
    elsewhere === null
      ? notOurs(publication, found, ownership)
      : `it is that of a cluster in namespace ${elsewhere}, which instances with another --cluster-namespace serve`;
  if (why !== null) {
    return {
      state: 'foreign',
      usable: 'never',
      action: null,
      problem:
        `Service ${namespace}/${name} is not ours (${why}), so nothing is published under that name: ` +
        'rename or remove it',
    };
  }
  if (found.metadata?.deletionTimestamp !== undefined) {
    return {
      state,
      usable: 'later',
      action: null,
      problem: `Service ${namespace}/${name} is being deleted`,
    };
  }
  // What is leaving is taken back as it is, and what was never ours is adopted by those who use it.
  const patch =
    want === 'leaving' || (state === 'upstream' && !takesPart)
      ? null
      : servicePatch(found, wanted, kube.peers.mode);
  const resourceVersion = found.metadata?.resourceVersion ?? '';
  const reason = state === 'upstream' ? 'adopt the Service of magnum-cluster-api-proxy' : 'it was changed';
  return {
    state,
    usable: 'yes',
    action: patch === null ? null : { kind: 'patch', ...target, patch, resourceVersion, why: reason },
    problem: foreignTagProblem(`Service ${namespace}/${name}`, found.metadata, wanted.metadata),
  };
}

const whyCreated = ({ listener }: Publication): string =>
  listener === undefined ? 'the cluster is proxied' : `AdditionalListener ${listener.key}`;

/** Why it cannot be used for this publication; null where it can. */
function notOurs(
  { cluster, listener }: Publication,
  found: ServiceObject,
  ownership: Ownership,
): string | null {
  if (ownership.kind === 'foreign') return ownership.reason;
  const marks = listenerMarks(found.metadata);
  if (ownership.kind === 'upstream')
    return listener === undefined ? null : 'it is that of a cluster, by magnum-cluster-api-proxy';
  if (ownership.cluster !== cluster) return `its owner tag says ${ownership.cluster}`;
  if (marks?.listener === listener?.key) return null;
  return marks === null
    ? "it has the tag of this cluster, but not the mark of a listener's"
    : `it belongs to AdditionalListener ${marks.listener}`;
}

export function ownerOf(object: ClusterObject | null, namespace: string) {
  // Of one that is being deleted the garbage collector may take away what it owns before it is gone, and again and again.
  return object === null || object.uid === null || object.deleting
    ? null
    : { apiVersion: object.apiVersion, name: object.name, namespace, uid: object.uid };
}

/** null when nothing of what we decide differs. What others added (labels, a cluster IP) is theirs. */
function servicePatch(found: ServiceObject, wanted: ServiceObject, mode: LivenessMode): object | null {
  const metadata = metadataPatch(found.metadata, wanted.metadata);
  const ports = (found.spec?.ports ?? []).map(({ name, port, protocol, targetPort }) => ({
    name,
    port,
    protocol,
    // Without a selector it means nothing, and old instances write their own into it.
    targetPort: mode === 'timestamp' ? wanted.spec?.ports?.[0]?.targetPort : targetPort,
  }));
  const samePorts = isDeepStrictEqual(ports, wanted.spec?.ports);
  const selectorless = Object.keys(found.spec?.selector ?? {}).length === 0;
  if (metadata === null && samePorts && selectorless) return null;
  return {
    ...(metadata === null ? {} : { metadata }),
    ...(samePorts && selectorless
      ? {}
      : { spec: { ports: wanted.spec?.ports, ...(selectorless ? {} : { selector: null }) } }),
  };
}
