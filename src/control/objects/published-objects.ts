// Builds the objects that Isthmus keeps in Kubernetes in their exact desired form. Pure: every difference from the object in the API
// causes a write, so the result depends only on the input. Times are input too.
import type {
  V1EndpointSlice,
  V1Lease,
  V1ObjectMeta,
  V1OwnerReference,
  V1Service,
} from '@kubernetes/client-node';
import { leaseName, sliceName } from './instance-name.ts';
import { listenerMetadata } from './listener-labels.ts';
import {
  CLUSTER_NAMESPACE_ANNOTATION,
  DAEMONSET_ANNOTATION,
  HOST_ANNOTATION,
  INSTANCE_LABEL,
  LISTENER_SELECTOR_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NAME_HOLDER_ANNOTATION,
  NODE_LABEL,
  OWNER_TAG,
  PROCESS_ANNOTATION,
  PROXIED_CLUSTER_LABEL,
  PROXIED_SERVICE_LABEL,
  SERVER_CERTIFICATE_ANNOTATION,
  SERVICE_NAME_LABEL,
  TIMESTAMP_ANNOTATION,
} from './object-labels.ts';
import { appliedAnnotation, type Tags } from './resource-tags.ts';
import type { Wire } from './wire-object.ts';

export type ServiceObject = Wire<V1Service>;
export type EndpointSliceObject = Wire<V1EndpointSlice>;
export type LeaseObject = Wire<V1Lease>;

/**
 * How other instances see that the instance of a slice is alive. `timestamp`: old instances run at the same time, so each slice has
 * their labels and a fresh time. `lease`: slices lack the labels that an old instance looks for, so old instances never expire them. Each
 * slice is written once.
 */
export type LivenessMode = 'lease' | 'timestamp';

/** The OpenStackCluster that an object belongs to. */
export interface ClusterOwner {
  readonly apiVersion: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

const SERVICE_PORT = 6443;
/**
 * kube-proxy matches the port of a slice to the port of the Service by this name. A Service without a selector ignores its target ports.
 */
const PORT_NAME = 'https';
const LISTENER_PORT_NAME = 'listener';
export const LEASE_SECONDS = 30;
export const EVERYWHERE = '*';

export interface ServiceFacts {
  readonly cluster: string;
  readonly namespace: string;
  /** The namespace of the cluster. */
  readonly clusterNamespace?: string;
  readonly owner: ClusterOwner | null;
  /** Old instances reset the labels of a Service every 10 s. While they run, tags are only annotations. */
  readonly mode: LivenessMode;
  readonly tags: Tags;
  /**
   * `<namespace>/<name>` of the object that holds the name. Absent for a listener, which has its own annotation, and while the
   * holder is uncertain.
   */
  readonly holder?: string;
  /** Absent for the cluster itself. */
  readonly listener?: ListenerServiceFacts;
}

export interface ListenerServiceFacts {
  /** `<namespace>/<name>` of the AdditionalListener. */
  readonly key: string;
  readonly service: string;
  readonly port: number;
  readonly selector: string;
}

export function serviceOf(facts: ServiceFacts): ServiceObject {
  const { cluster, namespace, clusterNamespace, owner, mode, tags, holder, listener } = facts;
  const { labels, annotations } = taggedMetadata(tags, { [OWNER_TAG]: cluster });
  const listenerMeta =
    listener === undefined ? null : listenerMetadata({ ...listener, listener: listener.key });
  const port = listener?.port ?? SERVICE_PORT;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: listener?.service ?? cluster,
      namespace,
      labels:
        listenerMeta === null
          ? { ...(mode === 'lease' ? labels : {}), [PROXIED_SERVICE_LABEL]: 'true' }
          : // No PROXIED_SERVICE_LABEL: old instances would delete a listener's Service that has this label.
            { ...labels, ...listenerMeta.labels },
      annotations: {
        ...annotations,
        ...(clusterNamespace !== undefined && { [CLUSTER_NAMESPACE_ANNOTATION]: clusterNamespace }),
        ...(holder !== undefined && { [NAME_HOLDER_ANNOTATION]: holder }),
        ...listenerMeta?.annotations,
        ...(listener && { [LISTENER_SELECTOR_ANNOTATION]: listener.selector }),
      },
      ...ownerReferences(owner, namespace),
    },
    spec: {
      ports: [{ name: portName(listener), port, protocol: 'TCP', targetPort: port }],
      type: 'ClusterIP',
    },
  };
}

const portName = (listener: object | undefined): string =>
  listener === undefined ? PORT_NAME : LISTENER_PORT_NAME;

export interface EndpointSliceFacts {
  readonly cluster: string;
  readonly namespace: string;
  readonly owner: ClusterOwner | null;
  readonly instance: string;
  /** Another slice uses the plain name: see `SliceNameOptions`. */
  readonly disambiguate?: boolean;
  /** The address of this instance that clients of the Service reach. */
  readonly address: string;
  readonly family: 'IPv4' | 'IPv6';
  /** The port that this instance listens on. */
  readonly port: number;
  /** The name of the Kubernetes Node; null if there is none. */
  readonly nodeName: string | null;
  readonly mode: LivenessMode;
  /** Only for mode `timestamp`, as `formatTimestamp` writes it. */
  readonly timestamp: string | null;
  /**
   * This instance drains: kube-proxy sends clients here only if no other instance is ready. Never true for a backend that fails its checks.
   */
  readonly terminating: boolean;
  readonly tags: Tags;
  /** What the certificate of the API server contains; absent: unknown. */
  readonly certificate?: string;
  /** Absent for the cluster itself. */
  readonly listener?: { readonly key: string; readonly service: string };
}

