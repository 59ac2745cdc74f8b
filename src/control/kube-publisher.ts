// Keeps the published objects in Kubernetes: watches them, builds the KubeWorld of each turn and has plans applied. `diff` makes all
// decisions; this file is the I/O around it.
import { randomBytes } from 'node:crypto';
import { resourcePath } from '../kube/api-path.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Reflector } from '../kube/watch/reflector.ts';
import type { ReflectorSnapshot } from '../kube/watch/reflector-snapshot.ts';
import { Applier, type WriteOutcome } from './apply/apply.ts';
import { EventWriter } from './apply/event-writer.ts';
import { WrittenObjects } from './apply/written-objects.ts';
import type { Publisher } from './control-loop.ts';
import type { DesiredState } from './desired/desired-state.ts';
import type { AdvertisedAddress } from './instance/advertise-address.ts';
import { InstanceLease, leaseProblems } from './instance/instance-lease.ts';
import type { Peers, Self } from './instance/instance-state.ts';
import { EVERY_NODE, type Participation } from './instance/node-participation.ts';
import { NodeWatch, type NodeWatchOptions } from './instance/node-watch.ts';
import { earliest, PeerWatch } from './instance/peer-watch.ts';
import { CLUSTER_NAME_LABEL } from './objects/cluster-name.ts';
import { leaseName } from './objects/instance-name.ts';
import { INSTANCE_LABEL } from './objects/object-labels.ts';
import {
  type KubeconfigSecret,
  observedLease,
  observedSecret,
  observedService,
  observedSlice,
} from './objects/observed-objects.ts';
import type { Problem } from './objects/problem.ts';
import type {
  EndpointSliceObject,
  LeaseObject,
  LivenessMode,
  ServiceObject,
} from './objects/published-objects.ts';
import type { Tags } from './objects/resource-tags.ts';
import { sliceIndex, sliceOf } from './objects/slice-index.ts';
import { ChangeEvents } from './plan/change-events.ts';
import { diff } from './plan/diff.ts';
import { NO_MEMORY, type Plan, type PlanMemory } from './plan/plan.ts';
import type { KubeconfigFinding, KubeWorld } from './world/kube-world.ts';

export interface KubePublisherOptions {
  readonly client: KubeClient;
  readonly settings: {
    readonly namespace: string;
    /** The namespace of the kubeconfigs; null means every namespace. */
    readonly clusterNamespace: string | null;
    readonly instance: string;
    /** The boot id of this host; empty if unknown. */
    readonly host: string;
    readonly nodeName: string | null;
    readonly node: Pick<NodeWatchOptions, 'node' | 'selector' | 'unknown' | 'onParticipation'>;
    readonly liveness: 'auto' | LivenessMode;
    readonly propagationWaitMs: number;
    readonly allowMassDelete: boolean;
    /** Tags for the objects of this instance: its slices and its Lease. */
    readonly tags: Tags;
  };
  /** Called on every turn, because an address can appear and disappear. */
  readonly advertised: () => AdvertisedAddress;
  /** True if the data plane serves the routes that were decided last. */
  readonly routesLive: () => boolean;
  /** Requests a turn of the control loop. */
  readonly onChange: () => void;
  readonly onOutcome: (outcome: WriteOutcome) => void;
  /** A successor process on this node holds the Lease: this process stops writing and must drain. */
  readonly onSuperseded: (holder: string) => void;
  readonly now?: () => number;
  readonly wallNow?: () => number;
  readonly random?: () => number;
}

type Watched = Reflector<ServiceObject> | Reflector<EndpointSliceObject> | Reflector<LeaseObject>;

