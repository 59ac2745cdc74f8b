// Which names a cluster can have, and the server names that follow from one.

export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name';

/** A cluster's Service carries its name, and a Service's name is a DNS-1035 label; Cluster API itself allows more (`a.b`, `1a`). */
export function isClusterName(text: string): boolean {
  return text.length <= 63 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(text);
}

/** The subject alternative names that clients use; the first is the one in kubeconfigs. */
export function serverNamesOf(cluster: string, namespace: string): readonly string[] {
  const qualified = `${cluster}.${namespace}`.toLowerCase();
  return [qualified, cluster, `${qualified}.svc`, `${qualified}.svc.cluster.local`];
}
