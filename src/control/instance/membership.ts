// This instance among others: its Lease, its Node and its peers, as one view for each turn. `look` starts no request.
import { hostname } from 'node:os';
import { resourcePath } from '../../kube/api-path.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import type { ReflectorSnapshot } from '../../kube/watch/reflector-snapshot.ts';
import { leaseName } from '../objects/instance-name.ts';
import { INSTANCE_LABEL } from '../objects/object-labels.ts';
import { observedLease } from '../objects/observed-objects.ts';
import type { Problem } from '../objects/problem.ts';
import type { LeaseObject, LivenessMode } from '../objects/published-objects.ts';
import { listCheck, type ReadyCheck } from '../objects/ready-check.ts';
import type { Tags } from '../objects/resource-tags.ts';
import type { SliceIndex } from '../objects/slice-index.ts';
import { isWatched, watchProblems } from '../sources/publication-source.ts';
import type { AdvertisedAddress } from './advertise-address.ts';
import { InstanceLease, leaseProblems } from './instance-lease.ts';
import type { Peers, Self } from './instance-state.ts';
import { type ClaimReason, type ClaimSettings, daemonSetText, LeaseClaim } from './lease-claim.ts';
import type { LeaseHolder } from './lease-rival.ts';
import { LivenessMark } from './liveness-mark.ts';
import { EVERY_NODE, type Participation } from './node-participation.ts';
import { NodeWatch, type NodeWatchOptions } from './node-watch.ts';
import { PeerWatch } from './peer-watch.ts';

export interface MembershipSettings {
  readonly namespace: string;
  readonly clusterNamespace: string | null;
  readonly instance: string;
  /** The boot id of this host; empty if unknown. */
  readonly host: string;
  readonly nodeName: string | null;
  readonly node: Pick<NodeWatchOptions, 'node' | 'selector' | 'unknown' | 'onParticipation'>;
  readonly liveness: 'auto' | LivenessMode;
  readonly claim: ClaimSettings;
  /** A directory that other processes of this host share with this one, for the proof that a holder is dead; null: none. */
  readonly lockDirectory: string | null;
  /** Tags for the objects of this instance: its slices and its Lease. */
  readonly tags: Tags;
}

export interface MembershipOptions {
  readonly client: KubeClient;
  readonly settings: MembershipSettings;
  /** Read in every turn, because an address can appear and disappear. */
  readonly advertised: () => AdvertisedAddress;
  readonly onChange: () => void;
  /** A successor process on this node holds the Lease: this process stops writing and must drain. */
  readonly onSuperseded: (holder: string) => void;
  /** Another process keeps the Lease: this process must end. */
  readonly onRefused: (reason: string) => void;
  readonly onTaken: (from: LeaseHolder, reason: ClaimReason | null) => void;
  /** True if this process serves every cluster for which this instance has a slice. */
  readonly servesAll: () => boolean;
  readonly now: () => number;
  readonly wallNow: () => number;
}

export interface MembershipView {
  readonly self: Self;
  readonly peers: Peers;
  /** Names of Leases that the caller passes to `readLease`. */
  readonly doubtedLeases: readonly string[];
  /** True once it is known whether this instance takes part. */
  readonly synced: boolean;
  /** The Leases are watched. */
  readonly complete: boolean;
  readonly problems: readonly Problem[];
  readonly lookAgainAtMs: number | null;
}

export interface MembershipStatus {
  readonly lease: 'not-yet' | 'held' | 'lost';
  readonly peers: Peers | null;
  readonly participation: Participation | null;
  /** Since when the watch of Leases has been broken (monotonic); null while it works. */
  readonly staleSinceMs: number | null;
}

