// Wires the control side in its own worker thread: source, netns directory, health checks and control loop. It sends its results to
// the main thread as messages. It never handles a client's connection, so slow work here delays no client.
import { parentPort, workerData } from 'node:worker_threads';
import type { RunConfig } from '../cli/config/config.ts';
import { ControlLoop, type ControlLoopOptions } from '../control/control-loop.ts';
import { TurnCache } from '../control/objects/turn-cache.ts';
import type { ClusterSource } from '../control/sources/cluster-source.ts';
import { FileSource } from '../control/sources/file-source.ts';
import { CertificateHandshake, HANDSHAKE_TIMEOUT_MS } from '../health/certificate-handshake.ts';
import { CertificateReader } from '../health/certificate-reader.ts';
import { HealthGroups, probesAtOnce } from '../health/health-groups.ts';
import { healthSettings } from '../health/health-settings.ts';
import type { ClosableProbe } from '../health/probe.ts';
import { createProbe } from '../health/probe-kinds.ts';
import { trimStartupHeap } from '../lifecycle/trim-startup-heap.ts';
import { native } from '../netns/native.ts';
import { NetnsDirectory } from '../netns/netns-directory.ts';
import type { PortOutcome } from '../routing/route-table.ts';
import type { Log } from '../telemetry/log/log-fields.ts';
import { version } from '../version.ts';
import type { ControlKubernetes } from './control-kubernetes.ts';
import type { FromControl, ProcessOrigin, ToControl } from './control-messages.ts';
import { ControlOutbox } from './control-outbox.ts';
import { Readiness } from './readiness.ts';

/** How long the start waits for the first health verdicts. After that, clients are served without them. */
const SETTLE_TIMEOUT_MS = 10_000;
const SETTLE_LOOK_MS = 20;
/** How long the start waits for the Machines of control planes. */
const MACHINES_TIMEOUT_MS = 5000;

/** How long the requests of the withdrawal may take: an API that does not answer must not delay the exit. */
const WITHDRAWAL_ROOM_MS = 3000;

/** Limit for one beat. Further turns are not reported, because the average barely changes. */
const MAX_REPORTED_TURNS = 1000;

type LoopSources = Required<Pick<ControlLoopOptions, 'source' | 'listeners' | 'controlPlanes' | 'publisher'>>;

class ControlThread {
  readonly #post: (message: FromControl) => void;
  readonly #config: RunConfig;
  readonly #netns: NetnsDirectory;
  readonly #probe: ClosableProbe;
  readonly #health: HealthGroups;
  readonly #handshake: CertificateHandshake;
  readonly #certificates: CertificateReader;
  readonly #outbox: ControlOutbox;
  readonly #cache = new TurnCache();
  /** null when clusters come from files. */
  #kubernetes: ControlKubernetes | null = null;
  #loop: ControlLoop | null = null;
  readonly #readiness: Readiness;
  #source: ClusterSource | null = null;
  #ports: ReadonlyMap<string, PortOutcome> = new Map();
  #turnsMs: number[] = [];
  /** Verdicts that changed since the last turn. */
  #flips = { up: 0, down: 0 };
  #stopping = false;

