// Plans the Service of one publication. A Service of Isthmus is kept up to date. A Service of upstream (magnum-cluster-api-proxy) is used,
// and adopted once no upstream instance is live. Any other Service is never changed, and no slice of Isthmus refers to it. Pure.
import { isEqual } from '../../routing/changes.ts';
import { type Publication, serviceNameOf } from '../desired/publication.ts';
import { listenerLabels } from '../objects/listener-labels.ts';
import { metadataPatch } from '../objects/metadata-patch.ts';
import { foreignNamespace, type Ownership, ownershipOf } from '../objects/ownership.ts';
import { type LivenessMode, type ServiceObject, serviceOf } from '../objects/published-objects.ts';
import type { ClusterObject } from '../sources/cluster-source.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { foreignTagProblem, tagsOf } from './object-tags.ts';
import type { Action, PublicationStatus } from './plan.ts';

export interface ServiceSettings {
  /** The namespace of the Services. */
  readonly namespace: string;
  /** The only namespace with clusters; null or absent: all namespaces. */
  readonly clusterNamespace?: string | null;
}

export interface ServicePlan {
  readonly state: PublicationStatus['service'];
  /** `yes`: a slice may refer to it. `later`: not yet, but an existing slice stays. `never`: it belongs to another owner. */
  readonly usable: 'yes' | 'later' | 'never';
  readonly action: Action | null;
  readonly problem: string | null;
}

interface ServiceQuestion {
  readonly publication: Publication;
  readonly kube: KubeWorld;
  readonly settings: ServiceSettings;
  /** Name of the Service. */
  readonly name: string;
}

/** The first rule that applies decides. */
export function servicePlan(
  publication: Publication,
  kube: KubeWorld,
  settings: ServiceSettings,
): ServicePlan {
  const name = serviceNameOf(publication);
  const question = { publication, kube, settings, name };
  const found = kube.services.get(name);
  if (found === undefined) return absentService(question);
  const ownership = ownershipOf(found);
  const why = whyForeign(found, ownership, question);
  if (why !== null) return foreignService(why, question);
  const { kind: state } = ownership;
  return found.metadata?.deletionTimestamp === undefined
    ? usableService(found, state, question)
    : deletedService(state, question);
}

function absentService(question: ServiceQuestion): ServicePlan {
  const { publication, kube } = question;
  const create = publication.want !== 'leaving' && publication.hasNetns && kube.self.participation.takesPart;
  const object = wantedService(undefined, question);
  return {
    state: 'absent',
    usable: 'later',
    action: create ? { kind: 'create', ...targetOf(question), object, why: whyCreated(publication) } : null,
    problem: null,
  };
}

const foreignService = (why: string, question: ServiceQuestion): ServicePlan => ({
  state: 'foreign',
  usable: 'never',
  action: null,
  problem:
    `${shownService(question)} is not ours (${why}), so nothing is published under that name: ` +
    'rename or remove it',
});

const deletedService = (state: ServicePlan['state'], question: ServiceQuestion): ServicePlan => ({
  state,
  usable: 'later',
  action: null,
  problem: `${shownService(question)} is being deleted`,
});

/** Ours, or an upstream Service of our cluster. */
function usableService(
  found: ServiceObject,
  state: ServicePlan['state'],
  question: ServiceQuestion,
): ServicePlan {
  const { publication, kube } = question;
  const isAdoption = state === 'upstream';
  // The Service of a cluster that is no longer proxied is not updated before its deletion. Only instances that take
  // part adopt an upstream Service.
  const staysAsIs = publication.want === 'leaving' || (isAdoption && !kube.self.participation.takesPart);
  const wanted = wantedService(found, question);
  const patch = staysAsIs ? null : servicePatch(found, wanted, kube.peers.mode);
  const resourceVersion = found.metadata?.resourceVersion ?? '';
  const why = isAdoption ? 'adopt the Service of magnum-cluster-api-proxy' : 'it was changed';
  return {
    state,
    usable: 'yes',
    action: patch === null ? null : { kind: 'patch', ...targetOf(question), patch, resourceVersion, why },
    problem: foreignTagProblem(shownService(question), found.metadata, wanted.metadata),
  };
}

