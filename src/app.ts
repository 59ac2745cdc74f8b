// Wires the parts of the main thread. This file imports every part, and no part imports it. The control thread's routes go to the
// proxy. Only observations go back: failed dials to the health checks, connection records to the log and the metrics.
import { hostname } from 'node:os';
import type { RunConfig } from './cli/config/config.ts';
import { blockList, type Endpoint, type PortRange } from './cli/config/values.ts';
import type { Desired } from './control/desired/desired-state.ts';
import type { DesiredChanges } from './control-thread/control-changes.ts';
import type { ControlLink } from './control-thread/control-link.ts';
import { fallenBackends } from './control-thread/fallen-backends.ts';
import { type DescriptorBudget, descriptorBudget, descriptorLimit } from './lifecycle/descriptor-limit.ts';
import { trimStartupHeap } from './lifecycle/trim-startup-heap.ts';
import { ListenerPorts } from './listener-ports.ts';
import { native } from './netns/native.ts';
import type { NetnsRef } from './netns/netns-ref.ts';
import type { Engine, EngineLimits, Listener } from './proxy/engine.ts';
import { NativeEngine } from './proxy/native/native-engine.ts';
import { PortPolicy } from './proxy/port-policy.ts';
import { connectionsByKind } from './proxy/share-key.ts';
import { routedGroups, slotShares } from './proxy/slot-shares.ts';
import { SniPolicy, type SniPolicyOptions } from './proxy/sni-policy.ts';
import { StreamsEngine } from './proxy/streams/streams-engine.ts';
import { endpointText } from './routing/endpoint.ts';
import { type AdminPages, AdminServer, type AdminServerOptions } from './telemetry/admin/admin-server.ts';
import { PageTurns } from './telemetry/admin/page-turns.ts';
import { ClusterLog } from './telemetry/log/cluster-log.ts';
import { ConnectionLog } from './telemetry/log/connection-log.ts';
import { EvictionLog } from './telemetry/log/eviction-log.ts';
import { ListenerLog } from './telemetry/log/listener-log.ts';
import type { Logger } from './telemetry/log/logger.ts';
import { problemChanges } from './telemetry/log/problem-changes.ts';
import { type AdminPort, Metrics } from './telemetry/metrics/metrics.ts';
import { explain } from './telemetry/status/explain.ts';
import { explanationText } from './telemetry/status/explain-text.ts';
import { type StatusView, statusView } from './telemetry/status/status.ts';
import { MAX_HELLO_BYTES } from './tls/client-hello.ts';

const PROXY_HEADER_ROOM = 4096;
/** A healthy backend answers within milliseconds, so 16 concurrent dials allow thousands per second. */
const RESERVED_DIALS_PER_BACKEND = 16;

export interface AppOptions {
  readonly config: RunConfig;
  readonly logger: Logger;
  readonly version: string;
  readonly control: ControlLink;
  /** Sockets from a supervisor or a predecessor; null: there is neither. */
  readonly handover?: Handover | null;
}

/** Listening sockets to take over, and the predecessor that accepts on them until this process does. */
export interface Handover {
  take(
    name: string,
    wanted: Endpoint & { readonly range?: PortRange; readonly except?: ReadonlySet<number> },
  ): number | undefined;
  readonly hasPredecessor: boolean;
  /** Reports that this process accepts connections. Resolves when the predecessor has stopped accepting. */
  accepting(): Promise<void>;
}

export class App {
  readonly #config: RunConfig;
  readonly #logger: Logger;
  readonly #version: string;
  readonly #engine: Engine;
  readonly #policy: SniPolicy;
  readonly #control: ControlLink;
  readonly #metrics: Metrics;
  readonly #clusterLog: ClusterLog;
  readonly #listenerLog: ListenerLog;
  readonly #ports: ListenerPorts;
  readonly #handover: Handover | null;
  readonly #startedAtMs = Date.now() - process.uptime() * 1000;
  readonly #servers = new Map<string, AdminServer>();
  readonly #maxConnections: number;
  #lastPublished: Pick<Desired, 'clusters' | 'listeners'> = { clusters: [], listeners: [] };
  readonly #pageTurns = new PageTurns();
  readonly #evictionLog: EvictionLog;
  readonly #maxAdminConnections: number;
  #problems: Desired['problems'] = [];
  #listener: Listener | null = null;
  #notReadyBecause: string | null = 'starting';
  #stopping = false;
  #released = false;
  #successorStarts: string | null = null;
  #retainTimer: NodeJS.Timeout | undefined;

