// Wires the stages around Kubernetes for the control loop. PublicationSource and Membership give the KubeWorld of a turn. `diff`
// makes the plan, and `apply` starts its writes. It makes no decision of its own.
import type { KubeClient } from '../kube/kube-client.ts';
import { Applier, type WriteOutcome } from './apply/apply.ts';
import { EventWriter } from './apply/event-writer.ts';
import type { Publisher } from './control-loop.ts';
import type { DesiredState } from './desired/desired-state.ts';
import {
  Membership,
  type MembershipOptions,
  type MembershipSettings,
  type MembershipStatus,
} from './instance/membership.ts';
import { PublishRights } from './instance/publish-rights.ts';
import { earliest } from './instance/turn-order.ts';
import type { ReadyCheck } from './objects/ready-check.ts';
import type { TurnCache } from './objects/turn-cache.ts';
import { type DiffSettings, diff } from './plan/diff.ts';
import { NO_MEMORY, type Plan, type PlanMemory } from './plan/plan.ts';
import { PublicationSource } from './sources/publication-source.ts';
import { type KubeWorld, kubeWorld } from './world/kube-world.ts';

export interface KubePublisherOptions
  extends Pick<MembershipOptions, 'advertised' | 'onSuperseded' | 'onRefused' | 'onTaken'> {
  readonly client: KubeClient;
  /** The cache of the control loop. */
  readonly cache: TurnCache;
  readonly settings: DiffSettings & MembershipSettings;
  /** True if the data plane has the routes of the last turn. */
  readonly routesLive: () => boolean;
  /** Requests a turn of the control loop. */
  readonly onChange: () => void;
  readonly onOutcome: (outcome: WriteOutcome) => void;
  readonly now?: () => number;
  readonly wallNow?: () => number;
  readonly random?: () => number;
}

export class KubePublisher implements Publisher {
  readonly #options: KubePublisherOptions;
  readonly #now: () => number;
  readonly #wallNow: () => number;
  readonly #objects: PublicationSource;
  readonly #membership: Membership;
  readonly #applier: Applier;
  readonly #events: EventWriter;
  readonly #rights: PublishRights;
  #memory: PlanMemory = NO_MEMORY;
  /** From the last applied plan. */
  #served: Pick<Plan, 'servesAll' | 'servesNone'> = { servesAll: false, servesNone: null };
  #eventProblem: string | null = null;
  #alarm: NodeJS.Timeout | null = null;
  #withdrawn: (() => void) | null = null;
  #stopped = false;

