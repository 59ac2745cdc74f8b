// Reads OpenStackClusters from the Kubernetes API in the version that the server prefers. While the API is unreachable it keeps the
// last readings and reports a problem. An invalid object affects only its own reading.

import type { KubeClient } from '../../kube/kube-client.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { servedPath, servedVersion } from '../../kube/served-version.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import type { ReflectorSnapshot } from '../../kube/watch/reflector-snapshot.ts';
import type { Problem } from '../objects/problem.ts';
import { listCheck, type ReadyCheck } from '../objects/ready-check.ts';
import { byText } from '../objects/text-order.ts';
import { keyOf } from './cluster-reading.ts';
import type { ClusterReading, ClusterSource, ReadingSettings, SourceSnapshot } from './cluster-source.ts';
import { readOpenStackCluster } from './openstack-cluster.ts';
import {
  KNOWN_VERSIONS,
  OPENSTACK_CLUSTER_GROUP,
  OPENSTACK_CLUSTER_KIND,
} from './openstack-cluster-layout.ts';

export interface KubeSourceOptions {
  readonly client: KubeClient;
  /** null means all namespaces. */
  readonly namespace: string | null;
  readonly settings: ReadingSettings;
}

const RESOURCE = 'openstackclusters';
/** Newest first. Used only if this program cannot read the version that the server prefers. */
const READABLE = [...KNOWN_VERSIONS].reverse();

export class KubeSource implements ClusterSource {
  readonly #options: KubeSourceOptions;
  readonly #reflector: Reflector<ClusterReading>;
  #onChange: () => void = () => {};
  #version: string | null = null;
  #from: ReflectorSnapshot<ClusterReading> | null = null;
  #snapshot: SourceSnapshot = Object.freeze({ complete: false, clusters: [], problems: [] });

  constructor(options: KubeSourceOptions) {
    this.#options = options;
    this.#reflector = new Reflector<ClusterReading>({
      client: options.client,
      path: () => this.#path(),
      project: (object) => this.#read(object),
      onChange: () => this.#onChange(),
    });
  }

  /** Resolves after the first list succeeded or failed: the start does not depend on the API. */
  async start(onChange: () => void): Promise<void> {
    this.#onChange = onChange;
    this.#reflector.start();
    await this.#reflector.ready();
  }

  snapshot(): SourceSnapshot {
    const now = this.#reflector.snapshot();
    if (now !== this.#from) {
      this.#from = now;
      this.#snapshot = this.#sourceSnapshot(now);
    }
    return this.#snapshot;
  }

  readyChecks(): readonly ReadyCheck[] {
    return [listCheck(RESOURCE, this.#reflector.snapshot())];
  }

  /** Since when the readings are stale (monotonic); null while the watch works. */
  get staleSinceMs(): number | null {
    return this.#reflector.snapshot().staleSinceMs;
  }

  stop(): Promise<void> {
    return this.#reflector.stop();
  }

  async #path(): Promise<string> {
    const { client, namespace } = this.#options;
    const wanted = { group: OPENSTACK_CLUSTER_GROUP, resource: RESOURCE };
    const found = await servedVersion({ client, ...wanted, known: READABLE });
    if (found.kind === 'served') this.#version = found.version;
    return servedPath(found, { ...wanted, known: KNOWN_VERSIONS }, namespace);
  }

  #read(object: KubeObject): ClusterReading {
    // Items of a list may omit apiVersion and kind.
    const apiVersion = object.apiVersion ?? `${OPENSTACK_CLUSTER_GROUP}/${this.#version}`;
    const { namespace, name } = object.metadata;
    const origin = `OpenStackCluster ${namespace}/${name}`;
    const whole = { ...object, apiVersion, kind: object.kind ?? OPENSTACK_CLUSTER_KIND };
    return readOpenStackCluster(whole, origin, this.#options.settings);
  }

  #sourceSnapshot({
    synced,
    staleSinceMs,
    problem,
    items,
    rejected,
  }: ReflectorSnapshot<ClusterReading>): SourceSnapshot {
    const problems: Problem[] = [...rejected].map(([key, reason]) => ({
      origin: `OpenStackCluster ${key}`,
      reason,
    }));
    if (problem !== null) problems.push({ origin: 'watch of openstackclusters', reason: problem.message });
    return Object.freeze({
      // A rejected object may be an existing cluster.
      complete: synced && staleSinceMs === null && rejected.size === 0,
      clusters: Object.freeze([...items.values()].sort((a, b) => byText(keyOf(a), keyOf(b)))),
      problems: Object.freeze(problems),
    });
  }
}
