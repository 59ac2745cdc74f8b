// This instance's own Lease: acquired when the process is ready to serve, renewed while it runs, released at the end. Each node has
// one Lease. After a successor process takes it over, this process writes nothing. The Lease of another live process is taken only if
// `claim` has a reason. This file only reports the holder; other files decide.
import { resourcePath } from '../../kube/api-path.ts';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isOlderVersion } from '../../kube/kube-object.ts';
import { objectIn } from '../../kube/object-answer.ts';
import { leaseName } from '../objects/instance-name.ts';
import { metadataPatch } from '../objects/metadata-patch.ts';
import type { Problem } from '../objects/problem.ts';
import { LEASE_SECONDS, type LeaseObject, leaseOf, microTime } from '../objects/published-objects.ts';
import type { Tags } from '../objects/resource-tags.ts';
import type { ClaimReason, LeaseClaim } from './lease-claim.ts';
import { type LeaseHolder, LeaseRival, leaseHolder, NameTakenError } from './lease-rival.ts';
import type { OwnRenewals } from './lease-verdict.ts';

export interface InstanceLeaseOptions {
  readonly client: Requester;
  readonly namespace: string;
  readonly instance: string;
  /** `<instance>/<random>`: distinguishes this process from its predecessor and its successor. */
  readonly holder: string;
  /** The boot id of this host; empty if unknown. */
  readonly host: string;
  /** The pid and the host name of this process. */
  readonly process?: string;
  /** `<namespace>/<name>:<generation>` of our DaemonSet; empty: none. */
  readonly daemonSet?: string;
  readonly clusterNamespace?: string | null;
  readonly tags: Tags;
  /** Decides whether this process may take the Lease from another one at once. */
  readonly claim: Pick<LeaseClaim, 'reason' | 'taken'>;
  readonly now: () => number;
  readonly wallNow: () => number;
  /** The Lease was acquired, lost, or renewed after it had expired. */
  readonly onChange: () => void;
  /** The Lease was taken from another process; `reason` is null if the Lease had expired. */
  readonly onTaken: (from: LeaseHolder, reason: ClaimReason | null) => void;
  /** null: renewal works again. */
  readonly onProblem: (error: KubeError | NameTakenError | null) => void;
}

export interface LeaseState extends OwnRenewals {
  readonly held: boolean;
  /** The watch shows another holder, and this process has not started a request to confirm it. */
  readonly doubted: boolean;
  /** Held, but not renewed for its whole duration: instances that can renew consider this one dead. */
  readonly lapsed: boolean;
  /** The process that took the Lease over; null: none did. */
  readonly lostTo: string | null;
  /** Why this process does not get the Lease: its holder stays alive. null: it may still get it. */
  readonly refused: string | null;
}

const DURATION_MS = LEASE_SECONDS * 1000;
const RENEW_MS = 10_000;
const RETRY_MS = 2000;
const REQUEST_MS = 8000;
/** How long the shutdown waits for the deletion. If the deletion fails, the Lease expires. */
const RELEASE_MS = 2000;

export class InstanceLease {
  readonly #options: InstanceLeaseOptions;
  readonly #path: string;
  readonly #rival = new LeaseRival();
  /** The Lease of another holder, as it was read last. */
  #rivalLease: LeaseObject | null = null;
  /** A write with this process as the holder was sent, and no answer shows that the Lease names another holder. */
  #mayBeNamed = false;
  #known: Known | null = null;
  #held = false;
  /** The watch showed another holder. */
  #contested = false;
  /** `confirmHolder` started a renewal, whose answer shows the holder. If this fails, the next renewal shows the holder. */
  #confirming = false;
  #lostTo: string | null = null;
  #refused: string | null = null;
  #okSinceMs: number | null = null;
  #lastRenewOkMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #underWay: Promise<void> = Promise.resolve();
  readonly #abort = new AbortController();
  #problem = false;
  #stopped = false;

