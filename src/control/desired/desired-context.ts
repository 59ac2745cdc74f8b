// The settings of the desired state, and the input that the decisions about all clusters and listeners share in one turn.
import type { TurnCache } from '../objects/turn-cache.ts';
import type { MachineIndex } from '../sources/machine.ts';
import type { NetnsIndex } from '../world/netns-index.ts';
import type { World } from '../world/world.ts';
import type { NameClaims } from './name-claims.ts';

export interface DesiredSettings {
  /** The proxy's Kubernetes namespace: it contains the Services and is part of server names. */
  readonly namespace: string;
  /** The cluster for clients without a server name. */
  readonly defaultCluster: string | null;
  /** The Kubernetes namespace that is searched for clusters; null or absent: all namespaces. */
  readonly clusterNamespace?: string | null;
  /** Netns name prefixes that the operator adds to those of Neutron's agents; absent: none. */
  readonly netnsPrefixes?: readonly string[];
}

export interface DesiredContext {
  readonly world: World;
  readonly settings: DesiredSettings;
  readonly index: NetnsIndex;
  readonly claims: NameClaims;
  readonly controlPlanes: MachineIndex;
  readonly cache: TurnCache;
}
