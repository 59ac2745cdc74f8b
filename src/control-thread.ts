// Wires the control side, in a worker thread of its own: source, netns directory, health and loop. What it decides goes to the main
// thread as messages; it never touches a client's connection, and may take its time.
import { parentPort, workerData } from 'node:worker_threads';
import type { RunConfig } from './config/config.ts';
import { ControlLoop } from './control/control-loop.ts';
import { FileSource } from './control/file-source.ts';
import type { FromControl, LogLevel, ToControl } from './control-messages.ts';
import { ControlOutbox } from './control-outbox.ts';
import { HealthMonitor } from './health/health-monitor.ts';
import { DEFAULT_HEALTH_SETTINGS } from './health/health-settings.ts';
import { createProbe } from './health/probe.ts';
import type { TargetHealth } from './health/target-health.ts';
import { native } from './netns/native.ts';
import { NetnsDirectory } from './netns/netns-directory.ts';

/** So long may the first health verdicts take before clients are served without them. */
const SETTLE_TIMEOUT_MS = 10_000;
const SETTLE_LOOK_MS = 20;

/** Between two beats; more are not counted, which no average notices. */
const MAX_TURNS_TOLD = 1000;

class ControlThread {
  readonly #post: (message: FromControl) => void;
  readonly #netns: NetnsDirectory;
  readonly #health: HealthMonitor;
  readonly #loop: ControlLoop;
  readonly #outbox: ControlOutbox;
  #turnsMs: number[] = [];
  #stopping = false;

  constructor(config: RunConfig, post: (message: FromControl) => void) {
    this.#post = post;
    this.#outbox = new ControlOutbox((changes) => post({ kind: 'published', changes }));
    this.#health = new HealthMonitor({
      probe: createProbe({ addon: native, kind: config.health.kind, timeoutMs: config.health.timeoutMs }),
      settings: { ...DEFAULT_HEALTH_SETTINGS, ...config.health },
      onChange: (_key, { up }) => {
        post({ kind: 'health-changed', up });
        this.#loop.trigger('health');
      },
    });
    this.#netns = new NetnsDirectory({
      directory: config.netnsDirectory,
      addon: native,
      onChange: () => this.#loop.trigger('netns'),
      onProblem: (message) => this.#log('warn', {}, message),
    });
    if (config.source.kind === 'kubernetes')
      throw new Error('--source kubernetes: not in this version yet; use --source file:<directory>');
    this.#loop = new ControlLoop({
      // The Kubernetes source is chosen here, by config.source, once there is one.
      source: new FileSource({
        directory: config.source.directory,
        settings: { proxyAlways: config.proxyAlways },
        intervalMs: config.intervalMs,
      }),
      netns: this.#netns,
      health: this.#health,
      settings: { namespace: config.namespace, defaultCluster: config.defaultCluster },
      intervalMs: config.intervalMs,
      // Routes first: what publishes Services and EndpointSlices follows here.
      publish: (desired) => this.#outbox.put(desired),
      onTurn: (durationMs) => {
        if (this.#turnsMs.length < MAX_TURNS_TOLD) this.#turnsMs.push(durationMs);
      },
      onTurnError: (error) =>
        this.#log(
          'error',
          { err: plainError(error) },
          'a turn of the control loop failed; the next one tries again',
        ),
    });
  }

  receive(message: ToControl): void {
    switch (message.kind) {
      case 'start':
        void this.#start(); // what it throws is a bug, and ends the thread and with it the process
        return;
      case 'listening':
        // The address and port that EndpointSlices will name.
        return;
      case 'dials-failed':
        for (const backend of message.backends) this.#health.dialFailed(backend);
        this.#post({ kind: 'dials-noted' });
        return;
      case 'taken':
        this.#outbox.taken();
        return;
      case 'beat':
        this.#post({ kind: 'beat', turnsMs: this.#turnsMs });
        this.#turnsMs = [];
        return;
      case 'ask-health':
        this.#post({ kind: 'health', health: this.#health.snapshot() });
        return;
      case 'stop':
        void this.#stop();
        return;
    }
  }

  async #start(): Promise<void> {
    await this.#netns.start();
    await this.#loop.start();
    if (this.#stopping) return;
    this.#post({ kind: 'started' });
    await this.#firstVerdicts();
    await this.#outbox.empty();
    this.#post({ kind: 'settled' });
  }

  /** A client that connects while the first checks run would be told that its cluster is down: so they come first. */
  async #firstVerdicts(): Promise<void> {
    const end = performance.now() + SETTLE_TIMEOUT_MS;
    while (!this.#stopping && performance.now() < end) {
      if ([...this.#health.snapshot().values()].every(isSettled)) return;
      await new Promise((resolve) => setTimeout(resolve, SETTLE_LOOK_MS));
    }
  }

  /** Without a handle left, and with the port closed, the thread ends by itself: nothing is torn out of a system call. */
  async #stop(): Promise<void> {
    this.#stopping = true;
    await this.#loop.stop();
    await Promise.all([this.#netns.stop(), this.#health.stop()]);
    parentPort?.close();
  }

  #log(level: LogLevel, facts: Readonly<Record<string, unknown>>, message: string): void {
    this.#post({ kind: 'log', level, facts, message });
  }
}

function isSettled(health: TargetHealth): boolean {
  return health.up || health.lastProbe?.ok === false;
}

/** An error loses its code when it is copied between threads. */
function plainError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, code } = error as NodeJS.ErrnoException;
  return { type: name, message, stack, ...(code !== undefined && { code }) };
}

if (parentPort === null) throw new Error('this file is the control thread: control-link.ts starts it');
const port = parentPort;
const control = new ControlThread(workerData as RunConfig, (message) => port.postMessage(message));
port.on('message', (message: ToControl) => control.receive(message));