  constructor(options: KubePublisherOptions) {
    this.#options = options;
    const { client, cache, settings, advertised, onSuperseded, onRefused, onTaken } = options;
    const { namespace, clusterNamespace, instance } = settings;
    const now = options.now ?? (() => performance.now());
    const wallNow = options.wallNow ?? Date.now;
    const onChange = () => this.#changed();
    this.#now = now;
    this.#wallNow = wallNow;
    this.#objects = new PublicationSource({ client, cache, namespace, clusterNamespace, onChange });
    this.#membership = new Membership({
      client,
      settings,
      advertised,
      onChange,
      onSuperseded,
      onRefused,
      onTaken,
      servesAll: () => this.#served.servesAll,
      now,
      wallNow,
    });
    this.#rights = new PublishRights({ client, namespace, clusterNamespace, onChange });
    this.#events = new EventWriter({
      client,
      instance,
      now,
      wallNow,
      onProblem: (error) => {
        const problem = error?.message ?? null;
        if (problem === this.#eventProblem) return;
        this.#eventProblem = problem;
        this.#changed();
      },
    });
    this.#applier = new Applier({
      client,
      written: this.#objects.written,
      mayPublish: options.routesLive,
      onFinding: (key, finding) => this.#objects.recordFinding(key, finding),
      onOutcome: (outcome) => {
        options.onOutcome(outcome);
        this.#changed();
      },
      now,
      random: options.random ?? Math.random,
    });
  }

  /** Starts the watches. Resolves after each first list succeeded or failed: an unreachable API must not block the start. */
  async start(): Promise<void> {
    this.#rights.start();
    await Promise.all([this.#objects.start(), this.#membership.start()]);
  }

  /** The proxy serves clients at this port. From now on this process acquires and renews the Lease. */
  listening(port: number): void {
    this.#membership.listening(port);
    this.#changed();
  }

  /** `routesLive` may return true now: continues the actions that waited for it. */
  routesTaken(): void {
    if (!this.#stopped) this.#applier.resume();
  }

  /**
   * Withdraws all slices of this instance. Resolves when no slice is left, or at the deadline. If a successor process holds the
   * Lease, it changes the slices to point to itself, and they stay. Clients still connect here until all nodes see that change, so
   * this call waits for the full deadline.
   */
  async withdraw(deadlineMs: number): Promise<void> {
    if (!this.#membership.drain()) return;
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

  /** Fails if this process serves none of the clusters that this instance publishes. Valid after the first health checks. */
  publishedCheck(): ReadyCheck {
    const { takeOver } = this.#options.settings.claim;
    return { name: 'published-clusters', failure: takeOver ? null : this.#served.servesNone };
  }

  /** Passes once this process has held the Lease of its node. */
  leaseCheck(): ReadyCheck {
    return this.#membership.leaseCheck();
  }

  readyChecks(): readonly ReadyCheck[] {
    return [...this.#objects.readyChecks(), ...this.#membership.readyChecks(), this.#rights.check()];
  }

  status(): MembershipStatus {
    const status = this.#membership.status();
    return { ...status, staleSinceMs: earliest(status.staleSinceMs, this.#objects.staleSinceMs()) };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#alarm !== null) clearTimeout(this.#alarm);
    this.#rights.stop();
    await Promise.all([this.#applier.stop(), this.#events.stop()]);
    await Promise.all([this.#membership.stop(), this.#objects.stop()]);
  }

  observe(): KubeWorld {
    const objects = this.#objects.snapshot();
    const membership = this.#membership.look(objects.slices, objects.slicesWatched);
    const eventProblems =
      this.#eventProblem === null ? [] : [{ origin: 'events', reason: this.#eventProblem }];
    return kubeWorld({
      nowMs: this.#now(),
      wallMs: this.#wallNow(),
      objects,
      membership,
      writeProblems: [...eventProblems, ...this.#applier.problems()],
    });
  }

  plan(kube: KubeWorld, desired: DesiredState): Plan {
    const { settings, cache } = this.#options;
    return diff(kube, desired, { settings, memory: this.#memory, cache });
  }

  apply(plan: Plan): void {
    if (this.#stopped) return;
    const { memory, servesAll, servesNone } = plan;
    this.#memory = memory;
    this.#served = { servesAll, servesNone };
    this.#applier.apply(plan.actions);
    this.#events.enqueue(plan.events);
    for (const name of plan.leaseReads) this.#membership.readLease(name);
    if (this.#withdrawn !== null && !this.#applier.busy && !this.#hasOwnSlices()) this.#withdrawn();
    this.#setAlarm(earliest(plan.lookAgainAtMs, this.#applier.retryAtMs()));
  }

  #hasOwnSlices(): boolean {
    return this.#objects.snapshot().slices.instances.has(this.#options.settings.instance);
  }

  #setAlarm(atMs: number | null): void {
    if (this.#alarm !== null) clearTimeout(this.#alarm);
    this.#alarm = null;
    if (atMs === null) return;
    // One millisecond later than due: a timer that fires too early would have to be set again.
    this.#alarm = setTimeout(() => this.#changed(), Math.max(0, atMs - this.#now()) + 1);
  }

  #changed(): void {
    if (!this.#stopped) this.#options.onChange();
  }
}
