// A small in-memory API for tests. It carries out the actions of plans as the real API does, preconditions included, and
// returns the worlds that instances see.

import { isDeepStrictEqual } from 'node:util';
import type { DesiredState } from '../../../src/control/desired/desired-state.ts';
import type { Publication } from '../../../src/control/desired/publication.ts';
import type { Peers, Self } from '../../../src/control/instance/instance-state.ts';
import { EVERY_NODE } from '../../../src/control/instance/node-participation.ts';
import type { KubeconfigFinding, KubeconfigSecret } from '../../../src/control/objects/observed-objects.ts';
import type { EndpointSliceObject, ServiceObject } from '../../../src/control/objects/published-objects.ts';
import { sliceIndex } from '../../../src/control/objects/slice-index.ts';
import { TurnCache } from '../../../src/control/objects/turn-cache.ts';
import type { Action } from '../../../src/control/plan/plan.ts';
import type { KubeWorld } from '../../../src/control/world/kube-world.ts';
import { PersistentMap } from '../../../src/kube/persistent-map.ts';
import { desiredFor, worldFor } from './listeners.ts';

export const NAMESPACE = 'magnum-system';
export const SETTINGS = {
  namespace: NAMESPACE,
  propagationWaitMs: 5000,
  allowMassDelete: false,
  tags: {},
} as const;

interface StoredSecret extends KubeconfigSecret {
  readonly server: string | null;
  readonly tlsServerName: string | null;
}

/** The fields that an action writes to a Secret, and their marks. */
function writtenFields({ server, tlsServerName, annotate }: Extract<Action, { kind: 'kubeconfig' }>) {
  const marks = annotate ? { server, tlsServerName } : { server: null, tlsServerName: null };
  return { server, tlsServerName, recordedServer: marks.server, recordedTlsName: marks.tlsServerName };
}

export class ModelApi {
  readonly services = new Map<string, ServiceObject>();
  readonly slices = new Map<string, EndpointSliceObject>();
  readonly secrets = new Map<string, StoredSecret>();
  readonly findings = new Map<string, KubeconfigFinding>();
  nowMs = 1_000_000;
  writes = 0;
  readonly #cache = new TurnCache();
  #version = 0;

  put(kind: 'services' | 'slices', object: ServiceObject | EndpointSliceObject): void {
    const metadata = { uid: `uid-${++this.#version}`, ...object.metadata, resourceVersion: this.#next() };
    const stored = { ...object, metadata } as ServiceObject & EndpointSliceObject;
    this[kind].set(metadata.name as string, stored);
  }

  putSecret(key: string, server: string, recordedServer: string | null = null): void {
    const none = { tlsServerName: null, recordedTlsName: null };
    this.secrets.set(key, { resourceVersion: this.#next(), recordedServer, server, ...none });
  }

  /** Skips actions that the API server rejects, as `apply` does: the next plan decides again. */
  carryOut(actions: readonly Action[]): void {
    for (const action of actions) {
      const { resource, name } = action;
      const stored = resource === 'services' ? this.services : this.slices;
      const found = stored.get(name);
      switch (action.kind) {
        case 'create':
          if (found !== undefined) break;
          this.put(resource === 'services' ? 'services' : 'slices', structuredClone(action.object));
          this.writes += 1;
          break;
        case 'patch':
          if (found?.metadata?.resourceVersion !== action.resourceVersion) break;
          this.put(
            resource === 'services' ? 'services' : 'slices',
            mergePatched(found, action.patch) as ServiceObject,
          );
          this.writes += 1;
          break;
        case 'delete':
          if (found?.metadata?.uid !== action.uid) break;
          if (found.metadata.resourceVersion !== action.resourceVersion) break;
          stored.delete(name);
          this.writes += 1;
          break;
        case 'kubeconfig': {
          const key = `${action.namespace}/${name}`;
          const secret = this.secrets.get(key);
          if (secret === undefined) break;
          const written = writtenFields(action);
          if (!isDeepStrictEqual({ ...written, resourceVersion: secret.resourceVersion }, secret)) {
            this.secrets.set(key, { resourceVersion: this.#next(), ...written });
            this.writes += 1;
          }
          const { resourceVersion, server, tlsServerName } = this.secrets.get(key) as StoredSecret;
          this.findings.set(key, { resourceVersion, server, tlsServerName, skipReason: null });
        }
      }
    }
  }

  seenBy(
    self: Partial<Self>,
    peers: Partial<Peers> = {},
    complete = true,
    cache: TurnCache = this.#cache,
  ): KubeWorld {
    const instance = self.instance ?? 'net-1';
    return {
      nowMs: this.nowMs,
      wallMs: 1_700_000_000_000 + this.nowMs,
      synced: true,
      complete,
      self: {
        instance,
        nodeName: instance,
        endpoint: { address: '192.0.2.1', family: 'IPv4', port: 16443 },
        started: true,
        holder: true,
        lapsed: false,
        participation: EVERY_NODE,
        draining: false,
        ...self,
      },
      peers: {
        live: new Set([instance]),
        sameScope: peers.live ?? new Set([instance]),
        collect: new Set(),
        deadLeases: [],
        rank: 0,
        anyRenews: false,
        mode: 'lease',
        expiredUpstream: new Set(),
        ...peers,
      },
      doubtedLeases: [],
      services: new Map(this.services),
      slices: sliceIndex(PersistentMap.empty<EndpointSliceObject>().with(this.slices), cache),
      kubeconfigs: new Map(this.secrets),
      servicesListed: true,
      kubeconfigsWatched: true,
      findings: new Map(this.findings),
      problems: [],
      lookAgainAtMs: null,
    };
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
}

const NOTHING = desiredFor(worldFor({ clusters: [] }));

/** A desired state with these publications and nothing else. */
export const desiredWith = (
  publications: readonly Publication[],
  changes: Partial<DesiredState> = {},
): DesiredState => ({ ...NOTHING, listenersComplete: false, publications, ...changes });

export function publication(cluster: string, changes: Partial<Publication> = {}): Publication {
  return {
    cluster,
    namespace: NAMESPACE,
    object: {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      name: `${cluster}-x7k2`,
      uid: `cluster-${cluster}`,
      directServer: 'https://10.0.0.5:6443',
      deleting: false,
    },
    want: 'live',
    hasNetns: true,
    ...changes,
  };
}

export function mergePatched(object: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return structuredClone(patch);
  const result: Record<string, unknown> = { ...(object as Record<string, unknown>) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatched(result[key] ?? {}, value);
  }
  return result;
}
