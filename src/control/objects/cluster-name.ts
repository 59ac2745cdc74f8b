// The valid names of a cluster, and the server names derived from one.

export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name';

/** The Service of a cluster has the cluster's name, which must be a DNS-1035 label. Cluster API allows more (`a.b`, `1a`). */
export function isClusterName(text: string): boolean {
  return text.length <= 63 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(text);
}

/** The subject alternative names that clients use. The first one appears in kubeconfigs. */
export function serverNamesOf(cluster: string, namespace: string): readonly string[] {
  const qualified = `${cluster}.${namespace}`.toLowerCase();
  return [qualified, cluster, `${qualified}.svc`, `${qualified}.svc.cluster.local`];
}
