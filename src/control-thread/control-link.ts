// The main thread's end of the boundary: starts the control thread, keeps its last published state and forwards its messages.
// `health`, `withdraw` and `stop` wait with a deadline. While the control thread is busy or stuck, the routes stay as they are.
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { RunConfig } from '../cli/config/config.ts';
import type { KubernetesStatus } from '../control/apply/kubernetes-status.ts';
import type { ReadyCheck } from '../control/objects/ready-check.ts';
import type { TurnResult } from '../control/turn-result.ts';
import type { TargetHealth } from '../health/target-health.ts';
import type { PortOutcome } from '../routing/route-table.ts';
import type { Log } from '../telemetry/log/log-fields.ts';
import { changedDesired, type DesiredChanges, NOTHING_DESIRED } from './control-changes.ts';
import { ControlHeartbeat } from './control-heartbeat.ts';
import type { FromControl, ProcessOrigin, ToControl } from './control-messages.ts';

export interface ControlLinkOptions {
  readonly config: RunConfig;
  readonly log: Log;
  /** The script of the thread. Tests pass another one. */
  readonly script?: URL;
  readonly withdrawalDeadlineMs?: number;
  readonly stopDeadlineMs?: number;
}

/** Called from `start` on. */
export interface ControlHandlers {
  /** A new state. `changes` holds the parts that differ from the previous state. */
  readonly onPublished: (desired: TurnResult, changes: DesiredChanges) => void;
  /** The number of backends that came up and went down. */
  readonly onHealthChanged: (up: number, down: number) => void;
  readonly onTurns: (durationsMs: readonly number[]) => void;
}

export interface HealthAnswer {
  readonly health: ReadonlyMap<string, TargetHealth>;
  /**
   * When the answer arrived, in milliseconds since the epoch; null before the first answer. While the control thread is busy, this
   * is the time of an earlier answer.
   */
  readonly atMs: number | null;
}

/** The control thread exited unexpectedly, which is a bug. The program ends, because nothing updates the routes any more. */
export class ControlThreadError extends Error {
  readonly code = 'ECONTROLTHREAD';
}

/** The control thread cannot start, for a reason that the operator can fix. */
export class ControlRefusal extends Error {
  readonly code = 'EKUBECONFIG';
}

/** How long `/status` waits for fresh health. After that it shows the last known health. */
const HEALTH_DEADLINE_MS = 250;

/** Long enough for a busy control thread (a large manifest) to finish and exit. After that, the thread is terminated. */
const STOP_DEADLINE_MS = 5000;

/** Added to the propagation wait. The control thread has a shorter deadline, so this one passes only if the thread is stuck. */
const WITHDRAWAL_DEADLINE_MS = 6000;

/** From the kernel: node:crypto would cost the main thread a megabyte, and has no other use there. */
const randomId = (): string =>
  readFileSync('/proc/sys/kernel/random/uuid', 'utf8').trim().replaceAll('-', '').slice(0, 12);

export class ControlLink {
  /** Distinguishes this process from its predecessor and its successor, in the Lease and in a handover. */
  readonly processId = randomId();
  /** Rejects when the control thread fails; never resolves. */
  readonly failed: Promise<never>;
  /** Resolves when the routes reflect the first health verdicts. */
  readonly settled: Promise<void>;
  /** Resolves when each list was read and the first health checks are in; never resolves while the Kubernetes API is not readable. */
  readonly able: Promise<void>;
  /** Resolves when every check of the control side has passed. */
  readonly ready: Promise<void>;
  readonly #options: ControlLinkOptions;
  #handlers: ControlHandlers | null = null;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #started = Promise.withResolvers<void>();
  readonly #heartbeat: ControlHeartbeat;
  readonly #withdrawn = Promise.withResolvers<void>();
  #supersede: (holder: string) => void;
  #kubernetes: KubernetesStatus | null = null;
  #refusal: string | null = null;
  #settle: () => void;
  #becomeAble: () => void;
  #becomeReady: () => void;
  #refuseLease: (reason: string) => void;
  #checks: readonly ReadyCheck[] = [{ name: 'control', failure: 'starting' }];
  #desired = NOTHING_DESIRED;
  #health: HealthAnswer = { health: new Map(), atMs: null };
  #healthAnswer: PromiseWithResolvers<void> | null = null;
  /** Backend keys. The number of backends bounds this set, even if many clients fail while the control thread is busy. */
  readonly #failedDials = new Set<string>();
  #dialsUnderWay = false;
  /** Port outcomes that are not sent yet; null: none. */
  #ports: ReadonlyMap<string, PortOutcome> | null = null;
  #portsUnderWay = false;
  #stopping: Promise<void> | null = null;
  #ended = false;

