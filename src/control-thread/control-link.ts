// The main thread's end of the control thread: starts it, keeps what it last published, passes on what it says. Nothing here waits
// for it but start and stop: a control thread that is busy, or stuck, leaves the routes as they are.
import { Worker } from 'node:worker_threads';
import type { RunConfig } from '../cli/config/config.ts';
import type { KubernetesStatus } from '../control/apply/kubernetes-status.ts';
import type { Desired } from '../control/desired/desired-state.ts';
import type { TargetHealth } from '../health/target-health.ts';
import type { PortOutcome } from '../routing/route-table.ts';
import { changedDesired, type DesiredChanges, NOTHING_DESIRED } from './control-changes.ts';
import { ControlHeartbeat } from './control-heartbeat.ts';
import type { FromControl, LogLevel, ToControl } from './control-messages.ts';

export interface ControlLinkDeps {
  readonly config: RunConfig;
  readonly log: (level: LogLevel, facts: Readonly<Record<string, unknown>>, message: string) => void;
  /** Tests stand in for the control thread. */
  readonly script?: URL;
  readonly withdrawalDeadlineMs?: number;
  readonly stopDeadlineMs?: number;
}

/** Told from the start on. */
export interface ControlHandlers {
  /** Another state is there; `changes` holds the parts that differ from the one before. */
  readonly onPublished: (desired: Desired, changes: DesiredChanges) => void;
  /** So many backends came up, and so many went down. */
  readonly onHealthChanged: (up: number, down: number) => void;
  readonly onTurns: (durationsMs: readonly number[]) => void;
}

export interface HealthAnswer {
  readonly health: ReadonlyMap<string, TargetHealth>;
  /** When it was so, in milliseconds since the epoch: earlier than now if the control thread is busy. null: never heard. */
  readonly atMs: number | null;
}

/** The control thread ended, and nobody had asked it to: a bug. Routes that nobody keeps up to date are not served on. */
export class ControlThreadError extends Error {
  readonly code = 'ECONTROLTHREAD';
}

/** The control thread cannot begin, and says what an operator can do about it. */
export class ControlRefusal extends Error {
  readonly code = 'EKUBECONFIG';
}

/** /status shows what was known before rather than wait longer. */
const HEALTH_DEADLINE_MS = 250;

/** A control thread that is in the middle of something (a large manifest) ends after it; one that is stuck is ended. */
const STOP_DEADLINE_MS = 5000;

/** Beside the propagation: it ends by itself before that, unless it is stuck. */
const WITHDRAWAL_DEADLINE_MS = 6000;

export class ControlLink {
  /** Rejects when the control thread fails; never resolves. */
  readonly failed: Promise<never>;
  /** The first health verdicts are there. */
  readonly settled: Promise<void>;
  readonly #deps: ControlLinkDeps;
  #handlers: ControlHandlers | null = null;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #started = Promise.withResolvers<void>();
  readonly #heartbeat: ControlHeartbeat;
  readonly #withdrawn = Promise.withResolvers<void>();
  #succeed: (holder: string) => void;
  #kubernetes: KubernetesStatus | null = null;
  #refusal: string | null = null;
  #settle: () => void;
  #desired = NOTHING_DESIRED;
  #health: HealthAnswer = { health: new Map(), atMs: null };
  #healthAnswer: PromiseWithResolvers<void> | null = null;
  /** By key, so there are no more than backends, however many clients fail while the control thread is busy. */
  readonly #failedDials = new Set<string>();
  #dialsUnderWay = false;
  /** What is not told yet of the ports; null: nothing new. */
  #ports: ReadonlyMap<string, PortOutcome> | null = null;
  #portsUnderWay = false;
  #stopping: Promise<void> | null = null;
  #ended = false;

