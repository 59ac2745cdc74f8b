// How the Service of one cluster has to change. Ours is kept as it should be; upstream's own is used, and adopted once no
// instance of upstream is seen; anybody else's is never touched, and then nothing of ours is attached to it. Pure.
import { isDeepStrictEqual } from 'node:util';
import { type LivenessMode, type ServiceObject, serviceOf } from '../cluster-shape.ts';
import type { ClusterObject } from '../cluster-source.ts';
import { ownershipOf } from '../ownership.ts';
import type { KubeWorld } from './kube-world.ts';
import { metadataPatch } from './metadata-patch.ts';
import { foreignTagProblem, tagsOf } from './object-tags.ts';
import type { Action, PublicationStatus } from './plan.ts';
import type { Publication } from './publication.ts';

export interface ServicePlan {
  readonly state: PublicationStatus['service'];
  /** A slice may name it; `later`: one that is there does no harm until then. Never one that is somebody else's. */
  readonly usable: 'yes' | 'later' | 'never';
  readonly action: Action | null;
  readonly problem: string | null;
}

export function servicePlan(publication: Publication, kube: KubeWorld, namespace: string): ServicePlan {
  const { cluster, namespace: clusterNamespace, object, want, near } = publication;
  const found = kube.services.get(cluster);
  const { takesPart } = kube.self.participation;
  const wanted = serviceOf({
    cluster,
    namespace,
    owner: ownerOf(object, clusterNamespace),
    mode: kube.peers.mode,
    // All instances write this one: what only one of them is told to add would make them fight.
    tags: tagsOf(publication, found?.metadata, {}),
  });
  const target = { resource: 'services', namespace, name: cluster, cluster } as const;
  if (found === undefined) {
    const create = want !== 'leaving' && near && takesPart;
    return {
      state: 'absent',
      usable: 'later',
      action: create ? { kind: 'create', ...target, object: wanted, why: 'the cluster is proxied' } : null,
      problem: null,
    };
  }
  const ownership = ownershipOf(found);
  const state = ownership.kind;
  if (state === 'foreign' || (state === 'ours' && ownership.cluster !== cluster)) {
    const why =
      state === 'foreign'
        ? ownership.reason
        : `its owner tag says ${ownership.kind === 'ours' ? ownership.cluster : ''}`;
    return {
      state: 'foreign',
      usable: 'never',
      action: null,
      problem:
        `Service ${namespace}/${cluster} is not ours (${why}), so nothing is published under that name: ` +
        'rename or remove it',
    };
  }
  if (found.metadata?.deletionTimestamp !== undefined) {
    return {
      state,
      usable: 'later',
      action: null,
      problem: `Service ${namespace}/${cluster} is being deleted`,
    };
  }
  // What is leaving is taken back as it is, and what was never ours is adopted by those who use it.
  const patch =
    want === 'leaving' || (state === 'upstream' && !takesPart)
      ? null
      : servicePatch(found, wanted, kube.peers.mode);
  const resourceVersion = found.metadata?.resourceVersion ?? '';
  const why = state === 'upstream' ? 'adopt the Service of magnum-cluster-api-proxy' : 'it was changed';
  return {
    state,
    usable: 'yes',
    action: patch === null ? null : { kind: 'patch', ...target, patch, resourceVersion, why },
    problem: foreignTagProblem(`Service ${namespace}/${cluster}`, found.metadata, wanted.metadata),
  };
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