export class Membership {
  readonly #options: MembershipOptions;
  readonly #leases: Reflector<LeaseObject>;
  readonly #node: NodeWatch;
  readonly #lease: InstanceLease;
  readonly #mark: LivenessMark | null;
  #markProblem: string | null = null;
  #wasHeld = false;
  readonly #peers: PeerWatch;
  #port: number | null = null;
  #draining = false;
  #leaseProblem: string | null = null;
  #lastPeers: Peers | null = null;
  /** The snapshot that the last `look` used. */
  #seenLeases: ReflectorSnapshot<LeaseObject> | null = null;

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { client, settings, onChange, now, wallNow } = options;
    const { namespace, instance, clusterNamespace, host, tags, liveness, claim, lockDirectory } = settings;
    const holder = `${instance}/${claim.processId}`;
    this.#mark = lockDirectory === null ? null : new LivenessMark({ directory: lockDirectory, holder });
    this.#leases = new Reflector<LeaseObject>({
      client,
      path: () =>
        resourcePath({ group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespace }),
      keyOf: ({ metadata }) => metadata.name,
      labelSelector: INSTANCE_LABEL,
      project: observedLease,
      onChange: () => this.#leasesChanged(),
    });
    this.#node = new NodeWatch({ client, ...settings.node, onChange });
    this.#lease = new InstanceLease({
      client,
      namespace,
      instance,
      holder,
      host,
      process: `pid ${process.pid} on ${hostname()}`,
      daemonSet: claim.daemonSet === null ? '' : daemonSetText(claim.daemonSet),
      claim: new LeaseClaim({
        ...claim,
        host,
        markOf: async (of) => (await this.#mark?.stateOf(of)) ?? 'unknown',
        servesAll: options.servesAll,
      }),
      onTaken: options.onTaken,
      clusterNamespace,
      tags,
      now,
      wallNow,
      onChange: () => {
        this.#leaseChanged();
        onChange();
      },
      onProblem: (error) => {
        this.#leaseProblem = error?.message ?? null;
        onChange();
      },
    });
    this.#peers = new PeerWatch({ client, namespace, instance, clusterNamespace, liveness, now, onChange });
  }

  /** Starts the watches. Resolves after each first list succeeded or failed. */
  async start(): Promise<void> {
    this.#leases.start();
    await Promise.all([this.#node.start(), this.#leases.ready()]);
  }

  /** The proxy serves clients at this port. From now on this process acquires and renews the Lease. */
  listening(port: number): void {
    this.#port = port;
    void this.#openLease();
  }

  /** The mark comes first: other processes look for it as soon as the Lease names this process. */
  async #openLease(): Promise<void> {
    try {
      await this.#mark?.open();
    } catch (error) {
      this.#markProblem = `${(error as Error).message}: after a crash, the next process waits until the Lease has expired`;
    }
    this.#lease.start();
  }

  #leaseChanged(): void {
    const { held, lostTo, refused } = this.#lease.state();
    if (lostTo !== null) this.#options.onSuperseded(lostTo);
    if (refused !== null) this.#options.onRefused(refused);
    if (held && !this.#wasHeld) void this.#mark?.sweep();
    this.#wasHeld ||= held;
  }

  /** From now on all slices of this instance are withdrawn. Returns whether this process ever published as this instance. */
  drain(): boolean {
    this.#draining = true;
    const { held, lostTo } = this.#lease.state();
    return held || lostTo !== null;
  }

  look(slices: SliceIndex, slicesWatched: boolean): MembershipView {
    const leases = this.#leases.snapshot();
    this.#seenLeases = leases;
    const ownName = leaseName(this.#options.settings.instance);
    this.#lease.seen(leases.items.get(ownName));
    const own = this.#lease.state();
    const { peers, unconfirmed, waiting, lookAgainAtMs } = this.#peers.look(
      leases.items,
      slices,
      own,
      slicesWatched,
    );
    this.#lastPeers = peers;
    return {
      self: this.#self(),
      peers,
      doubtedLeases: own.doubted ? [...unconfirmed, ownName] : unconfirmed,
      synced: this.#node.participation() !== null,
      complete: isWatched(leases),
      problems: [
        ...watchProblems('leases', leases),
        ...leaseProblems(this.#leaseProblem, this.#isTakenForDead()),
        ...(this.#markProblem === null ? [] : [{ origin: '--lock-dir', reason: this.#markProblem }]),
        ...this.#node.problems(),
        ...(waiting === null ? [] : [{ origin: 'instances', reason: waiting }]),
      ],
      lookAgainAtMs,
    };
  }

  /** Reads a doubted Lease live. The answer is part of the next view. */
  readLease(name: string): void {
    if (name === leaseName(this.#options.settings.instance)) this.#lease.confirmHolder();
    else void this.#peers.readLive(name);
  }

  readyChecks(): readonly ReadyCheck[] {
    return [listCheck('leases', this.#leases.snapshot())];
  }

  /** Passes once this process has held the Lease of its node. A process takes the Lease only when it serves. */
  leaseCheck(): ReadyCheck {
    return { name: 'lease', failure: this.#wasHeld ? null : (this.#leaseProblem ?? 'not held yet') };
  }

  status(): MembershipStatus {
    const { held, lostTo } = this.#lease.state();
    const notLost = held ? 'held' : 'not-yet';
    return {
      lease: lostTo !== null ? 'lost' : notLost,
      peers: this.#lastPeers,
      participation: this.#node.participation(),
      staleSinceMs: this.#leases.snapshot().staleSinceMs,
    };
  }

  /**
   * After a drain the Lease is deleted, so the peers need not wait for its expiry. If that fails, the mark stays. It proves
   * that this process has ended, so the next process of this host need not wait either.
   */
  async stop(): Promise<void> {
    this.#peers.stop();
    const isReleased = await this.#lease.stop({ release: this.#draining });
    this.#mark?.close({ forget: this.#draining && isReleased });
    await Promise.all([this.#node.stop(), this.#leases.stop()]);
  }

  #self(): Self {
    const { instance, nodeName } = this.#options.settings;
    const address = this.#options.advertised();
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

  /** A lapsed Lease counts only while another instance can renew. If none can, the API is the problem and all instances count as alive. */
  #isTakenForDead(): boolean {
    return this.#lease.state().lapsed && (this.#lastPeers?.anyRenews ?? false);
  }

  /** Each instance renews every ten seconds. A renewal alone changes no decision and must not cause a turn. */
  #leasesChanged(): void {
    const now = this.#leases.snapshot();
    const { synced, staleSinceMs, problem } = this.#seenLeases ?? {};
    const isOther = now.synced !== synced || now.staleSinceMs !== staleSinceMs || now.problem !== problem;
    if (this.#peers.observe(now.items) || isOther) this.#options.onChange();
  }
}
