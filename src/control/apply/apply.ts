// Executes plans: several objects in parallel, at most one request per object. A write that fails backs off and never blocks the
// write of another object. It makes no decision of its own.
import { resourcePath } from '../../kube/api-path.ts';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { objectIn } from '../../kube/object-answer.ts';
import {
  type KubeconfigFinding,
  type KubeconfigSecret,
  observedService,
  observedSlice,
} from '../objects/observed-objects.ts';
import type { Problem } from '../objects/problem.ts';
import type { EndpointSliceObject, ServiceObject } from '../objects/published-objects.ts';
import { type Action, actionKey, type Resource } from '../plan/plan.ts';
import type { WrittenObjects } from '../sources/written-objects.ts';
import { writeKubeconfig } from './kubeconfig-write.ts';

export type WriteOutcome =
  | { readonly kind: 'done'; readonly action: Action; readonly changed: boolean }
  /** Another writer changed the object first. The next plan decides again. */
  | { readonly kind: 'overtaken'; readonly action: Action }
  | {
      readonly kind: 'failed';
      readonly action: Action;
      readonly error: KubeError;
      readonly retryInMs: number;
    };

export interface ApplierOptions {
  readonly client: Requester;
  readonly written: {
    readonly services: WrittenObjects<ServiceObject>;
    readonly slices: WrittenObjects<EndpointSliceObject>;
    readonly secrets: WrittenObjects<KubeconfigSecret>;
  };
  /** Whether the data plane has the routes of the plan. Ready endpoints are published only then. Removals never wait. */
  readonly mayPublish?: () => boolean;
  readonly onFinding: (key: string, finding: KubeconfigFinding) => void;
  readonly onOutcome: (outcome: WriteOutcome) => void;
  readonly now: () => number;
  readonly random: () => number;
}

interface Failure {
  /** The backoff delays only a retry of the same attempt (`attemptOf`). */
  readonly attempt: string;
  readonly times: number;
  readonly retryAtMs: number;
  readonly error: KubeError | null;
}

const CONCURRENCY = 8;
/** Additional slots for removals of slices, so that dead endpoints are removed even if all other requests hang. */
const WITHDRAWALS = 8;
const REQUEST_MS = 10_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 60_000;
/** The limit for removals of slices is shorter: clients fail as long as a dead slice stays. */
const LAST_WITHDRAWAL_RETRY_MS = 5000;
/** How long to wait for the watch to deliver the conflicting change. The time doubles with each conflict, in case the watch is broken. */
const OVERTAKEN_MS = 1000;
const LAST_OVERTAKEN_MS = 30_000;

export class Applier {
  readonly #options: ApplierOptions;
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, Failure>();
  readonly #abort = new AbortController();
  #waiting: readonly Action[] = [];
  #planned: ReadonlySet<string> = new Set();

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  /** Replaces planned actions that have not started. Requests in flight continue. */
  apply(actions: readonly Action[]): void {
    this.#forgetOld();
    this.#waiting = actions;
    this.#planned = new Set(actions.map(actionKey));
    this.#start();
  }

  /** Resumes waiting actions after `mayPublish` became true. */
  resume(): void {
    this.#start();
  }

