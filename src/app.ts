// Wires the parts of the main thread. This file imports every part, and no part imports it. The control thread's routes go to the
// proxy. Only observations go back: failed dials to the health checks, connection records to the log and the metrics.
import { hostname } from 'node:os';
import type { RunConfig } from './cli/config/config.ts';
import { blockList, type Endpoint } from './cli/config/values.ts';
import type { Desired } from './control/desired/desired-state.ts';
import type { ReadyCheck } from './control/objects/ready-check.ts';
import type { DesiredChanges } from './control-thread/control-changes.ts';
import type { ControlHandlers, ControlLink } from './control-thread/control-link.ts';
import { fallenBackends } from './control-thread/fallen-backends.ts';
import { openUnlessInUse } from './lifecycle/address-in-use.ts';
import { ownDescriptorBudget } from './lifecycle/descriptor-limit.ts';
import type { ServiceSummary } from './lifecycle/notify-socket.ts';
import { portOwner } from './lifecycle/port-owner.ts';
import type { Handover } from './lifecycle/service.ts';
import { trimStartupHeap } from './lifecycle/trim-startup-heap.ts';
import { ListenerPorts } from './listener-ports.ts';
import { native } from './netns/native.ts';
import { connectionsByKind } from './proxy/connection-shares.ts';
import type { Engine, Listener } from './proxy/engine.ts';
import { engineLimits } from './proxy/engine-limits.ts';
import { EngineRoutes } from './proxy/engine-routes.ts';
import { NativeEngine } from './proxy/native/native-engine.ts';
import { PortPolicy } from './proxy/port-policy.ts';
import { SniPolicy, type SniPolicyOptions } from './proxy/sni-policy.ts';
import { StreamsEngine } from './proxy/streams/streams-engine.ts';
import { endpointText } from './routing/addresses.ts';
import { AdminPorts } from './telemetry/admin/admin-ports.ts';
import { HANDOVER, notReadyBecause, SHUTDOWN } from './telemetry/admin/ready-page.ts';
import { ConnectionLog } from './telemetry/log/connection-log.ts';
import { DesiredLog } from './telemetry/log/desired-log.ts';
import { EvictionLog } from './telemetry/log/eviction-log.ts';
import type { Logger } from './telemetry/log/logger.ts';
import { Metrics } from './telemetry/metrics/metrics.ts';
import { type StatusView, statusView } from './telemetry/status/status.ts';

/** How often a successor that is not ready checks whether the reason has changed. It logs each new reason. */
const SAY_WAITING_MS = 2000;

export interface AppOptions {
  readonly config: RunConfig;
  readonly logger: Logger;
  readonly version: string;
  readonly control: ControlLink;
  /** Sockets from a supervisor or a predecessor; null: there is neither. */
  readonly handover?: Handover | null;
}

export class App {
  readonly #config: RunConfig;
  readonly #logger: Logger;
  readonly #version: string;
  readonly #engine: Engine;
  readonly #engineRoutes: EngineRoutes;
  readonly #policy: SniPolicy;
  readonly #control: ControlLink;
  readonly #metrics: Metrics;
  readonly #desiredLog: DesiredLog;
  readonly #ports: ListenerPorts;
  readonly #adminPorts: AdminPorts;
  readonly #handover: Handover | null;
  readonly #startedAtMs = Date.now() - process.uptime() * 1000;
  #lastPublished: Pick<Desired, 'clusters' | 'listeners'> = { clusters: [], listeners: [] };
  #listener: Listener | null = null;
  #isAccepting = false;
  /** Why this process no longer accepts clients; null while it accepts them. */
  #leaving: string | null = null;
  #stopping = false;
  #released = false;
  #successorStarting: string | null = null;