  constructor(options: InstanceLeaseOptions) {
    this.#options = options;
    this.#path = resourcePath({
      group: 'coordination.k8s.io',
      version: 'v1',
      resource: 'leases',
      namespace: options.namespace,
      name: leaseName(options.instance),
    });
  }

  start(): void {
    if (this.#timer === null && !this.#stopped) this.#step();
  }

  /**
   * Records the Lease as the watch shows it. A successor process can take the Lease over between two of our renewals. If the watch
   * shows another holder, this process does not count as the holder until a request confirms it (`confirmHolder`). Otherwise both
   * processes would write the same objects until the next renewal. Starts no request.
   */
  seen(lease: LeaseObject | undefined): void {
    const holder = lease?.spec?.holderIdentity ?? '';
    if (!this.#held || this.#known === null || holder === '' || holder === this.#options.holder) return;
    // An event that is older than our own write still shows the predecessor.
    if (!isOlderVersion(this.#known.resourceVersion, lease?.metadata?.resourceVersion ?? '')) return;
    if (this.#contested) return;
    this.#contested = true;
    this.#confirming = false;
  }

  /**
   * Renews now instead of at the next interval, because `seen` found another holder. If a renewal is already running, its answer is enough.
   */
  confirmHolder(): void {
    if (!this.state().doubted || this.#stopped) return;
    this.#confirming = true;
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#step();
  }

  state(): LeaseState {
    return {
      held: this.#held && !this.#contested,
      doubted: this.#contested && !this.#confirming,
      lapsed: this.#hasLapsed(),
      lostTo: this.#lostTo,
      refused: this.#refused,
      okSinceMs: this.#okSinceMs,
      lastRenewOkMs: this.#lastRenewOkMs,
    };
  }

  /**
   * Stops renewing. `release` deletes the Lease if this process still holds it, so other instances need not wait for its expiry. False:
   * the Lease may still name this process.
   */
  async stop({ release }: { readonly release: boolean }): Promise<boolean> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#abort.abort();
    await this.#underWay;
    if (!release || !this.#held || this.#known === null) return !this.#mayBeNamed;
    this.#held = false;
    const { uid, resourceVersion } = this.#known;
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion } };
    const { client } = this.#options;
    try {
      await client.request({ method: 'DELETE', path: this.#path, body, urgent: true, timeoutMs: RELEASE_MS });
      return true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return error.code === 'not-found'; // otherwise the Lease expires by itself
    }
  }

  #step(): void {
    this.#timer = null;
    this.#underWay = this.#renewOrTake().then((ok) => {
      if (this.#stopped || this.#lostTo !== null || this.#refused !== null) return;
      this.#timer = setTimeout(() => this.#step(), ok ? RENEW_MS : RETRY_MS);
    });
  }

  /** True: the next attempt may wait for the renewal interval. False: retry soon. */
  async #renewOrTake(): Promise<boolean> {
    const { now, onChange, onProblem } = this.#options;
    const before = this.state().held;
    try {
      const askedAtMs = now();
      const lease =
        this.#known === null ? await this.#take() : await this.#renew(this.#known.resourceVersion);
      if (lease === null) return false;
      this.#known = knownOf(lease);
      this.#held = true;
      // The watch showed another holder during the request. `onChange` starts a turn, which reads the watch again.
      const doubted = this.#contested;
      const lapsed = this.#hasLapsed();
      this.#contested = false;
      this.#okSinceMs ??= askedAtMs;
      this.#lastRenewOkMs = askedAtMs;
      if (this.#problem) onProblem(null);
      this.#problem = false;
      if (!before) this.#options.claim.taken('');
      this.#rival.forget();
      this.#rivalLease = null;
      if (!before || doubted || lapsed) onChange();
      return true;
    } catch (error) {
      if (this.#stopped) return false;
      if (!(error instanceof KubeError) && !(error instanceof NameTakenError)) throw error;
      this.#okSinceMs = null;
      this.#problem = true;
      onProblem(error);
      return false;
    }
  }

  /** null: another process was faster, or it is not yet known whether the other holder is alive. The caller retries. */
  async #take(): Promise<LeaseObject | null> {
    const found = await this.#read();
    const nowMs = this.#options.wallNow();
    const reason = found === null ? await this.#reasonToCreate() : await this.#reason(found);
    if (reason === 'none') return null;
    const lease = this.#ownLease(found, nowMs);
    const mayBeNamed = this.#mayBeNamed;
    this.#mayBeNamed = true;
    try {
      if (found === null) return await this.#create(lease);
      const taken = await this.#replace(found, lease);
      this.#tellTaken(leaseHolder(found), reason);
      return taken;
    } catch (error) {
      if (error instanceof KubeError && (error.code === 'conflict' || error.code === 'already-exists')) {
        this.#mayBeNamed = mayBeNamed;
        return null;
      }
      throw error;
    }
  }

  #ownLease(found: LeaseObject | null, nowMs: number): LeaseObject {
    const { namespace, instance, holder, host, tags } = this.#options;
    const { process, daemonSet, clusterNamespace } = this.#options;
    return leaseOf({
      instance,
      namespace,
      holder,
      host,
      ...(process !== undefined && { process }),
      ...(daemonSet !== undefined && { daemonSet }),
      ...(clusterNamespace !== undefined && { clusterNamespace }),
      acquiredAtMs: nowMs,
      renewedAtMs: nowMs,
      transitions: found === null ? 0 : (found.spec?.leaseTransitions ?? 0) + 1,
      tags,
    });
  }

  async #create(lease: LeaseObject): Promise<LeaseObject> {
    const path = this.#path.slice(0, this.#path.lastIndexOf('/'));
    const made = await this.#request({ method: 'POST', path, body: lease });
    if (!this.#held || !this.#problem) return made;
    // If RBAC allows create but not patch, other instances delete the Lease again and again. Only a renewal proves recovery.
    this.#known = knownOf(made);
    return this.#prolong(this.#known.resourceVersion);
  }

  #replace(found: LeaseObject, lease: LeaseObject): Promise<LeaseObject> {
    const { resourceVersion } = found.metadata ?? {};
    const metadata = { ...metadataPatch(found.metadata, lease.metadata), resourceVersion };
    return this.#request({ method: 'PATCH', patch: 'merge', body: { metadata, spec: lease.spec } });
  }

  /** As `#reason`, for a Lease that was deleted: its holder may be alive and create the Lease again. */
  async #reasonToCreate(): Promise<ClaimReason | null | 'none'> {
    if (this.#rivalLease === null || this.#rival.mayCreate(this.#options.now())) return null;
    return (await this.#options.claim.reason(this.#rivalLease)) ?? 'none';
  }

  /** Why this process may take the Lease; null: no live process holds it. `none`: this process may not take the Lease now. */
  async #reason(found: LeaseObject): Promise<ClaimReason | null | 'none'> {
    const { instance, holder, host, claim, now } = this.#options;
    const rival = this.#rival.verdict(found, holder, now());
    if (rival.kind === 'none') return null;
    this.#rivalLease = found;
    const reason = await claim.reason(found);
    if (reason !== null) return reason;
    if (rival.kind === 'unknown') return 'none';
    const error = new NameTakenError(instance, rival, host !== '' && rival.host === host);
    if (rival.certain) {
      this.#refused = error.message;
      this.#options.onChange();
    }
    throw error;
  }

  #tellTaken(from: LeaseHolder, reason: ClaimReason | null): void {
    const { holder, claim, onTaken } = this.#options;
    if (from.holder === '' || from.holder === holder) return;
    claim.taken(from.holder);
    onTaken(from, reason);
  }

  async #renew(resourceVersion: string): Promise<LeaseObject | null> {
    try {
      return await this.#prolong(resourceVersion);
    } catch (error) {
      if (!(error instanceof KubeError) || (error.code !== 'conflict' && error.code !== 'not-found'))
        throw error;
    }
    const found = await this.#read();
    const holder = found?.spec?.holderIdentity ?? '';
    if (found !== null && holder !== '' && holder !== this.#options.holder && !this.#isBefore(found)) {
      this.#held = false;
      this.#mayBeNamed = false;
      this.#lostTo = holder;
      this.#options.onChange();
      return null;
    }
    // Another client edited or deleted the Lease, or the API server was restored from a backup: take the Lease again.
    this.#known = null;
    return this.#take();
  }

  #prolong(resourceVersion: string): Promise<LeaseObject> {
    const body = { metadata: { resourceVersion }, spec: { renewTime: microTime(this.#options.wallNow()) } };
    return this.#request({ method: 'PATCH', patch: 'merge', body });
  }

  #hasLapsed(): boolean {
    return (
      this.#held && this.#lastRenewOkMs !== null && this.#options.now() - this.#lastRenewOkMs >= DURATION_MS
    );
  }

  /**
   * Whether this Lease is older than our takeover. After a restore from a backup, the API server shows our predecessor again, which
   * has exited. Both times come from this host's clock, which may have been set back, so the transition count must be lower too.
   */
  #isBefore({ spec }: LeaseObject): boolean {
    const known = this.#known;
    if (known === null) return false;
    const acquired = Date.parse(spec?.acquireTime ?? '');
    return (spec?.leaseTransitions ?? 0) < known.transitions && acquired <= known.acquiredAtMs;
  }

  async #read(): Promise<LeaseObject | null> {
    try {
      return await this.#request({ method: 'GET' });
    } catch (error) {
      if (error instanceof KubeError && error.code === 'not-found') return null;
      throw error;
    }
  }

  async #request(request: {
    method: 'GET' | 'POST' | 'PATCH';
    path?: string;
    patch?: 'merge';
    body?: object;
  }): Promise<LeaseObject> {
    const { signal } = this.#abort;
    const path = request.path ?? this.#path;
    // Urgent: other instances consider this one dead if it cannot renew, so renewals must not queue behind slow requests.
    const limits = { timeoutMs: REQUEST_MS, signal, urgent: true };
    const answer = await this.#options.client.request<LeaseObject>({ ...request, path, ...limits });
    return objectIn(answer, request.method.toLowerCase(), path);
  }
}

/** The problem to show to the operator. `failure`: why the last renewal failed; null if it succeeded. */
export function leaseProblems(failure: string | null, takenForDead: boolean): readonly Problem[] {
  if (!takenForDead) return failure === null ? [] : [{ origin: 'lease', reason: failure }];
  const reason =
    `${failure ?? 'our Lease was not renewed'}; the other instances renew theirs and consider this instance dead, so it ` +
    'publishes nothing new until a renewal succeeds: allow it to patch its Lease (RBAC, admission webhooks)';
  return [{ origin: 'lease', reason }];
}

interface Known {
  readonly resourceVersion: string;
  readonly uid: string;
  readonly transitions: number;
  readonly acquiredAtMs: number;
}

/** Must not throw, whatever the API server returns. */
function knownOf({ metadata, spec }: LeaseObject): Known {
  const acquiredAtMs = Date.parse(spec?.acquireTime ?? '');
  return {
    resourceVersion: metadata?.resourceVersion ?? '',
    uid: metadata?.uid ?? '',
    transitions: spec?.leaseTransitions ?? 0,
    acquiredAtMs: Number.isNaN(acquiredAtMs) ? 0 : acquiredAtMs,
  };
}