export function endpointSliceOf(facts: EndpointSliceFacts): EndpointSliceObject {
  const { cluster, namespace, instance, timestamp, terminating, nodeName, listener } = facts;
  const listenerMeta =
    listener === undefined ? null : listenerMetadata({ ...listener, listener: listener.key });
  const service = listener?.service ?? cluster;
  // Old instances do not support listeners, so the slice of a listener never needs their labels.
  const mode = listenerMeta === null ? facts.mode : 'lease';
  if (mode === 'timestamp' && timestamp === null)
    throw new Error('a slice of mode timestamp needs a timestamp: old instances crash without it');
  const { labels, annotations } = taggedMetadata(facts.tags, {
    [OWNER_TAG]: cluster,
    [INSTANCE_LABEL]: instance,
  });
  const besideOldInstances = mode === 'timestamp';
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName(service, instance, { disambiguate: facts.disambiguate ?? false }),
      namespace,
      labels: {
        ...labels,
        [MANAGED_BY_LABEL]: MANAGED_BY,
        [SERVICE_NAME_LABEL]: service,
        ...(listenerMeta?.labels ?? { [PROXIED_CLUSTER_LABEL]: cluster }),
        ...(besideOldInstances ? { [NODE_LABEL]: instance, [PROXIED_SERVICE_LABEL]: 'true' } : {}),
      },
      annotations: {
        ...annotations,
        ...listenerMeta?.annotations,
        ...(facts.certificate !== undefined && { [SERVER_CERTIFICATE_ANNOTATION]: facts.certificate }),
        ...(besideOldInstances ? { [TIMESTAMP_ANNOTATION]: timestamp as string } : {}),
      },
      ...ownerReferences(facts.owner, namespace),
    },
    addressType: facts.family,
    endpoints: [
      {
        addresses: [facts.address],
        conditions: { ready: !terminating, serving: true, terminating },
        // The API server rejects a slice whose nodeName is not a valid Node name.
        ...(nodeName !== null && isNodeName(nodeName) ? { nodeName } : {}),
      },
    ],
    ports: [{ name: portName(listener), port: facts.port, protocol: 'TCP' }],
  };
}

export interface LeaseFacts {
  readonly instance: string;
  readonly namespace: string;
  /** `<instance>/<random>`. A successor process on the same host has the same instance name but another holder. */
  readonly holder: string;
  /** The boot id of the host; empty if unknown. */
  readonly host: string;
  /** The pid and the host name of the holder. */
  readonly process?: string;
  /** `<namespace>/<name>:<generation>` of the holder's DaemonSet; empty: none. */
  readonly daemonSet?: string;
  /** The namespace that the holder watches for clusters; null means all. */
  readonly clusterNamespace?: string | null;
  readonly durationSeconds?: number;
  readonly acquiredAtMs: number;
  readonly renewedAtMs: number;
  /** How often the Lease changed its holder. */
  readonly transitions: number;
  readonly tags: Tags;
}

export function leaseOf(facts: LeaseFacts): LeaseObject {
  const { labels, annotations } = taggedMetadata(facts.tags, { [INSTANCE_LABEL]: facts.instance });
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: leaseName(facts.instance),
      namespace: facts.namespace,
      labels,
      annotations: {
        ...annotations,
        ...(facts.host !== '' && { [HOST_ANNOTATION]: facts.host }),
        ...(facts.process !== undefined && { [PROCESS_ANNOTATION]: facts.process }),
        ...(facts.daemonSet !== undefined && { [DAEMONSET_ANNOTATION]: facts.daemonSet }),
        ...(facts.clusterNamespace !== undefined && {
          [CLUSTER_NAMESPACE_ANNOTATION]: facts.clusterNamespace ?? EVERYWHERE,
        }),
      },
    },
    spec: {
      holderIdentity: facts.holder,
      leaseDurationSeconds: facts.durationSeconds ?? LEASE_SECONDS,
      acquireTime: microTime(facts.acquiredAtMs),
      renewTime: microTime(facts.renewedAtMs),
      leaseTransitions: facts.transitions,
    },
  };
}

/** Tags and ownership labels, as labels and as annotations, plus the list of applied tags. */
function taggedMetadata(tags: Tags, ownership: Tags): { readonly labels: Tags; readonly annotations: Tags } {
  const annotations = { ...tags, ...appliedAnnotation(tags), ...ownership };
  return { labels: { ...tags, ...ownership }, annotations };
}

/** A MicroTime has six decimal digits. The API server rejects the three of `toISOString`. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** The garbage collector treats an owner in another namespace as deleted, and deletes the object. */
function ownerReferences(
  owner: ClusterOwner | null,
  namespace: string,
): Pick<Wire<V1ObjectMeta>, 'ownerReferences'> {
  if (owner === null || owner.namespace !== namespace) return {};
  const reference: V1OwnerReference = {
    apiVersion: owner.apiVersion,
    kind: 'OpenStackCluster',
    name: owner.name,
    uid: owner.uid,
    blockOwnerDeletion: false,
  };
  return { ownerReferences: [reference] };
}

const isNodeName = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/.test(text);