  /** Starts the thread, which loads its code in parallel with the main thread. It observes nothing before `start`. */
  constructor(options: ControlLinkOptions) {
    this.#options = options;
    const settled = Promise.withResolvers<void>();
    this.settled = settled.promise;
    this.#settle = settled.resolve;
    const able = Promise.withResolvers<void>();
    this.able = able.promise;
    this.#becomeAble = able.resolve;
    const ready = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.#becomeReady = ready.resolve;
    const refused = Promise.withResolvers<string>();
    this.leaseRefused = refused.promise;
    this.#refuseLease = refused.resolve;
    const superseded = Promise.withResolvers<string>();
    this.superseded = superseded.promise;
    this.#supersede = superseded.resolve;
    this.#heartbeat = new ControlHeartbeat({
      ask: () => this.#post({ kind: 'beat' }),
      onStall: (sinceMs) =>
        options.log(
          'error',
          { since: new Date(sinceMs).toISOString() },
          'control thread does not answer: clients are served by the last known routes',
        ),
      onRecovery: (silentMs) =>
        options.log('warn', { silentMs: Math.round(silentMs) }, 'control thread answers again'),
    });
    // The same file extension as this file: compiled JavaScript, or TypeScript source.
    const script = options.script ?? new URL(`./control-thread${import.meta.url.slice(-3)}`, import.meta.url);
    this.#worker = new Worker(script, { name: 'control', workerData: options.config });
    this.#worker.on('message', (message: FromControl) => this.#receive(message));
    let cause: unknown;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    const failure = Promise.withResolvers<never>();
    this.failed = failure.promise;
    this.failed.catch(() => {}); // no unhandled rejection when the owner no longer waits for it
    // On `exit`, Node has delivered every message that the thread sent.
    this.#exited = new Promise((resolve) =>
      this.#worker.once('exit', () => {
        this.#end();
        resolve();
        if (this.#stopping !== null && cause === undefined) return;
        if (this.#refusal !== null) {
          failure.reject(new ControlRefusal(this.#refusal));
          return;
        }
        const why = cause instanceof Error ? cause.message : 'no error was reported';
        failure.reject(new ControlThreadError(`control thread exited unexpectedly: ${why}`, { cause }));
      }),
    );
  }

  /** Resolves after the first turn, or when the thread ends earlier. */
  start(handlers: ControlHandlers, predecessor: ProcessOrigin['predecessor'] = null): Promise<void> {
    this.#handlers = handlers;
    if (this.#stopping === null && !this.#ended) {
      this.#post({ kind: 'start', processId: this.processId, predecessor });
      this.#heartbeat.start();
    }
    return this.#started.promise;
  }

  /** Resolves with the holder's name when another process on this node supersedes this one; never rejects. */
  readonly superseded: Promise<string>;

  /** Resolves with the reason when another process keeps the Lease of this node; never rejects. */
  readonly leaseRefused: Promise<string>;

  /** What the control side must have done once before this process is ready. */
  get readyChecks(): readonly ReadyCheck[] {
    return this.#checks;
  }

  /** The Kubernetes status of the last beat or health answer; null without Kubernetes. */
  get kubernetes(): KubernetesStatus | null {
    return this.#kubernetes;
  }

  /** Withdraws this instance from Kubernetes. Resolves when that is done or the deadline passes. */
  async withdraw(): Promise<void> {
    if (this.#ended || this.#stopping !== null) return;
    this.#post({ kind: 'withdraw' });
    let timer: NodeJS.Timeout | undefined;
    const { config, withdrawalDeadlineMs = WITHDRAWAL_DEADLINE_MS } = this.#options;
    const deadline = new Promise((resolve) => {
      timer = setTimeout(resolve, config.propagationWaitMs + withdrawalDeadlineMs);
    });
    await Promise.race([this.#withdrawn.promise, deadline]);
    clearTimeout(timer);
  }

  /** The last published state. */
  get desired(): TurnResult {
    return this.#desired;
  }

  get lagMs(): number {
    return this.#heartbeat.lagMs;
  }

  get stalledSinceMs(): number | null {
    return this.#heartbeat.stalledSinceMs;
  }

  listening(address: string, port: number): void {
    this.#post({ kind: 'listening', address, port });
  }

  dialFailed(backend: string): void {
    this.#failedDials.add(backend);
    this.#sendFailedDials();
  }

  /** The outcomes of all wanted ports. */
  portsOpened(ports: ReadonlyMap<string, PortOutcome>): void {
    this.#ports = ports;
    this.#sendPorts();
  }

  /** The probe results. Waits a short time for a fresh answer. Concurrent callers share one request. */
  async health(): Promise<HealthAnswer> {
    const hasProbes = this.#desired.backends.length > 0 || this.#options.config.source.kind === 'kubernetes';
    if (this.#ended || !hasProbes) return this.#health;
    if (this.#healthAnswer === null) {
      this.#healthAnswer = Promise.withResolvers();
      this.#post({ kind: 'ask-health' });
    }
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise((resolve) => {
      timer = setTimeout(resolve, HEALTH_DEADLINE_MS);
    });
    await Promise.race([this.#healthAnswer.promise, deadline]);
    clearTimeout(timer);
    return this.#health;
  }

  /** Resolves when the thread has ended and all its messages are delivered. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#post({ kind: 'stop' });
    const timer = setTimeout(() => {
      this.#options.log('warn', {}, 'control thread does not exit in time: terminating it');
      void this.#worker.terminate();
    }, this.#options.stopDeadlineMs ?? STOP_DEADLINE_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #post(message: ToControl): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromControl): void {
    switch (message.kind) {
      case 'started':
        this.#started.resolve();
        return;
      case 'settled':
        this.#settle();
        return;
      case 'readiness':
        this.#checks = message.checks;
        if (message.able) this.#becomeAble();
        if (message.checks.every(({ failure }) => failure === null)) this.#becomeReady();
        return;
      case 'published':
        this.#desired = changedDesired(this.#desired, message.changes);
        this.#handlers?.onPublished(this.#desired, message.changes);
        this.#post({ kind: 'taken' });
        return;
      case 'dials-noted':
        this.#dialsUnderWay = false;
        this.#sendFailedDials();
        return;
      case 'ports-noted':
        this.#portsUnderWay = false;
        this.#sendPorts();
        return;
      case 'refused':
        this.#refusal = message.reason;
        return;
      case 'withdrawn':
        this.#withdrawn.resolve();
        return;
      case 'lease-refused':
        this.#refuseLease(message.reason);
        return;
      case 'superseded':
        this.#supersede(message.holder);
        return;
      case 'health-changed':
        this.#handlers?.onHealthChanged(message.up, message.down);
        return;
      case 'beat':
        this.#heartbeat.answered();
        this.#kubernetes = message.kubernetes;
        this.#handlers?.onTurns(message.turnsMs);
        return;
      case 'health':
        this.#health = { health: message.health, atMs: Date.now() };
        this.#kubernetes = message.kubernetes;
        this.#healthAnswer?.resolve();
        this.#healthAnswer = null;
        return;
      case 'log':
        this.#options.log(message.level, message.facts, message.message);
        return;
    }
  }

  #sendFailedDials(): void {
    if (this.#dialsUnderWay || this.#failedDials.size === 0) return;
    this.#post({ kind: 'dials-failed', backends: [...this.#failedDials] });
    this.#failedDials.clear();
    this.#dialsUnderWay = true;
  }

  #sendPorts(): void {
    if (this.#portsUnderWay || this.#ports === null) return;
    this.#post({ kind: 'ports', ports: this.#ports });
    this.#ports = null;
    this.#portsUnderWay = true;
  }

  /** Resolves every open wait: no answer can come after the thread ends. */
  #end(): void {
    this.#ended = true;
    this.#heartbeat.stop();
    this.#started.resolve();
    this.#settle();
    this.#healthAnswer?.resolve();
    this.#withdrawn.resolve();
  }
}