  constructor(config: RunConfig, post: (message: FromControl) => void) {
    this.#post = post;
    this.#config = config;
    this.#outbox = new ControlOutbox((changes) => post({ kind: 'published', changes }));
    this.#readiness = new Readiness({
      lists: () => [
        { name: 'netns-directory', failure: this.#netns.unusable() },
        ...(this.#source?.readyChecks() ?? []),
        ...(this.#kubernetes?.publisher.readyChecks() ?? []),
      ],
      served: () => (this.#kubernetes === null ? [] : [this.#kubernetes.publisher.publishedCheck()]),
      later: () => (this.#kubernetes === null ? [] : [this.#kubernetes.publisher.leaseCheck()]),
      onChange: (checks, able) => post({ kind: 'readiness', able, checks }),
    });
    const settings = healthSettings(config.health);
    this.#probe = createProbe({
      addon: native,
      settings: { ...settings, maxConcurrent: probesAtOnce(settings) },
    });
    this.#health = new HealthGroups({
      probe: this.#probe,
      settings,
      onAnswer: (key) => this.#certificates.answered(key),
      onChange: (key, { up }) => {
        if (!up) this.#certificates.lost(key);
        if (up) this.#flips.up += 1;
        else this.#flips.down += 1;
        this.#loop?.trigger(up ? 'backend-up' : 'backend-down');
      },
      // The further ways to that API server are needed now.
      onSettledDown: () => this.#loop?.trigger('backend-settled-down'),
    });
    this.#handshake = new CertificateHandshake({ addon: native, timeoutMs: HANDSHAKE_TIMEOUT_MS });
    this.#certificates = new CertificateReader({
      handshake: this.#handshake,
      onChange: () => this.#loop?.trigger('certificate'),
    });
    this.#netns = new NetnsDirectory({
      directory: config.netnsDirectory,
      addon: native,
      // The kubelet sets this variable in every container.
      inPod: process.env.KUBERNETES_SERVICE_HOST !== undefined,
      onChange: () => this.#loop?.trigger('netns'),
      onProblem: (message) => this.#log('warn', {}, message),
    });
  }

  receive(message: ToControl): void {
    switch (message.kind) {
      case 'start':
        void this.#start(message); // an error here is a bug: it ends the thread and then the process
        return;
      case 'listening':
        this.#kubernetes?.listening(message.address, message.port);
        return;
      case 'dials-failed':
        for (const backend of message.backends) this.#health.dialFailed(backend);
        this.#post({ kind: 'dials-noted' });
        return;
      case 'ports':
        this.#ports = message.ports;
        this.#post({ kind: 'ports-noted' });
        this.#loop?.trigger('ports');
        return;
      case 'taken':
        this.#outbox.taken();
        if (this.#outbox.routesTaken) this.#kubernetes?.publisher.routesTaken();
        return;
      case 'beat':
        this.#post({
          kind: 'beat',
          turnsMs: this.#turnsMs,
          kubernetes: this.#kubernetes?.status() ?? null,
        });
        this.#turnsMs = [];
        return;
      case 'ask-health':
        this.#post({
          kind: 'health',
          health: this.#health.snapshot(),
          kubernetes: this.#kubernetes?.status() ?? null,
        });
        return;
      case 'withdraw':
        void this.#withdraw();
        return;
      case 'stop':
        void this.#stop();
        return;
    }
  }

  async #start(origin: ProcessOrigin): Promise<void> {
    await this.#netns.start();
    try {
      await this.#openSource(origin);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'KubeconfigError') throw error;
      this.#post({ kind: 'refused', reason: error.message });
      return this.#stop();
    }
    if (this.#stopping) return;
    await this.#loop?.start();
    if (this.#stopping) return;
    this.#post({ kind: 'started' });
    await this.#firstVerdicts();
    this.#post({ kind: 'settled' });
    trimStartupHeap(native);
    await this.#readiness.listed;
    await this.#controlPlanesListed();
    // The lists may contain backends that the first wait did not know.
    await this.#firstVerdicts();
    this.#readiness.probed();
  }

  async #openSource(origin: ProcessOrigin): Promise<void> {
    const { source, proxyAlways, trustSpecNetwork, ignoredSelectorLabels, intervalMs } = this.#config;
    if (source.kind === 'file') {
      const settings = { proxyAlways, trustSpecNetwork, ignoredLabels: new Set(ignoredSelectorLabels) };
      const files = new FileSource({ directory: source.directory, settings, intervalMs });
      this.#loop = this.#newLoop({
        source: files,
        listeners: files.listeners,
        controlPlanes: files.controlPlanes,
        publisher: null,
      });
      return;
    }
    // Imported on first use: the file source does not need this code.
    const { ControlKubernetes } = await import('./control-kubernetes.ts');
    const kubernetes = await ControlKubernetes.open({
      config: this.#config,
      cache: this.#cache,
      environment: process.env,
      version: version(),
      routesLive: () => this.#outbox.routesTaken,
      onChange: () => this.#loop?.trigger('kubernetes'),
      origin,
      onRefused: (reason) => this.#post({ kind: 'lease-refused', reason }),
      onSuperseded: (holder) => this.#post({ kind: 'superseded', holder }),
      log: this.#log,
    });
    // `stop` may have arrived during `open`, when `#kubernetes` was not set yet.
    if (this.#stopping) return kubernetes.stop();
    this.#kubernetes = kubernetes;
    this.#loop = this.#newLoop(kubernetes);
    // Without await, so that clients are served as soon as the clusters are known.
    void kubernetes.start();
  }

  #newLoop({ source, listeners, controlPlanes, publisher }: LoopSources): ControlLoop {
    const { namespace, defaultCluster, clusterNamespace, netnsPrefixes } = this.#config;
    const { intervalMs, propagationWaitMs, allowMassDelete, controlPlaneMachines } = this.#config;
    this.#source = source;
    return new ControlLoop({
      source,
      publisher,
      listeners,
      controlPlanes: controlPlaneMachines === 'on' ? controlPlanes : null,
      netns: this.#netns,
      health: this.#health,
      certificates: this.#certificates,
      ports: () => this.#ports,
      settings: { namespace, defaultCluster, clusterNamespace, netnsPrefixes },
      cache: this.#cache,
      worldSettings: { departureMs: propagationWaitMs, allowMassDelete },
      intervalMs,
      publish: (desired) => this.#outbox.put(desired),
      onTurn: (durationMs) => {
        if (this.#turnsMs.length < MAX_REPORTED_TURNS) this.#turnsMs.push(durationMs);
        this.#readiness.look();
        this.#sendFlips();
      },
      onTurnError: (error) =>
        this.#log(
          'error',
          { err: plainError(error) },
          'turn of the control loop failed: retrying at the next trigger',
        ),
    });
  }

  #sendFlips(): void {
    const { up, down } = this.#flips;
    if (up + down > 0) this.#post({ kind: 'health-changed', up, down });
    this.#flips = { up: 0, down: 0 };
  }

  async #withdraw(): Promise<void> {
    await this.#kubernetes?.publisher.withdraw(this.#config.propagationWaitMs + WITHDRAWAL_ROOM_MS);
    this.#post({ kind: 'withdrawn' });
  }

  /**
   * Waits for the first checks: a client that connects earlier would be rejected because its cluster looks down. A backend that is
   * down ends the wait like one that is up. Resolves when the main thread routes by the result.
   */
  async #firstVerdicts(): Promise<void> {
    const end = performance.now() + SETTLE_TIMEOUT_MS;
    while (!this.#stopping && performance.now() < end) {
      // A verdict may make further ways needed: they count only after the turn that it triggered.
      if (this.#health.isSettled && (await this.#hurriedTurn()) && this.#health.isSettled) break;
      await new Promise((resolve) => setTimeout(resolve, SETTLE_LOOK_MS));
    }
    // The last verdict triggered a turn. Its state is sent before the caller continues.
    await this.#hurriedTurn();
    await this.#outbox.empty();
  }

  /** Some clusters are reachable only by their machines. The wait is bounded, because most are reachable without them. */
  async #controlPlanesListed(): Promise<void> {
    const listed = this.#kubernetes?.controlPlanes?.ready();
    if (listed === undefined) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, MACHINES_TIMEOUT_MS);
    await Promise.race([listed, late.promise]);
    clearTimeout(timer);
  }

  /** Resolves after the turn for all pending triggers: `hurry` schedules it before the setImmediate below. */
  async #hurriedTurn(): Promise<true> {
    this.#loop?.hurry();
    await new Promise((resolve) => setImmediate(resolve));
    return true;
  }

  /** The thread exits by itself when the port is closed and no handle is left. So no system call is interrupted. */
  async #stop(): Promise<void> {
    this.#stopping = true;
    await this.#loop?.stop();
    await Promise.all([
      this.#netns.stop(),
      this.#health.stop(),
      this.#certificates.stop(),
      this.#kubernetes?.stop(),
    ]);
    this.#probe.close();
    this.#handshake.close();
    parentPort?.close();
  }

  readonly #log: Log = (level, facts, message) => this.#post({ kind: 'log', level, facts, message });
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