  constructor({ config, logger, version, control, handover = null }: AppOptions) {
    this.#handover = handover;
    this.#config = config;
    this.#logger = logger;
    this.#version = version;
    this.#control = control;
    const budget = ownDescriptorBudget(config.maxConnections, (level, facts, message) =>
      logger[level](facts, message),
    );
    const limits = engineLimits(config, budget);
    const connectionLog = new ConnectionLog(logger);
    const evictionLog = new EvictionLog(logger);
    this.#desiredLog = new DesiredLog(logger);
    this.#engine =
      config.engine === 'native'
        ? new NativeEngine(limits, native, config.threads)
        : new StreamsEngine(limits, native);
    this.#engineRoutes = new EngineRoutes({
      engine: this.#engine,
      maxConnections: limits.maxConnections,
      intervalMs: config.intervalMs,
      routed: () => control.desired,
    });
    const seen: Pick<SniPolicyOptions, 'onEnded' | 'onDialFailed'> = {
      onEnded: (ending) => {
        this.#metrics.connectionEnded(ending);
        connectionLog.write(ending);
      },
      onDialFailed: (backend, error) => {
        this.#metrics.dialFailed(error);
        // EBACKENDDOWN is the verdict of the health checks themselves.
        if (error !== 'EBACKENDDOWN') this.#control.dialFailed(backend.key);
      },
    };
    this.#policy = new SniPolicy({
      routes: () => this.#control.desired.routes,
      trustedProxies: config.trustedProxies === null ? null : blockList(config.trustedProxies),
      maxConnectionsPerCluster: config.maxConnectionsPerCluster,
      ...seen,
    });
    this.#ports = new ListenerPorts({
      engine: this.#engine,
      host: config.listen.host,
      range: config.listenerPorts,
      policyOf: (route) =>
        new PortPolicy({ route, maxConnections: config.maxConnectionsPerCluster, ...seen }),
      report: (outcomes) => this.#control.portsOpened(outcomes),
      retryMs: config.intervalMs,
      inherited: (name, range, except) =>
        handover?.take(name, { host: config.listen.host, port: 0, range, except }),
    });
    this.#metrics = new Metrics({
      version,
      engineStats: () => this.#engine.stats(),
      clusters: () => this.#control.desired.clusters,
      connectionsPerCluster: () => connectionsByKind(this.#engine.shares()).clusters,
      listeners: () => this.#control.desired.listeners,
      connectionsPerListener: () => connectionsByKind(this.#engine.shares()).listeners,
      ready: () => this.#notReadyBecause() === null,
      controlLagMs: () => this.#control.lagMs,
      problems: () => this.#control.desired.problems,
      kubernetes: config.source.kind === 'kubernetes' ? () => this.#control.kubernetes : null,
    });
    this.#adminPorts = new AdminPorts({
      admin: config.admin,
      healthListen: config.healthListen,
      maxConnections: budget.maxAdminConnections,
      readyChecks: () => [...this.#readyChecks(), { name: HANDOVER, failure: this.#successorStarting }],
      metrics: () => this.#metrics.registry.text(),
      status: () => this.#status(),
      inherited: (port, endpoint) => handover?.take(port, endpoint),
      opened: (flag, endpoint, open) => this.#opened(flag, endpoint, open),
      onEvicted: (port, sources) => {
        this.#metrics.adminConnectionsEvicted(port, sources.length);
        evictionLog.write(port, sources);
      },
    });
  }

  /** Rejects when an essential part has failed; never resolves. */
  get failed(): Promise<never> {
    return this.#control.failed;
  }

  /** Resolves when another process on this node supersedes this one. This process should then drain. */
  get superseded(): Promise<string> {
    return this.#control.superseded;
  }

  /** Resolves with the reason when another process keeps the Lease of this node. This process should then drain. */
  get leaseRefused(): Promise<string> {
    return this.#control.leaseRefused;
  }

  /** Resolves when this process can do all of its work; never rejects. */
  get ready(): Promise<void> {
    return this.#control.ready;
  }

  /**
   * Resolves when the listener is open. The admin port answers earlier, which makes a slow start observable. Without a predecessor, the
   * listener opens even if the Kubernetes API cannot be read: the process is alive, but not ready. A successor opens it only when it can do
   * all of its work, or when its predecessor has ended. Until then the predecessor serves clients better.
   */
  async start(): Promise<void> {
    const { listen } = this.#config;
    // A predecessor keeps the admin and health ports until the listener of this process is open.
    let adminAddress = this.#handover?.hasPredecessor ? null : await this.#adminPorts.open();
    const handlers: ControlHandlers = {
      onPublished: (desired, changes) => this.#published(desired, changes),
      onHealthChanged: (up, down) => this.#metrics.healthChanged(up, down),
      onTurns: (durationsMs) => this.#metrics.controlTurns(durationsMs),
    };
    await this.#control.start(handlers, this.#handover?.predecessor ?? null);
    if (this.#stopping) return; // stopped before the first routes arrived
    this.#engineRoutes.start();
    await this.#control.settled;
    if (this.#handover?.hasPredecessor) await this.#ableToReplace(this.#handover.predecessorGone);
    if (this.#stopping) return; // stopped before the first health verdicts
    const fd = this.#handover?.take('tls', listen);
    this.#listener = await this.#opened('listen', listen, () =>
      this.#engine.openListener({
        name: 'tls',
        ...listen,
        ...(fd !== undefined && { fd }),
        mode: 'hello',
        policy: this.#policy,
      }),
    );
    this.#listener.prepare(this.#policy.prepared());
    if (this.#stopping) return; // stopped while the listener opened: the drain closes it
    if (this.#handover?.hasPredecessor) {
      this.#wantPorts(this.#control.desired);
      await this.#ports.settled();
    }
    adminAddress ??= await this.#adminPorts.open();
    await this.#handover?.accepting();
    if (this.#stopping) return;
    this.#isAccepting = true;
    this.#control.listening(this.#listener.address, this.#listener.port);
    this.#wantPorts(this.#control.desired);
    this.#logger.info(
      { listen: endpointText(this.#listener), admin: endpointText(adminAddress), version: this.#version },
      'serving',
    );
    void this.#control.ready.then(() => this.#logger.info({}, 'ready'));
    trimStartupHeap(native);
  }

  /** Why this process must not replace its predecessor; null: it may. Listener and Lease come only after the handover. */
  notAbleBecause(): string | null {
    return notReadyBecause(this.#control.readyChecks.filter(({ name }) => name !== 'lease'));
  }

  /** While it waits, the ports belong to the predecessor: only the log can say why this process does not serve. */
  async #ableToReplace(predecessorGone: Promise<void>): Promise<void> {
    let said: string | null = null;
    const timer = setInterval(() => {
      const reason = this.notAbleBecause();
      if (reason !== null && reason !== said)
        this.#logger.warn({ reason }, 'not ready: the predecessor continues to serve');
      said = reason;
    }, SAY_WAITING_MS);
    await Promise.race([this.#control.able, predecessorGone]);
    clearInterval(timer);
  }

  /** Withdraws this instance, stops accepting, waits for open connections. Health and metrics answer until `close`. */
  async drain(): Promise<void> {
    this.#stopping = true;
    this.#leaving = 'draining';
    // Without Kubernetes there is nothing to withdraw. After a release, published addresses reach the successor, so they stay.
    if (this.#config.source.kind === 'kubernetes' && !this.#released) await this.#control.withdraw();
    await this.#ports.stop();
    const { drainTimeoutMs, handoverDrainMs } = this.#config;
    const { finished, reset } = await this.#engine.drain(this.#released ? handoverDrainMs : drainTimeoutMs);
    this.#logger.info(
      { finished, reset },
      reset === 0 ? 'all connections finished' : 'drain timeout: reset the remaining connections',
    );
  }

  /** Closes everything immediately, open connections included. */
  async close(): Promise<void> {
    this.#stopping = true;
    this.#leaving = 'stopping';
    this.#engineRoutes.stop();
    await this.#ports.stop();
    await Promise.all([this.#control.stop(), this.#engine.close()]);
    await this.#adminPorts.close();
  }

  /** All listening sockets. A successor requests them under the same names. */
  sockets(): readonly { readonly name: string; readonly fd: number }[] {
    return [...this.#engine.listeners().map(({ name, fd }) => ({ name, fd })), ...this.#adminPorts.sockets()];
  }

  /** Hands over to a successor: accepts and writes nothing more. Open connections continue, and nothing is withdrawn. */
  async release(): Promise<void> {
    this.#stopping = true;
    this.#released = true;
    this.#leaving = 'a successor serves';
    this.#adminPorts.stopAccepting();
    await this.#ports.stop();
    await Promise.all([
      ...this.#engine.listeners().map((listener) => listener.close({ leaveOpen: true })),
      this.#control.stop(),
    ]);
  }

  /** The version of a starting successor, or null. While it starts, /readyz reports not ready: a probe means the newest process. */
  successorStarts(version: string | null): void {
    this.#successorStarting = version && `the successor, version ${version}, is starting`;
  }

  /** Whether the control thread keeps the routes up to date. The call itself proves that the main thread runs. */
  isWell(): boolean {
    return this.#control.stalledSinceMs === null;
  }

  /** The facts of the one-line service status. */
  summary(): ServiceSummary {
    const states = new Map<string, number>();
    for (const { state } of this.#control.desired.clusters) states.set(state, (states.get(state) ?? 0) + 1);
    const listen = this.#listener === null ? null : endpointText(this.#listener);
    const staleSince = this.#control.kubernetes?.staleSince ?? null;
    return { listen, notReadyBecause: this.#notReadyBecause(), states, staleSince };
  }

  #opened<T>(flag: string, { host, port }: Endpoint, open: () => Promise<T>): Promise<T> {
    return openUnlessInUse({
      flag,
      address: endpointText({ address: host ?? '*', port }),
      open,
      owner: () => portOwner({ host, port }),
      onWaiting: (message) => this.#logger.warn({}, message),
      stopping: () => this.#stopping,
      // No older Pod drains behind a predecessor: it hands its ports over.
      ...(this.#handover?.hasPredecessor === true && { limitMs: 0 }),
    });
  }

  #readyChecks(): readonly ReadyCheck[] {
    return [
      { name: 'listener', failure: this.#isAccepting ? null : 'not open yet' },
      ...this.#control.readyChecks,
      { name: SHUTDOWN, failure: this.#leaving },
    ];
  }

  #notReadyBecause(): string | null {
    return notReadyBecause(this.#readyChecks());
  }

  #published(desired: Desired, changes: DesiredChanges): void {
    if (changes.routes !== undefined) this.#listener?.prepare(this.#policy.prepared());
    if (changes.routes !== undefined || changes.ports !== undefined) this.#engineRoutes.shareSlots();
    // This comes after the route swap: from then on, no new dial to a fallen backend can start.
    this.#engine.abortDials(fallenBackends(this.#lastPublished, desired));
    this.#lastPublished = desired;
    if (changes.backends !== undefined) this.#engineRoutes.retainNetns();
    // No listener port opens before the TLS listener does.
    const isNew = changes.ports !== undefined || changes.heldPorts !== undefined;
    if (isNew && this.#listener !== null) this.#wantPorts(desired);
    this.#metrics.routesSwapped(desired.clusters, desired.listeners);
    this.#desiredLog.write(desired, changes.listeners !== undefined);
  }

  #wantPorts({ ports, heldPorts }: Desired): void {
    this.#ports.want(ports, heldPorts);
  }

  async #status(): Promise<StatusView> {
    const { health, atMs } = await this.#control.health();
    const { desired, kubernetes, stalledSinceMs, lagMs } = this.#control;
    const { clusters, listeners, problems } = desired;
    const { connections, pendingDials } = this.#engine.stats();
    const open = connectionsByKind(this.#engine.shares());
    const because = this.#notReadyBecause();
    return statusView({
      instance: kubernetes?.instance ?? this.#config.nodeName ?? hostname(),
      version: this.#version,
      startedAtMs: this.#startedAtMs,
      uptimeSeconds: Math.round(process.uptime() * 1000) / 1000,
      listen: this.#listener === null ? null : endpointText(this.#listener),
      ready: because === null,
      notReadyBecause: because,
      connections,
      pendingDials,
      pressure: this.#metrics.pressure,
      traffic: this.#metrics.traffic,
      kubernetes,
      control: { stalledSinceMs, lagMs, probesAtMs: atMs },
      clusters,
      health,
      connectionsPerCluster: open.clusters,
      listeners,
      connectionsPerListener: open.listeners,
      problems,
    });
  }
}
