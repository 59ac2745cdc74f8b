// The field paths of each API version of OpenStackCluster. Checked field by field against the CRDs of CAPO 0.9, 0.12
// and main (August 2026). A table is enough, because the versions differ only in names.

export const OPENSTACK_CLUSTER_GROUP = 'infrastructure.cluster.x-k8s.io';
export const OPENSTACK_CLUSTER_KIND = 'OpenStackCluster';

export interface OpenStackClusterLayout {
  readonly floatingIp: {
    readonly path: string;
    /** The value of the flag that means "no floating IP". v1beta2 inverts the flag. In all versions, an absent flag means a floating IP. */
    readonly isolatedWhen: boolean;
  };
  /** The load balancer in status. Fields below it: `internalIP` and, since v1beta1, `loadBalancerNetwork.id`. */
  readonly loadBalancerStatus: string;
  /** The load balancer in spec. Fields below it: `enabled` and, since v1beta1, `network.id`. */
  readonly loadBalancerSpec: string;
  readonly fixedIp: string;
  readonly port: string;
}

const V1ALPHA7: OpenStackClusterLayout = {
  floatingIp: { path: 'spec.disableAPIServerFloatingIP', isolatedWhen: true },
  loadBalancerStatus: 'status.apiServerLoadBalancer',
  loadBalancerSpec: 'spec.apiServerLoadBalancer',
  fixedIp: 'spec.apiServerFixedIP',
  port: 'spec.apiServerPort',
};

const LAYOUTS: ReadonlyMap<string, OpenStackClusterLayout> = new Map([
  ['v1alpha6', { ...V1ALPHA7, loadBalancerStatus: 'status.network.apiServerLoadBalancer' }],
  ['v1alpha7', V1ALPHA7],
  ['v1beta1', V1ALPHA7],
  [
    'v1beta2',
    {
      floatingIp: { path: 'spec.apiServer.enableFloatingIP', isolatedWhen: false },
      loadBalancerStatus: 'status.apiServerManagedLoadBalancer',
      loadBalancerSpec: 'spec.apiServer.managedLoadBalancer',
      fixedIp: 'spec.apiServer.fixedIP',
      port: 'spec.apiServer.port',
    },
  ],
]);

export const KNOWN_VERSIONS: readonly string[] = [...LAYOUTS.keys()];

export function openStackClusterLayout(apiVersion: string): OpenStackClusterLayout | null {
  const [group, version = ''] = apiVersion.split('/', 2);
  return group === OPENSTACK_CLUSTER_GROUP ? (LAYOUTS.get(version) ?? null) : null;
}

/** True for an OpenStackCluster of any version. */
export function isOpenStackCluster(apiVersion: unknown, kind: unknown): boolean {
  return (
    kind === OPENSTACK_CLUSTER_KIND &&
    typeof apiVersion === 'string' &&
    apiVersion.startsWith(`${OPENSTACK_CLUSTER_GROUP}/`)
  );
}
