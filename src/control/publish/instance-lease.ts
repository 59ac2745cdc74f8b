// This instance's own Lease: taken when we are ready to serve, renewed while we live, given up at the end. There is one per node:
// a successor takes it over, and then this process writes nothing more. Says who holds it; decides nothing from it.
import { resourcePath } from '../../kube/api-path.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type LeaseObject, leaseOf, microTime, type Tags } from '../cluster-shape.ts';
import { leaseName } from '../instance-name.ts';
import type { OwnRenewals } from '../lease-liveness.ts';
import type { Requester } from './requester.ts';

export interface InstanceLeaseDependencies {
  readonly client: Requester;
  readonly namespace: string;
  readonly instance: string;
  /** `<instance>/<random>`: tells this process from its predecessor and its successor. */
  readonly holder: string;
  readonly tags: Tags;
  readonly now: () => number;
  readonly wallNow: () => number;
  /** Held or lost. */
  readonly onChange: () => void;
  readonly onProblem: (error: KubeError) => void;
}

export interface LeaseState extends OwnRenewals {
  readonly held: boolean;
  /** Who took it over; null while nobody did. */
  readonly lostTo: string | null;
}

const RENEW_MS = 10_000;
const RETRY_MS = 2000;
const REQUEST_MS = 8000;

export class InstanceLease {
  readonly #deps: InstanceLeaseDependencies;
  readonly #path: string;
  #known: { readonly resourceVersion: string; readonly uid: string } | null = null;
  #held = false;
  #lostTo: string | null = null;
  #okSinceMs: number | null = null;
  #lastRenewOkMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #underWay: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: InstanceLeaseDependencies) {
    this.#deps = deps;
    this.#path = resourcePath({
      group: 'coordination.k8s.io',
      version: 'v1',
      resource: 'leases',
      namespace: deps.namespace,
      name: leaseName(deps.instance),
    });
  }

  start(): void {
    if (this.#timer === null && !this.#stopped) this.#step();
  }

  state(): LeaseState {
    return {
      held: this.#held,
      lostTo: this.#lostTo,
      okSinceMs: this.#okSinceMs,
      lastRenewOkMs: this.#lastRenewOkMs,
    };
  }

  /** Renews no more. `release` deletes it, if it is still ours: the others need not wait for it to expire. */
  async stop({ release }: { readonly release: boolean }): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#underWay;
    if (!release || !this.#held || this.#known === null) return;
    this.#held = false;
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: this.#known };
    try {
      await this.#request({ method: 'DELETE', body });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // It expires by itself.
    }
  }

  #step(): void {
    this.#underWay = this.#renewOrTake().then((ok) => {
      if (this.#stopped || this.#lostTo !== null) return;
      this.#timer = setTimeout(() => this.#step(), ok ? RENEW_MS : RETRY_MS);
    });
  }

  async #renewOrTake(): Promise<boolean> {
    const { now, onChange, onProblem } = this.#deps;
    const before = this.#held;
    try {
      const askedAtMs = now();
      const lease =
        this.#known === null ? await this.#take() : await this.#renew(this.#known.resourceVersion);
      if (lease === null) return false;
      const { resourceVersion = '', uid = '' } = lease.metadata ?? {};
      this.#known = { resourceVersion, uid };
      this.#held = true;
      this.#okSinceMs ??= askedAtMs;
      this.#lastRenewOkMs = askedAtMs;
      if (!before) onChange();
      return true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      this.#okSinceMs = null;
      onProblem(error);
      return false;
    }
  }

  /** null: somebody was faster, look again. */
  async #take(): Promise<LeaseObject | null> {
    const { namespace, instance, holder, tags, wallNow } = this.#deps;
    const found = await this.#read();
    const nowMs = wallNow();
    const transitions = found === null ? 0 : (found.spec?.leaseTransitions ?? 0) + 1;
    const lease = leaseOf({
      instance,
      namespace,
      holder,
      acquiredAtMs: nowMs,
      renewedAtMs: nowMs,
      transitions,
      tags,
    });
    try {
      if (found === null) {
        const path = this.#path.slice(0, this.#path.lastIndexOf('/'));
        return await this.#request<LeaseObject>({ method: 'POST', path, body: lease });
      }
      const { resourceVersion } = found.metadata ?? {};
      const { labels, annotations } = lease.metadata ?? {};
      const metadata = { resourceVersion, labels, annotations };
      return await this.#request<LeaseObject>({
        method: 'PATCH',
        patch: 'merge',
        body: { metadata, spec: lease.spec },
      });
    } catch (error) {
      if (error instanceof KubeError && (error.code === 'conflict' || error.code === 'already-exists'))
        return null;
      throw error;
    }
  }

  async #renew(resourceVersion: string): Promise<LeaseObject | null> {
    const body = { metadata: { resourceVersion }, spec: { renewTime: microTime(this.#deps.wallNow()) } };
    try {
      return await this.#request<LeaseObject>({ method: 'PATCH', patch: 'merge', body });
    } catch (error) {
      if (!(error instanceof KubeError) || (error.code !== 'conflict' && error.code !== 'not-found'))
        throw error;
    }
    const found = await this.#read();
    const holder = found?.spec?.holderIdentity ?? null;
    if (found !== null && holder !== null && holder !== '' && holder !== this.#deps.holder) {
      this.#held = false;
      this.#lostTo = holder;
      this.#deps.onChange();
      return null;
    }
    // Edited, or deleted by somebody who tidied up: it is still ours to take.
    this.#known = null;
    return this.#take();
  }

  async #read(): Promise<LeaseObject | null> {
    try {
      return await this.#request<LeaseObject>({ method: 'GET' });
    } catch (error) {
      if (error instanceof KubeError && error.code === 'not-found') return null;
      throw error;
    }
  }

  #request<T>(request: {
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
    path?: string;
    patch?: 'merge';
    body?: object;
  }): Promise<T> {
    return this.#deps.client.request<T>({ path: this.#path, timeoutMs: REQUEST_MS, ...request });
  }
}