const targetOf = ({ publication, settings, name }: ServiceQuestion) =>
  ({
    resource: 'services',
    namespace: settings.namespace,
    name,
    cluster: publication.cluster,
  }) as const;

const shownService = ({ settings, name }: ServiceQuestion): string => `Service ${settings.namespace}/${name}`;

/** While the tags of the cluster are invalid, the Service keeps those that `found` has. */
function wantedService(
  found: ServiceObject | undefined,
  { publication, kube, settings: { namespace } }: ServiceQuestion,
): ServiceObject {
  const { cluster, namespace: clusterNamespace, object, holder, listener } = publication;
  return serviceOf({
    cluster,
    namespace,
    clusterNamespace,
    owner: ownerOf(object, clusterNamespace),
    mode: kube.peers.mode,
    // All instances write the Service, so tags of a single instance would make them overwrite each other.
    tags: tagsOf(publication, found?.metadata, {}),
    ...(holder !== undefined && { holder }),
    ...(listener && { listener }),
  });
}

const whyCreated = ({ listener }: Publication): string =>
  listener === undefined ? 'the cluster is proxied' : `AdditionalListener ${listener.key}`;

/** Why this publication cannot use the Service; null when it can. */
function whyForeign(
  found: ServiceObject,
  ownership: Ownership,
  { publication, settings: { clusterNamespace = null } }: ServiceQuestion,
): string | null {
  const elsewhere = foreignNamespace(found, clusterNamespace);
  return elsewhere === null
    ? notOurs(publication, found, ownership)
    : `it belongs to a cluster in namespace ${elsewhere}, which instances with another --cluster-namespace serve`;
}

function notOurs(
  { cluster, listener }: Publication,
  found: ServiceObject,
  ownership: Ownership,
): string | null {
  if (ownership.kind === 'foreign') return ownership.reason;
  const labels = listenerLabels(found.metadata);
  if (ownership.kind === 'upstream')
    return listener === undefined ? null : 'it belongs to a cluster of magnum-cluster-api-proxy';
  if (ownership.cluster !== cluster) return `its owner tag says ${ownership.cluster}`;
  if (labels?.listener === listener?.key) return null;
  return labels === null
    ? 'it has the tag of this cluster, but not the label of a listener'
    : `it belongs to AdditionalListener ${labels.listener}`;
}

export function ownerOf(object: ClusterObject | null, namespace: string) {
  // An owner that is being deleted is not referenced: the garbage collector could delete the dependents before the owner is gone,
  // again and again.
  return object === null || object.uid === null || object.deleting
    ? null
    : { apiVersion: object.apiVersion, name: object.name, namespace, uid: object.uid };
}

/** The patch that restores our fields; null if they match. Fields of other writers (labels, a cluster IP) stay. */
function servicePatch(found: ServiceObject, wanted: ServiceObject, mode: LivenessMode): object | null {
  const metadata = metadataPatch(found.metadata, wanted.metadata);
  const ports = (found.spec?.ports ?? []).map(({ name, port, protocol, targetPort }) => ({
    name,
    port,
    protocol,
    // Without a selector, targetPort has no effect, and magnum-cluster-api-proxy writes its own value.
    targetPort: mode === 'timestamp' ? wanted.spec?.ports?.[0]?.targetPort : targetPort,
  }));
  const samePorts = isEqual(ports, wanted.spec?.ports);
  const selectorless = Object.keys(found.spec?.selector ?? {}).length === 0;
  if (metadata === null && samePorts && selectorless) return null;
  return {
    ...(metadata === null ? {} : { metadata }),
    ...(samePorts && selectorless
      ? {}
      : { spec: { ports: wanted.spec?.ports, ...(selectorless ? {} : { selector: null }) } }),
  };
}