  constructor({ config, logger, version, control, handover = null }: AppOptions) {
    this.#handover = handover;
    this.#config = config;
    this.#logger = logger;
    this.#version = version;
    this.#control = control;
    const { maxAdminConnections, ...limits } = engineLimits(config, logger);
    this.#maxAdminConnections = maxAdminConnections;
    this.#maxConnections = limits.maxConnections;
    const connectionLog = new ConnectionLog(logger);
    this.#evictionLog = new EvictionLog(logger);
    this.#clusterLog = new ClusterLog(logger);
    this.#listenerLog = new ListenerLog(logger);
    this.#engine =
      config.engine === 'native'
        ? new NativeEngine(limits, native, config.threads)
        : new StreamsEngine(limits, native);
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
      ready: () => this.#notReadyBecause === null,
      controlLagMs: () => this.#control.lagMs,
      problems: () => this.#control.desired.problems,
      kubernetes: config.source.kind === 'kubernetes' ? () => this.#control.kubernetes : null,
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

  /** Resolves when clients are served. The admin port answers earlier, which makes a slow start observable. */
  async start(): Promise<void> {
    const { listen } = this.#config;
    // A predecessor answers on the admin and health ports until this process is ready to.
    let adminAddress = this.#handover?.hasPredecessor ? null : await this.#serveAll();
    await this.#control.start({
      onPublished: (desired, changes) => this.#published(desired, changes),
      onHealthChanged: (up, down) => this.#metrics.healthChanged(up, down),
      onTurns: (durationsMs) => this.#metrics.controlTurns(durationsMs),
    });
    if (this.#stopping) return; // stopped before the first routes arrived
    // A connection routed by the previous table may still open a netns that the new table no longer contains.
    this.#retainTimer = setInterval(() => {
      this.#retainNetns(this.#control.desired.backends);
      this.#shareSlots(this.#control.desired);
    }, this.#config.intervalMs);
    this.#notReadyBecause = 'the first health checks are under way';
    await this.#control.settled;
    if (this.#stopping) return; // stopped before the first health verdicts
    const fd = this.#handover?.take('tls', listen);
    this.#listener = await this.#engine.openListener({
      name: 'tls',
      host: listen.host,
      port: listen.port,
      ...(fd !== undefined && { fd }),
      mode: 'hello',
      policy: this.#policy,
    });
    this.#listener.prepare(this.#policy.prepared());
    if (this.#stopping) return; // stopped while the listener opened: the drain closes it
    if (this.#handover?.hasPredecessor) {
      this.#wantPorts(this.#control.desired);
      await this.#ports.settled();
    }
    adminAddress ??= await this.#serveAll();
    await this.#handover?.accepting();
    if (this.#stopping) return;
    this.#notReadyBecause = null;
    this.#control.listening(this.#listener.address, this.#listener.port);
    this.#wantPorts(this.#control.desired);
    this.#logger.info(
      { listen: endpointText(this.#listener), admin: endpointText(adminAddress), version: this.#version },
      'serving',
    );
    trimStartupHeap(native);
  }

  /** Withdraws this instance, stops accepting, waits for open connections. Health and metrics answer until `close`. */
  async drain(): Promise<void> {
    this.#stopping = true;
    this.#notReadyBecause = 'draining';
    // Without Kubernetes there is nothing to withdraw. After a release, published addresses reach the successor, so they stay.
    if (this.#config.source.kind === 'kubernetes' && !this.#released) await this.#control.withdraw();
    await this.#ports.stop();
    const { drainTimeoutMs, handoverDrainMs } = this.#config;
    const { finished, reset } = await this.#engine.drain(this.#released ? handoverDrainMs : drainTimeoutMs);
    this.#logger.info(
      { finished, reset },
      reset === 0 ? 'all connections finished' : 'drain timeout: reset the rest',
    );
  }

  /** Closes everything immediately, open connections included. */
  async close(): Promise<void> {
    this.#stopping = true;
    this.#notReadyBecause = 'stopping';
    clearInterval(this.#retainTimer);
    await this.#ports.stop();
    await Promise.all([this.#control.stop(), this.#engine.close()]);
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  /** All listening sockets. A successor requests them under the same names. */
  sockets(): readonly { readonly name: string; readonly fd: number }[] {
    const servers = [...this.#servers].map(([name, { fd }]) => ({ name, fd }));
    return [...this.#engine.listeners().map(({ name, fd }) => ({ name, fd })), ...servers];
  }

  /** Hands over to a successor: accepts and writes nothing more. Open connections continue, and nothing is withdrawn. */
  async release(): Promise<void> {
    this.#stopping = true;
    this.#released = true;
    this.#notReadyBecause = 'a successor serves';
    for (const server of this.#servers.values()) server.letGo();
    await this.#ports.stop();
    await Promise.all([
      ...this.#engine.listeners().map((listener) => listener.close({ leaveOpen: true })),
      this.#control.stop(),
    ]);
  }

  /** The version of a starting successor, or null. Meanwhile /readyz reports not ready: the probe is about the newest process. */
  successorStarts(version: string | null): void {
    this.#successorStarts = version;
  }

  /** Whether the control thread keeps the routes up to date. The call itself proves that the main thread runs. */
  isWell(): boolean {
    return this.#control.stalledSinceMs === null;
  }

  /** The facts of the one-line service status. */
  summary(): { listen: string | null; states: ReadonlyMap<string, number>; staleSince: string | null } {
    const states = new Map<string, number>();
    for (const { state } of this.#control.desired.clusters) states.set(state, (states.get(state) ?? 0) + 1);
    const listen = this.#listener === null ? null : endpointText(this.#listener);
    return { listen, states, staleSince: this.#control.kubernetes?.staleSince ?? null };
  }

  #published(desired: Desired, changes: DesiredChanges): void {
    if (changes.routes !== undefined) this.#listener?.prepare(this.#policy.prepared());
    if (changes.routes !== undefined || changes.ports !== undefined) this.#shareSlots(desired);
    // After the route swap, because no new dial to a fallen backend can start then.
    this.#engine.abortDials(fallenBackends(this.#lastPublished, desired));
    this.#lastPublished = desired;
    if (changes.backends !== undefined) this.#retainNetns(desired.backends);
    // No listener port opens before the TLS listener does.
    const isNew = changes.ports !== undefined || changes.heldPorts !== undefined;
    if (isNew && this.#listener !== null) this.#wantPorts(desired);
    if (changes.listeners !== undefined) this.#listenerLog.write(desired.listeners);
    this.#metrics.routesSwapped(desired.clusters, desired.listeners);
    this.#clusterLog.write(desired.clusters);
    const { appeared, recovered } = problemChanges(this.#problems, desired.problems);
    this.#problems = desired.problems;
    for (const { origin, reason } of appeared)
      this.#logger.warn({ origin, reason }, 'ignoring invalid input');
    for (const origin of recovered) this.#logger.info({ origin }, `${origin} recovered`);
  }

  #shareSlots({ routes, ports }: Desired): void {
    this.#engine.shareSlots(slotShares(this.#maxConnections, routedGroups(routes, ports)));
  }

  #wantPorts({ ports, heldPorts }: Desired): void {
    this.#ports.want(ports, heldPorts);
  }

  #retainNetns(backends: Desired['backends']): void {
    this.#engine.retainNetns(
      backends.map((backend) => backend.netns).filter((netns): netns is NetnsRef => netns !== null),
    );
  }

  async #serveAll(): Promise<{ address: string; port: number }> {
    const { admin, healthListen } = this.#config;
    // The kubelet and Prometheus may use any host name for the health port. Its pages reveal nothing about tenants' networks.
    if (healthListen !== null) await this.#serve('health', this.#healthPages(), healthListen);
    return this.#serve('admin', this.#adminPages(), admin);
  }

  #serve(name: AdminPort, pages: AdminPages, endpoint: Endpoint): Promise<{ address: string; port: number }> {
    const options: AdminServerOptions = {
      anyHost: name === 'health',
      maxConnections: this.#maxAdminConnections,
      onEvicted: (sources) => {
        this.#metrics.adminConnectionsEvicted(name, sources.length);
        this.#evictionLog.write(name, sources);
      },
    };
    const server = new AdminServer(pages, options);
    this.#servers.set(name, server);
    return server.listen(endpoint, this.#handover?.take(name, endpoint));
  }

  #healthPages(): AdminPages {
    return {
      '/livez': () => ({ status: 200, type: 'text', body: 'ok\n' }),
      '/readyz': () => {
        const starts = this.#successorStarts;
        const because = this.#notReadyBecause ?? (starts && `the successor, version ${starts}, is starting`);
        return because === null
          ? { status: 200, type: 'text', body: 'ok\n' }
          : { status: 503, type: 'text', body: `not ready: ${because}\n` };
      },
      '/metrics': () =>
        this.#pageTurns.page('metrics', async () => ({
          status: 200,
          type: 'metrics',
          body: await this.#metrics.registry.metrics(),
        })),
    };
  }

  #adminPages(): AdminPages {
    return {
      ...this.#healthPages(),
      '/status': () =>
        this.#pageTurns.page('status', async () => ({
          status: 200,
          type: 'json',
          body: `${JSON.stringify(await this.#status(), null, 2)}\n`,
        })),
      '/explain/<cluster>': ({ subject, query }) => {
        const isJson = query.get('format') === 'json';
        return this.#pageTurns.page(`explain ${subject} ${isJson}`, async () => {
          const explanation = explain(await this.#status(), subject);
          const status = explanation.kind === 'unknown' ? 404 : 200;
          return isJson
            ? { status, type: 'json', body: `${JSON.stringify(explanation, null, 2)}\n` }
            : { status, type: 'text', body: explanationText(explanation) };
        });
      },
    };
  }

  async #status(): Promise<StatusView> {
    const { health, atMs } = await this.#control.health();
    const { clusters, listeners, problems } = this.#control.desired;
    const connections = connectionsByKind(this.#engine.shares());
    const stats = this.#engine.stats();
    return statusView({
      instance: this.#control.kubernetes?.instance ?? this.#config.nodeName ?? hostname(),
      version: this.#version,
      startedAtMs: this.#startedAtMs,
      uptimeSeconds: Math.round(process.uptime() * 1000) / 1000,
      listen: this.#listener === null ? null : endpointText(this.#listener),
      ready: this.#notReadyBecause === null,
      notReadyBecause: this.#notReadyBecause,
      connections: stats.connections,
      pendingDials: stats.pendingDials,
      pressure: this.#metrics.pressure,
      traffic: this.#metrics.traffic,
      kubernetes: this.#control.kubernetes,
      control: {
        stalledSinceMs: this.#control.stalledSinceMs,
        lagMs: this.#control.lagMs,
        probesAtMs: atMs,
      },
      clusters,
      health,
      connectionsPerCluster: connections.clusters,
      listeners,
      connectionsPerListener: connections.listeners,
      problems,
    });
  }
}

function engineLimits(
  config: RunConfig,
  logger: Logger,
): EngineLimits & Pick<DescriptorBudget, 'maxAdminConnections'> {
  const descriptors = descriptorLimit();
  const budget = descriptorBudget(descriptors, config.maxConnections);
  const facts = { ...budget, wanted: config.maxConnections, descriptors };
  if (budget.maxConnections < config.maxConnections) {
    logger.warn(
      facts,
      'the limit on open files allows fewer connections than --max-connections (raise LimitNOFILE or ulimit -n)',
    );
  } else {
    logger.info(facts, 'limits');
  }
  return {
    ...budget,
    maxPendingDials: config.maxPendingDials,
    maxPendingDialsPerBackend: Math.max(1, Math.floor(config.maxPendingDials / 4)),
    reservedDialsPerBackend: RESERVED_DIALS_PER_BACKEND,
    helloTimeoutMs: config.helloTimeoutMs,
    maxHelloBytes: MAX_HELLO_BYTES + PROXY_HEADER_ROOM,
    maxHelloMemoryBytes: 64 * 1024 * 1024,
    connectTimeoutMs: config.connectTimeoutMs,
    deadPeerTimeoutMs: config.deadPeerTimeoutMs,
    lingerMs: 1000,
  };
}
