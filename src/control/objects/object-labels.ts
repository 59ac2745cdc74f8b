// The labels and annotations of the objects that we keep: ours, Kubernetes' own, and those of the program we replace, whose
// instances may still run beside us.

/** On everything that we create for a cluster, as label and as annotation: its value is the cluster's name. */
export const OWNER_TAG = 'isthmus.dev/resource-owner';
/** On what belongs to one instance: its slices and its Lease. */
export const INSTANCE_LABEL = 'isthmus.dev/instance';

/**
 * On a Service: where its cluster is. Instances of another `--cluster-namespace` see no such cluster, and leave it alone. On a Lease: where
 * its holder looks for clusters (`*`: everywhere): those that look in the same place share the work.
 */
export const CLUSTER_NAMESPACE_ANNOTATION = 'isthmus.dev/cluster-namespace';

/**
 * On the Service of a cluster: `<namespace>/<name>` of the OpenStackCluster that has its name. Not the uid, which a restore or a move
 * changes. No other object takes the name over while that one has it.
 */
export const NAME_HOLDER_ANNOTATION = 'isthmus.dev/name-holder';

/** On a Lease: the boot id of its holder's host, so that two hosts of one name do not take it from each other. */
export const HOST_ANNOTATION = 'isthmus.dev/host';

/** On an OpenStackCluster, by its users: tags for everything of that cluster. */
export const TAGS_ANNOTATION = 'isthmus.dev/resource-tags';
/** On what we tagged: the keys of the tags that we put there, so that only those are changed and taken away. */
export const APPLIED_TAGS = 'isthmus.dev/applied-tags';

/** On what is made for an additional listener. As label the name of its Service, as annotation `<namespace>/<name>` of the listener. */
export const LISTENER_SERVICE_LABEL = 'isthmus.dev/listener-service';
export const LISTENER_ANNOTATION = 'isthmus.dev/listener';
/** On its Service: of which object, with which selector, it was made. So an edit of what must not change is noticed. */
export const LISTENER_SELECTOR_ANNOTATION = 'isthmus.dev/listener-selector';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
/** With a value of our own the controllers that mirror or make slices leave ours alone. */
export const MANAGED_BY = 'isthmus.dev';

export const PROXIED_SERVICE_LABEL = 'magnum-cluster-api.vexxhost.com/proxied-service';
export const PROXIED_CLUSTER_LABEL = 'magnum-cluster-api.vexxhost.com/proxied-cluster';
export const NODE_LABEL = 'magnum-cluster-api.vexxhost.com/node';
/** ISO 8601 with `+00:00`: an old instance cannot read `Z`, and deletes what is older than 30 s. */
export const TIMESTAMP_ANNOTATION = 'magnum-cluster-api.vexxhost.com/timestamp';