  /** The thread starts to load its code, beside whatever the main thread does now; it looks at nothing before `start`. */
  constructor(deps: ControlLinkDeps) {
    this.#deps = deps;
    const settled = Promise.withResolvers<void>();
    this.settled = settled.promise;
    this.#settle = settled.resolve;
    const succeeded = Promise.withResolvers<string>();
    this.succeeded = succeeded.promise;
    this.#succeed = succeeded.resolve;
    this.#heartbeat = new ControlHeartbeat({
      ask: () => this.#post({ kind: 'beat' }),
      onStall: (sinceMs) =>
        deps.log(
          'error',
          { since: new Date(sinceMs).toISOString() },
          'the control thread does not answer: clients are served by the routes as they were',
        ),
      onRecovery: (silentMs) =>
        deps.log('warn', { silentMs: Math.round(silentMs) }, 'the control thread answers again'),
    });
    // As the same kind of file as this one: compiled, or TypeScript as it is.
    const script = deps.script ?? new URL(`./control-thread${import.meta.url.slice(-3)}`, import.meta.url);
    this.#worker = new Worker(script, { name: 'control', workerData: deps.config });
    this.#worker.on('message', (message: FromControl) => this.#receive(message));
    let cause: unknown;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    const failure = Promise.withResolvers<never>();
    this.failed = failure.promise;
    this.failed.catch(() => {}); // whoever started us waits for it, or has ended already
    // Only now is everything read that it said before its end.
    this.#exited = new Promise((resolve) =>
      this.#worker.once('exit', () => {
        this.#end();
        resolve();
        if (this.#stopping !== null && cause === undefined) return;
        if (this.#refusal !== null) {
          failure.reject(new ControlRefusal(this.#refusal));
          return;
        }
        const why = cause instanceof Error ? cause.message : 'nobody asked it to';
        failure.reject(new ControlThreadError(`the control thread ended: ${why}`, { cause }));
      }),
    );
  }

  /** Resolves after the first turn, or when it is stopped before. */
  start(handlers: ControlHandlers): Promise<void> {
    this.#handlers = handlers;
    if (this.#stopping === null && !this.#ended) {
      this.#post({ kind: 'start' });
      this.#heartbeat.start();
    }
    return this.#started.promise;
  }

  /** Rejects never; resolves with the holder's name when another process on this node has taken over. */
  readonly succeeded: Promise<string>;

  /** How we stood with the Kubernetes API at the last beat; null where there is none. */
  get kubernetes(): KubernetesStatus | null {
    return this.#kubernetes;
  }

  /** Sends clients elsewhere; resolves when that is done, or has taken too long. */
  async withdraw(): Promise<void> {
    if (this.#ended || this.#stopping !== null) return;
    this.#post({ kind: 'withdraw' });
    let timer: NodeJS.Timeout | undefined;
    const { config, withdrawalDeadlineMs = WITHDRAWAL_DEADLINE_MS } = this.#deps;
    const deadline = new Promise((resolve) => {
      timer = setTimeout(resolve, config.propagationWaitMs + withdrawalDeadlineMs);
    });
    await Promise.race([this.#withdrawn.promise, deadline]);
    clearTimeout(timer);
  }

  /** What was last published. */
  get desired(): Desired {
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

  /** What came of each port that was asked for: all of them. */
  portsOpened(ports: ReadonlyMap<string, PortOutcome>): void {
    this.#ports = ports;
    this.#sendPorts();
  }

  /** What the probes found: asked for, but not waited for long. Any number of callers share one question. */
  async health(): Promise<HealthAnswer> {
    const hasProbes = this.#desired.backends.length > 0 || this.#deps.config.source.kind === 'kubernetes';
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

  /** Resolves when the thread has ended, and all that it said before has been passed on. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#post({ kind: 'stop' });
    const timer = setTimeout(() => {
      this.#deps.log('warn', {}, 'the control thread does not end by itself: ending it');
      void this.#worker.terminate();
    }, this.#deps.stopDeadlineMs ?? STOP_DEADLINE_MS);
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
      case 'succeeded':
        this.#succeed(message.holder);
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
        this.#deps.log(message.level, message.facts, message.message);
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

  /** Nobody waits for an answer that cannot come. */
  #end(): void {
    this.#ended = true;
    this.#heartbeat.stop();
    this.#started.resolve();
    this.#settle();
    this.#healthAnswer?.resolve();
    this.#withdrawn.resolve();
  }
}
