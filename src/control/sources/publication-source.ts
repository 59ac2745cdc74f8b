// Watches the objects that Isthmus publishes or changes: Services, EndpointSlices and the kubeconfig Secrets of clusters. Each
// snapshot shows the mirror with our own recent writes on top, until the watch delivers them.
import { resourcePath } from '../../kube/api-path.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { PersistentMap } from '../../kube/persistent-map.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import type { ReflectorSnapshot } from '../../kube/watch/reflector-snapshot.ts';
import { CLUSTER_NAME_LABEL } from '../objects/object-labels.ts';
import {
  type KubeconfigFinding,
  type KubeconfigSecret,
  observedSecret,
  observedService,
  observedSlice,
} from '../objects/observed-objects.ts';
import type { Problem } from '../objects/problem.ts';
import type { EndpointSliceObject, ServiceObject } from '../objects/published-objects.ts';
import { listCheck, type ReadyCheck } from '../objects/ready-check.ts';
import { classifiedSlice, type SliceIndex, sliceIndex } from '../objects/slice-index.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import { WrittenObjects } from './written-objects.ts';

export interface PublicationSourceOptions {
  readonly client: KubeClient;
  /** The cache of the control loop. */
  readonly cache: TurnCache;
  /** The namespace of Services and slices. */
  readonly namespace: string;
  /** The namespace of the kubeconfigs; null means every namespace. */
  readonly clusterNamespace: string | null;
  readonly onChange: () => void;
}

export interface PublicationSnapshot {
  /** Services and slices were listed at least once. */
  readonly synced: boolean;
  /** Services and slices are watched: an absent object does not exist. */
  readonly complete: boolean;
  readonly servicesListed: boolean;
  readonly services: PersistentMap<ServiceObject>;
  readonly slicesWatched: boolean;
  readonly slices: SliceIndex;
  /** By `<namespace>/<name>`; null before the first list. */
  readonly kubeconfigs: PersistentMap<KubeconfigSecret> | null;
  readonly kubeconfigsWatched: boolean;
  readonly findings: ReadonlyMap<string, KubeconfigFinding>;
  readonly problems: readonly Problem[];
}

export class PublicationSource {
  readonly #cache: TurnCache;
  readonly #services: Reflector<ServiceObject>;
  readonly #slices: Reflector<EndpointSliceObject>;
  readonly #secrets: Reflector<KubeconfigSecret>;
  readonly #findings = new Map<string, KubeconfigFinding>();
  /** `apply` records its writes here. */
  readonly written;

  constructor({ client, cache, namespace, clusterNamespace, onChange }: PublicationSourceOptions) {
    this.#cache = cache;
    const common = { client, onChange };
    this.#services = new Reflector<ServiceObject>({
      ...common,
      path: () => resourcePath({ group: '', version: 'v1', resource: 'services', namespace }),
      keyOf: nameOf,
      project: observedService,
    });
    this.#slices = new Reflector<EndpointSliceObject>({
      ...common,
      path: () =>
        resourcePath({ group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices', namespace }),
      keyOf: nameOf,
      project: (object) => {
        const slice = observedSlice(object);
        // Classify each slice while its page arrives. Otherwise the first turn classifies twenty thousand slices at once.
        cache.each(classifiedSlice, slice, slice.metadata?.name ?? '');
        return slice;
      },
    });
    const where = clusterNamespace === null ? {} : { namespace: clusterNamespace };
    this.#secrets = new Reflector<KubeconfigSecret>({
      ...common,
      path: () => resourcePath({ group: '', version: 'v1', resource: 'secrets', ...where }),
      labelSelector: CLUSTER_NAME_LABEL,
      metadataOnly: true,
      project: observedSecret,
    });
    const versionOf = ({ metadata }: ServiceObject | EndpointSliceObject) => metadata?.resourceVersion ?? '';
    this.written = {
      services: new WrittenObjects<ServiceObject>(versionOf, this.#services),
      slices: new WrittenObjects<EndpointSliceObject>(versionOf, this.#slices),
      secrets: new WrittenObjects<KubeconfigSecret>(({ resourceVersion }) => resourceVersion, this.#secrets),
    };
  }

  /** Resolves after each first list succeeded or failed: an unreachable API must not block the start. */
  async start(): Promise<void> {
    for (const reflector of this.#reflectors()) reflector.start();
    await Promise.all(this.#reflectors().map((reflector) => reflector.ready()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors().map((reflector) => reflector.stop()));
  }

  snapshot(): PublicationSnapshot {
    const services = this.#services.snapshot();
    const slices = this.#slices.snapshot();
    const secrets = this.#secrets.snapshot();
    return {
      synced: services.synced && slices.synced,
      complete: isWatched(services) && isWatched(slices),
      servicesListed: services.synced,
      services: this.written.services.over(services.items),
      slicesWatched: isWatched(slices),
      slices: sliceIndex(this.written.slices.over(slices.items), this.#cache),
      kubeconfigs: secrets.synced ? this.written.secrets.over(secrets.items) : null,
      kubeconfigsWatched: isWatched(secrets),
      findings: this.#findings,
      problems: [
        ...watchProblems('services', services),
        ...watchProblems('endpointslices', slices),
        ...watchProblems('secrets', secrets),
      ],
    };
  }

  /** Kubeconfigs are not needed to serve clients. */
  readyChecks(): readonly ReadyCheck[] {
    return [
      listCheck('services', this.#services.snapshot()),
      listCheck('endpointslices', this.#slices.snapshot()),
    ];
  }

  /** Since when a watch has been broken (monotonic); null while all watches work. */
  staleSinceMs(): number | null {
    const since = this.#reflectors().flatMap((reflector) => reflector.snapshot().staleSinceMs ?? []);
    return since.length === 0 ? null : Math.min(...since);
  }

  /** Keeps what `apply` read from a kubeconfig. Drops the findings of deleted Secrets. */
  recordFinding(key: string, finding: KubeconfigFinding): void {
    this.#findings.set(key, finding);
    const { items, synced } = this.#secrets.snapshot();
    if (!synced || this.#findings.size <= items.size) return;
    for (const each of this.#findings.keys()) if (!items.has(each)) this.#findings.delete(each);
  }

  #reflectors() {
    return [this.#services, this.#slices, this.#secrets];
  }
}

/** Listed, and watched since then: an absent object does not exist. */
export const isWatched = ({ synced, staleSinceMs }: ReflectorSnapshot<unknown>): boolean =>
  synced && staleSinceMs === null;

export const watchProblems = (what: string, { problem }: ReflectorSnapshot<unknown>): readonly Problem[] =>
  problem === null ? [] : [{ origin: `watch of ${what}`, reason: problem.message }];

/** All keys are in one namespace, so the key is the name alone. */
const nameOf = ({ metadata }: KubeObject): string => metadata.name;