export class KubePublisher implements Publisher {
  readonly #deps: KubePublisherOptions;
  readonly #now: () => number;
  readonly #wallNow: () => number;
  readonly #services: Reflector<ServiceObject>;
  readonly #slices: Reflector<EndpointSliceObject>;
  readonly #leases: Reflector<LeaseObject>;
  readonly #secrets: Reflector<KubeconfigSecret>;
  readonly #written;
  readonly #findings = new Map<string, KubeconfigFinding>();
  readonly #node: NodeWatch;
  readonly #lease: InstanceLease;
  readonly #peers: PeerWatch;
  readonly #applier: Applier;
  readonly #events: ChangeEvents;
  readonly #eventWriter: EventWriter;
  #port: number | null = null;
  #draining = false;
  #memory: PlanMemory = NO_MEMORY;
  #problems: readonly Problem[] = [];
  #leaseProblem: string | null = null;
  #eventProblem: string | null = null;
  #lookAgainAtMs: number | null = null;
  #lastPeers: Peers | null = null;
  /** The snapshot that the last `observe` used. */
  #seenLeases: ReflectorSnapshot<LeaseObject> | null = null;
  #alarm: NodeJS.Timeout | null = null;
  #withdrawn: (() => void) | null = null;
  #stopped = false;

  constructor(deps: KubePublisherOptions) {
    this.#deps = deps;
    const { client, settings } = deps;
    this.#now = deps.now ?? (() => performance.now());
    this.#wallNow = deps.wallNow ?? Date.now;
    const onChange = () => this.#changed();
    const { namespace } = settings;
    const watch = <T>(
      resource: string,
      group: string,
      project: (object: { readonly metadata: object; readonly [field: string]: unknown }) => T,
      options: {
        readonly labelSelector?: string;
        readonly metadataOnly?: boolean;
        readonly all?: boolean;
        readonly onChange?: () => void;
      } = {},
    ): Reflector<T> => {
      const { all = false, ...rest } = options;
      const where = all ? settings.clusterNamespace : namespace;
      const path = resourcePath({
        group,
        version: 'v1',
        resource,
        ...(where !== null && { namespace: where }),
      });
      // All keys are in one namespace, so the key is the name alone.
      const keyOf = all ? {} : { keyOf: nameOf };
      return new Reflector<T>({ client, path: () => path, project, onChange, ...keyOf, ...rest });
    };
    this.#services = watch('services', '', observedService);
    this.#slices = watch('endpointslices', 'discovery.k8s.io', (object) => {
      const slice = observedSlice(object);
      // Classify each slice while its page arrives. Otherwise the first turn classifies twenty thousand slices at once.
      sliceOf(slice.metadata?.name ?? '', slice);
      return slice;
    });
    this.#leases = watch('leases', 'coordination.k8s.io', observedLease, {
      labelSelector: INSTANCE_LABEL,
      onChange: () => this.#leasesChanged(),
    });
    this.#secrets = watch('secrets', '', observedSecret, {
      labelSelector: CLUSTER_NAME_LABEL,
      metadataOnly: true,
      all: true,
    });
    const versionOf = ({ metadata }: ServiceObject | EndpointSliceObject) => metadata?.resourceVersion ?? '';
    this.#written = {
      services: new WrittenObjects<ServiceObject>(versionOf, this.#services),
      slices: new WrittenObjects<EndpointSliceObject>(versionOf, this.#slices),
      secrets: new WrittenObjects<KubeconfigSecret>(({ resourceVersion }) => resourceVersion, this.#secrets),
    };
    this.#node = new NodeWatch({ client, ...settings.node, onChange });
    this.#lease = new InstanceLease({
      client,
      namespace,
      instance: settings.instance,
      holder: `${settings.instance}/${randomBytes(6).toString('hex')}`,
      host: settings.host,
      clusterNamespace: settings.clusterNamespace,
      tags: settings.tags,
      now: this.#now,
      wallNow: this.#wallNow,
      onChange: () => {
        const { lostTo } = this.#lease.state();
        if (lostTo !== null) deps.onSuperseded(lostTo);
        this.#changed();
      },
      onProblem: (error) => {
        this.#leaseProblem = error?.message ?? null;
        this.#changed();
      },
    });
    this.#peers = new PeerWatch({
      client,
      namespace,
      instance: settings.instance,
      clusterNamespace: settings.clusterNamespace,
      liveness: settings.liveness,
      now: this.#now,
      onChange,
    });
    const { instance } = settings;
    this.#events = new ChangeEvents({ now: this.#now, instance });
    this.#eventWriter = new EventWriter({
      client,
      instance,
      now: this.#now,
      wallNow: this.#wallNow,
      onProblem: (error) => {
        const problem = error?.message ?? null;
        if (problem === this.#eventProblem) return;
        this.#eventProblem = problem;
        this.#changed();
      },
    });
    this.#applier = new Applier({
      client,
      written: this.#written,
      mayOpen: deps.routesLive,
      onFinding: (key, finding) => this.#findings.set(key, finding),
      onOutcome: (outcome) => {
        deps.onOutcome(outcome);
        this.#changed();
      },
      now: this.#now,
      random: deps.random ?? Math.random,
    });
  }

  /** Starts the watches. Resolves after each first list succeeded or failed: an unreachable API must not block the start. */
  async start(): Promise<void> {
    for (const reflector of this.#reflectors()) reflector.start();
    await Promise.all([this.#node.start(), ...this.#reflectors().map((reflector) => reflector.ready())]);
  }

  /** The proxy serves clients at this port. From now on this process takes part as an instance. */
  listening(port: number): void {
    this.#port = port;
    this.#lease.start();
    this.#changed();
  }

  /** `routesLive` may return true now: continues the actions that waited for it. */
  routesTaken(): void {
    if (!this.#stopped) this.#applier.goOn();
  }

  /**
   * Withdraws all slices of this instance in order. Resolves when none is left or at the deadline. If a successor process holds the
   * Lease, it repoints the slices to itself and they stay. Until that change propagates, clients still connect here, so this call
   * waits for the full deadline.
   */
  async withdraw(deadlineMs: number): Promise<void> {
    this.#draining = true;
    const { held, lostTo } = this.#lease.state();
    if (!held && lostTo === null) return;
    const done = new Promise<void>((resolve) => {
      this.#withdrawn = resolve;
    });
    this.#changed();
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, deadlineMs);
    });
    await Promise.race([done, deadline]);
    clearTimeout(timer);
  }

  status(): {
    readonly lease: 'not-yet' | 'held' | 'lost';
    readonly peers: Peers | null;
    readonly participation: Participation | null;
    /** Monotonic time; null while all watches work. */
    readonly staleSinceMs: number | null;
  } {
    const { held, lostTo } = this.#lease.state();
    const stale = this.#reflectors()
      .map((reflector) => reflector.snapshot().staleSinceMs)
      .filter((ms) => ms !== null);
    return {
      lease: lostTo !== null ? 'lost' : held ? 'held' : 'not-yet',
      peers: this.#lastPeers,
      participation: this.#node.participation(),
      staleSinceMs: stale.length === 0 ? null : Math.min(...stale),
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#alarm !== null) clearTimeout(this.#alarm);
    this.#peers.stop();
    await Promise.all([this.#applier.stop(), this.#eventWriter.stop()]);
    await this.#lease.stop({ release: this.#draining });
    await Promise.all([this.#node.stop(), ...this.#reflectors().map((reflector) => reflector.stop())]);
  }

  observe(): KubeWorld {
    const services = this.#services.snapshot();
    const slices = this.#slices.snapshot();
    const leases = this.#leases.snapshot();
    const secrets = this.#secrets.snapshot();
    this.#seenLeases = leases;
    this.#lease.seen(leases.items.get(leaseName(this.#deps.settings.instance)));
    const isWell = ({ synced, staleSinceMs }: { synced: boolean; staleSinceMs: number | null }) =>
      synced && staleSinceMs === null;
    const well = [services, slices, leases].every(isWell);
    const view = this.#peers.look(leases.items, slices.items, this.#lease.state(), isWell(slices));
    this.#lookAgainAtMs = view.lookAgainAtMs;
    this.#lastPeers = view.peers;
    this.#problems = [
      ...[
        { what: 'services', snapshot: services },
        { what: 'endpointslices', snapshot: slices },
        { what: 'leases', snapshot: leases },
        { what: 'secrets', snapshot: secrets },
      ].flatMap(({ what, snapshot }) =>
        snapshot.problem === null ? [] : [{ origin: `watch of ${what}`, reason: snapshot.problem.message }],
      ),
      ...leaseProblems(this.#leaseProblem, this.#isTakenForDead()),
      ...(this.#eventProblem === null ? [] : [{ origin: 'events', reason: this.#eventProblem }]),
      ...this.#node.problems(),
      ...(view.waiting === null ? [] : [{ origin: 'instances', reason: view.waiting }]),
    ];
    return Object.freeze({
      nowMs: this.#now(),
      wallMs: this.#wallNow(),
      complete: well,
      self: this.#self(),
      peers: view.peers,
      servicesSeen: services.synced,
      services: this.#written.services.over(services.items),
      slices: this.#written.slices.over(slices.items),
      kubeconfigs: secrets.synced ? this.#written.secrets.over(secrets.items) : null,
      kubeconfigsHeard: isWell(secrets),
      findings: this.#findings,
    });
  }

  plan(kube: KubeWorld, desired: DesiredState): Plan {
    const plan = diff(kube, desired, this.#deps.settings, this.#memory);
    this.#memory = plan.memory;
    const events = this.#events.changes(desired, kube.peers.rank === 0);
    if (kube.self.started && kube.self.holder) this.#eventWriter.tell(events);
    return {
      ...plan,
      problems: [...plan.problems, ...this.#problems, ...this.#applier.problems()],
      // Until the first lists are complete, a missing object may only be missing from the list.
      actions: this.#isSynced() ? plan.actions : [],
    };
  }

  apply(plan: Plan): void {
    if (this.#stopped) return;
    this.#applier.apply(plan.actions);
    this.#forgetFindings();
    if (this.#withdrawn !== null && !this.#applier.busy && !this.#hasOwnSlices()) this.#withdrawn();
    this.#setAlarm(earliest(plan.lookAgainAtMs, this.#lookAgainAtMs, this.#applier.retryAtMs()));
  }

  #self(): Self {
    const { instance, nodeName } = this.#deps.settings;
    const address = this.#deps.advertised();
    return {
      instance,
      nodeName,
      endpoint:
        address.kind === 'address'
          ? { address: address.address, family: address.family, port: this.#port ?? 0 }
          : { reason: address.reason },
      started: this.#port !== null,
      holder: this.#lease.state().held,
      lapsed: this.#isTakenForDead(),
      participation: this.#node.participation() ?? EVERY_NODE,
      draining: this.#draining,
    };
  }

  /** A lapsed Lease counts only while some instance can renew. If none can, the API is the problem and all instances stay alive. */
  #isTakenForDead(): boolean {
    return this.#lease.state().lapsed && (this.#lastPeers?.anyRenews ?? false);
  }

  #isSynced(): boolean {
    if (this.#node.participation() === null) return false;
    return [this.#services, this.#slices].every((reflector: Watched) => reflector.snapshot().synced);
  }

  #hasOwnSlices(): boolean {
    const { instance } = this.#deps.settings;
    const slices = this.#written.slices.over(this.#slices.snapshot().items);
    return sliceIndex(slices).instances.has(instance);
  }

  /** Drops the findings of deleted Secrets. */
  #forgetFindings(): void {
    const { items, synced } = this.#secrets.snapshot();
    if (!synced || this.#findings.size <= items.size) return;
    for (const key of this.#findings.keys()) if (!items.has(key)) this.#findings.delete(key);
  }

  /** Each instance renews every ten seconds. A renewal alone changes no decision and must not cause a turn. */
  #leasesChanged(): void {
    const now = this.#leases.snapshot();
    const { synced, staleSinceMs, problem } = this.#seenLeases ?? {};
    const isOther = now.synced !== synced || now.staleSinceMs !== staleSinceMs || now.problem !== problem;
    if (this.#peers.heard(now.items) || isOther) this.#changed();
  }

  #setAlarm(atMs: number | null): void {
    if (this.#alarm !== null) clearTimeout(this.#alarm);
    this.#alarm = null;
    if (atMs === null) return;
    // One millisecond late: a timer that fires early would have to be set again.
    this.#alarm = setTimeout(() => this.#changed(), Math.max(0, atMs - this.#now()) + 1);
  }

  #changed(): void {
    if (!this.#stopped) this.#deps.onChange();
  }

  #reflectors() {
    return [this.#services, this.#slices, this.#leases, this.#secrets];
  }
}

const nameOf = ({ metadata }: KubeObject): string => metadata.name;
