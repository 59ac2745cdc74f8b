// The labels and annotations of Isthmus, Kubernetes, Cluster API and magnum-cluster-api-proxy, which Isthmus replaces.
// "Old instances" are instances of magnum-cluster-api-proxy. They may run beside Isthmus.

/** On every object for a cluster, as label and as annotation. The value is the name of the cluster. */
export const OWNER_TAG = 'isthmus.dev/resource-owner';
/** On the objects of one instance: its slices and its Lease. */
export const INSTANCE_LABEL = 'isthmus.dev/instance';

/**
 * On a Service: the namespace of its cluster. An instance with another `--cluster-namespace` cannot see that cluster, so it does not change
 * the Service. On a Lease: the namespace that its holder watches (`*` means all). Instances with equal values divide the work.
 */
export const CLUSTER_NAMESPACE_ANNOTATION = 'isthmus.dev/cluster-namespace';

/**
 * On the Service of a cluster: `<namespace>/<name>` of the OpenStackCluster that holds the name. No other object takes over the name
 * while the holder has it. It is not the uid, because a restore or a move changes the uid.
 */
export const NAME_HOLDER_ANNOTATION = 'isthmus.dev/name-holder';

/** On a slice: what its instance read from the certificate of the API server (`certificate-record.ts`). */
export const SERVER_CERTIFICATE_ANNOTATION = 'isthmus.dev/server-certificate';

/** On a Lease: the boot id of the holder's host. Two hosts with the same name must not take the Lease from each other. */
export const HOST_ANNOTATION = 'isthmus.dev/host';
/** On a Lease: the holder's pid and host name, for operators. A Lease without it belongs to an older release. */
export const PROCESS_ANNOTATION = 'isthmus.dev/process';
/** On a Lease: `<namespace>/<name>:<generation>` of the holder's DaemonSet; empty if the holder is not in one. */
export const DAEMONSET_ANNOTATION = 'isthmus.dev/daemonset';

/** On an OpenStackCluster, set by users: tags for all objects of that cluster. */
export const TAGS_ANNOTATION = 'isthmus.dev/resource-tags';
/** On a tagged object: the keys of the tags that Isthmus set. Isthmus changes and removes only those. */
export const APPLIED_TAGS = 'isthmus.dev/applied-tags';

/** On the objects of an additional listener: the label is the name of its Service, the annotation `<namespace>/<name>` of the listener. */
export const LISTENER_SERVICE_LABEL = 'isthmus.dev/listener-service';
export const LISTENER_ANNOTATION = 'isthmus.dev/listener';
/** On the Service of a listener: the object and the selector that it was created from. Shows an edit of an immutable field. */
export const LISTENER_SELECTOR_ANNOTATION = 'isthmus.dev/listener-selector';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
/** The Kubernetes controllers that create or mirror slices ignore slices with this value. */
export const MANAGED_BY = 'isthmus.dev';

/** On the objects of a cluster in Cluster API. The value is the name of the cluster. */
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name';
/** On each Machine of a control plane, with an empty value. */
export const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane';

export const PROXIED_SERVICE_LABEL = 'magnum-cluster-api.vexxhost.com/proxied-service';
export const PROXIED_CLUSTER_LABEL = 'magnum-cluster-api.vexxhost.com/proxied-cluster';
export const NODE_LABEL = 'magnum-cluster-api.vexxhost.com/node';
/** ISO 8601 with `+00:00`. An old instance cannot parse `Z`, and it deletes slices with a time older than 30 s. */
export const TIMESTAMP_ANNOTATION = 'magnum-cluster-api.vexxhost.com/timestamp';