  /** The last failure of each object that still has a planned action. */
  problems(): readonly Problem[] {
    const problems: Problem[] = [];
    for (const [origin, { error }] of this.#failures)
      if (error !== null && this.#planned.has(origin)) problems.push({ origin, reason: error.message });
    return problems;
  }

  /** When the next retry is due (monotonic); null: none is pending. */
  retryAtMs(): number | null {
    let at: number | null = null;
    for (const [key, { retryAtMs }] of this.#failures)
      if (this.#planned.has(key) && retryAtMs > this.#options.now())
        at = Math.min(at ?? retryAtMs, retryAtMs);
    return at;
  }

  get busy(): boolean {
    return this.#inFlight.size > 0;
  }

  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight.values());
  }

  /** Starts nothing more and aborts requests in flight. */
  async stop(): Promise<void> {
    this.#waiting = [];
    this.#abort.abort();
    await this.idle();
  }

  #start(): void {
    const left: Action[] = [];
    const mayPublish = this.#options.mayPublish?.() ?? true;
    for (const action of this.#waiting) {
      const key = actionKey(action);
      if (this.#abort.signal.aborted) break;
      if (this.#inFlight.has(key) || this.#mustWait(key, action)) continue;
      const most = isWithdrawal(action) ? CONCURRENCY + WITHDRAWALS : CONCURRENCY;
      if (this.#inFlight.size >= most || (!mayPublish && publishesReadyEndpoint(action))) {
        left.push(action);
        continue;
      }
      this.#inFlight.set(key, this.#execute(key, action));
    }
    this.#waiting = left;
  }

  #mustWait(key: string, action: Action): boolean {
    const failure = this.#failures.get(key);
    if (failure === undefined || failure.retryAtMs <= this.#options.now()) return false;
    return failure.attempt === attemptOf(action, failure.error === null);
  }

  async #execute(key: string, action: Action): Promise<void> {
    // Yield once: the caller must add this promise to the map first.
    await null;
    const outcome = await this.#request(action).then(
      (changed): WriteOutcome => {
        this.#failures.delete(key);
        return { kind: 'done', action, changed };
      },
      (error: unknown): WriteOutcome | null => {
        if (this.#abort.signal.aborted) return null;
        if (!(error instanceof KubeError)) throw error;
        return this.#failed(key, action, error);
      },
    );
    this.#inFlight.delete(key);
    if (outcome === null) return;
    this.#options.onOutcome(outcome);
    this.#start();
  }

  #failed(key: string, action: Action, error: KubeError): WriteOutcome {
    const now = this.#options.now();
    // A missing object was deleted by another writer. On create, not-found means a missing namespace, which is a normal failure.
    const overtaken =
      error.code === 'conflict' ||
      error.code === 'already-exists' ||
      (error.code === 'not-found' && action.kind !== 'create');
    const attempt = attemptOf(action, overtaken);
    const before = this.#failures.get(key);
    const times = before?.attempt === attempt ? before.times + 1 : 1;
    if (overtaken) {
      const waitMs = Math.min(LAST_OVERTAKEN_MS, OVERTAKEN_MS * 2 ** Math.min(times - 1, 10));
      this.#failures.set(key, { attempt, times, retryAtMs: now + waitMs, error: null });
      return { kind: 'overtaken', action };
    }
    const longest = isWithdrawal(action) ? LAST_WITHDRAWAL_RETRY_MS : LAST_RETRY_MS;
    const backOff = Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(times - 1, 20));
    // Jitter between 50 and 100 %: instances that failed together must not retry together.
    const retryInMs = Math.max(error.retryAfterMs ?? 0, backOff * (0.5 + this.#options.random() / 2));
    this.#failures.set(key, { attempt, times, retryAtMs: now + retryInMs, error });
    return { kind: 'failed', action, error, retryInMs };
  }

  /** Drops old failures. If the object still had a planned action, it would have been retried by now. */
  #forgetOld(): void {
    const now = this.#options.now();
    for (const [key, { retryAtMs }] of this.#failures)
      if (now > retryAtMs + 2 * LAST_RETRY_MS) this.#failures.delete(key);
  }

  /** Returns whether the object in the API changed. */
  async #request(action: Action): Promise<boolean> {
    const { client, written } = this.#options;
    const { signal } = this.#abort;
    const limits = { timeoutMs: REQUEST_MS, signal };
    const { resource, namespace, name } = action;
    const path = resourcePath({ ...GROUPS[resource], resource, namespace, name });
    switch (action.kind) {
      case 'create': {
        const collection = resourcePath({ ...GROUPS[resource], resource, namespace });
        const body = action.object;
        const made = await client.request<Answer>({ method: 'POST', path: collection, body, ...limits });
        this.#record(resource, name, objectIn(made, 'create', collection), null);
        return true;
      }
      case 'patch': {
        const { resourceVersion } = action;
        const patch = action.patch as { readonly metadata?: object };
        const body = { ...patch, metadata: { ...patch.metadata, resourceVersion } };
        const changed = await client.request<Answer>({ ...MERGE_PATCH, path, body, ...limits });
        this.#record(resource, name, objectIn(changed, 'patch', path), resourceVersion);
        return true;
      }
      case 'delete': {
        const { uid, resourceVersion } = action;
        const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion } };
        // `urgent`: the additional slots would be useless if the request had to wait for a connection.
        const urgent = isWithdrawal(action);
        await client.request({ method: 'DELETE', path, body, urgent, ...limits });
        this.#record(resource, name, null, resourceVersion);
        return true;
      }
      case 'kubeconfig': {
        const { server, tlsServerName, annotate } = action;
        const write = await writeKubeconfig(client, { path, server, tlsServerName, annotate, signal });
        const key = `${namespace}/${name}`;
        written.secrets.record(key, write.secret, write.replaced);
        this.#options.onFinding(key, write.finding);
        return write.changed;
      }
      case 'status': {
        const body = { status: action.status };
        await client.request({ ...MERGE_PATCH, path: `${path}/status`, body, ...limits });
        return true;
      }
    }
  }

  #record(resource: Resource, name: string, answer: Answer | null, replaced: string | null): void {
    const { services, slices } = this.#options.written;
    if (resource === 'services')
      services.record(name, answer === null ? null : observedService(answer), replaced);
    if (resource === 'endpointslices')
      slices.record(name, answer === null ? null : observedSlice(answer), replaced);
  }
}

const MERGE_PATCH = { method: 'PATCH', patch: 'merge' } as const;

interface Answer {
  readonly metadata: object;
  readonly [field: string]: unknown;
}

/** Whether the action deletes a slice, of this or of a dead instance. Clients fail until it is deleted. */
const isWithdrawal = ({ kind, resource }: Action): boolean =>
  kind === 'delete' && resource === 'endpointslices';

/** Whether the action publishes a ready endpoint, which sends clients to this instance. */
function publishesReadyEndpoint(action: Action): boolean {
  if (action.resource !== 'endpointslices' || (action.kind !== 'create' && action.kind !== 'patch'))
    return false;
  const { endpoints } = (action.kind === 'create' ? action.object : action.patch) as EndpointSliceObject;
  return endpoints?.some(({ conditions }) => conditions?.ready !== false) ?? false;
}

/** Identifies an attempt: its kind and, after a conflict, the version. The backoff of one attempt does not delay a different one. */
const attemptOf = (action: Action, byVersion: boolean): string =>
  byVersion && 'resourceVersion' in action ? `${action.kind} ${action.resourceVersion}` : action.kind;

const GROUPS: Readonly<Record<Resource, { readonly group: string; readonly version: string }>> = {
  services: { group: '', version: 'v1' },
  secrets: { group: '', version: 'v1' },
  leases: { group: 'coordination.k8s.io', version: 'v1' },
  endpointslices: { group: 'discovery.k8s.io', version: 'v1' },
  additionallisteners: { group: 'isthmus.dev', version: 'v1alpha1' },
};
