// Wires the program: the one file that knows every part, and that no part imports. Control → routes → proxy, and back only
// what the proxy saw (failed dials to health, records to log and metrics).
import { hostname } from 'node:os';
import type { RunConfig } from './config/config.ts';
import { blockList } from './config/values.ts';
import { ControlLoop } from './control/control-loop.ts';
import type { Desired } from './control/desired-state.ts';
import { FileSource } from './control/file-source.ts';
import { problemChanges } from './control/problem-changes.ts';
import { descriptorBudget, descriptorLimit } from './descriptor-limit.ts';
import { HealthMonitor } from './health/health-monitor.ts';
import { DEFAULT_HEALTH_SETTINGS } from './health/health-settings.ts';
import { createProbe } from './health/probe.ts';
import type { TargetHealth } from './health/target-health.ts';
import { native } from './netns/native.ts';
import { NetnsDirectory } from './netns/netns-directory.ts';
import type { NetnsRef } from './netns/netns-ref.ts';
import { type AdminPages, AdminServer } from './ops/admin-server.ts';
import { ClusterLog } from './ops/cluster-log.ts';
import { ConnectionLog } from './ops/connection-log.ts';
import type { Logger } from './ops/logger.ts';
import { Metrics } from './ops/metrics.ts';
import { statusView } from './ops/status.ts';
import type { Engine, EngineLimits, Listener } from './proxy/engine.ts';
import { NativeEngine } from './proxy/native/native-engine.ts';
import { SniPolicy } from './proxy/sni-policy.ts';
import { StreamsEngine } from './proxy/streams/streams-engine.ts';
import { endpointText } from './routing/endpoint.ts';
import { EMPTY_ROUTE_TABLE, type RouteTable } from './routing/route-table.ts';
import { MAX_HELLO_BYTES } from './tls/client-hello.ts';

/** So long may the first health verdicts take before we call ourselves ready without them. */
const SETTLE_TIMEOUT_MS = 10_000;

const PROXY_HEADER_ROOM = 4096;

export class App {
  readonly #config: RunConfig;
  readonly #logger: Logger;
  readonly #version: string;
  readonly #engine: Engine;
  readonly #policy: SniPolicy;
  readonly #health: HealthMonitor;
  readonly #netns: NetnsDirectory;
  readonly #source: FileSource;
  readonly #loop: ControlLoop;
  readonly #metrics: Metrics;
  readonly #clusterLog: ClusterLog;
  readonly #servers: AdminServer[] = [];
  #routes: RouteTable = EMPTY_ROUTE_TABLE;
  #problems: Desired['problems'] = [];
  #listener: Listener | null = null;
  #notReadyBecause: string | null = 'starting';
  #stopping = false;
  #retainTimer: NodeJS.Timeout | undefined;

  constructor(config: RunConfig, logger: Logger, version: string) {
    this.#config = config;
    this.#logger = logger;
    this.#version = version;
    const limits = engineLimits(config, logger);
    const connectionLog = new ConnectionLog(logger);
    this.#clusterLog = new ClusterLog(logger);
    this.#engine =
      config.engine === 'native'
        ? new NativeEngine(limits, native, config.threads)
        : new StreamsEngine(limits, native);
    this.#policy = new SniPolicy({
      routes: () => this.#routes,
      trustedProxies: config.trustedProxies === null ? null : blockList(config.trustedProxies),
      maxConnectionsPerCluster: config.maxConnectionsPerCluster,
      onRecord: (record) => {
        this.#metrics.connectionEnded(record);
        connectionLog.write(record);
      },
      onDialFailed: (backend, error) => {
        this.#metrics.dialFailed(error);
        this.#health.dialFailed(backend.key);
      },
    });
    this.#health = new HealthMonitor({
      probe: createProbe({ addon: native, kind: config.health.kind, timeoutMs: config.health.timeoutMs }),
      settings: { ...DEFAULT_HEALTH_SETTINGS, ...config.health },
      onChange: (_key, health) => {
        this.#metrics.healthChanged(health.up);
        this.#loop.trigger('health');
      },
    });
    this.#netns = new NetnsDirectory({
      directory: config.netnsDirectory,
      addon: native,
      onChange: () => this.#loop.trigger('netns'),
      onProblem: (message) => logger.warn(message),
    });
    this.#source = new FileSource({
      directory: config.source.directory,
      settings: { proxyAlways: config.proxyAlways },
      intervalMs: config.intervalMs,
    });
    this.#loop = new ControlLoop({
      source: this.#source,
      netns: this.#netns,
      health: this.#health,
      settings: { namespace: config.namespace, defaultCluster: config.defaultCluster },
      intervalMs: config.intervalMs,
      publish: (desired) => this.#publish(desired),
      onTurnError: (error) =>
        logger.error({ err: error }, 'a turn of the control loop failed; the next one tries again'),
    });
    this.#metrics = new Metrics({
      version,
      engineStats: () => this.#engine.stats(),
      clusters: () => this.#loop.last()?.clusters ?? [],
      connectionsPerCluster: () => this.#policy.connectionsPerCluster,
      ready: () => this.#notReadyBecause === null,
    });
  }

  /** Resolves when clients are served. The admin port answers before, so that a slow start can be watched. */
  async start(): Promise<void> {
    const { admin, healthListen, listen } = this.#config;
    const adminAddress = await this.#serve(this.#adminPages(), admin);
    if (healthListen !== null) await this.#serve(this.#healthPages(), healthListen);
    await this.#netns.start();
    await this.#loop.start();
    // A connection that was decided by the last table may open a netns that the new one no longer names.
    this.#retainTimer = setInterval(
      () => this.#retainNetns(this.#loop.last()?.backends ?? []),
      this.#config.intervalMs,
    );
    if (!this.#stopping) this.#notReadyBecause = 'the first health checks are under way';
    await this.#firstVerdicts();
    if (this.#stopping) return; // told to stop before we were ready
    this.#listener = await this.#engine.openListener({
      name: 'tls',
      host: listen.host,
      port: listen.port,
      mode: 'hello',
      policy: this.#policy,
    });
    if (this.#stopping) return; // told to stop while it opened: the drain has closed it, or will
    this.#notReadyBecause = null;
    this.#logger.info(
      { listen: endpointText(this.#listener), admin: endpointText(adminAddress), version: this.#version },
      'serving',
    );
  }

  /** Stops accepting, lets connections finish, ends everything. Health and metrics answer until the end. */
  async drain(): Promise<void> {
    this.#stopping = true;
    this.#notReadyBecause = 'draining';
    const { finished, reset } = await this.#engine.drain(this.#config.drainTimeoutMs);
    this.#logger.info(
      { finished, reset },
      reset === 0 ? 'all connections finished' : 'drain timeout: reset the rest',
    );
    await this.close();
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    this.#stopping = true;
    this.#notReadyBecause = 'stopping';
    clearInterval(this.#retainTimer);
    await this.#loop.stop();
    await Promise.all([this.#netns.stop(), this.#health.stop(), this.#engine.close()]);
    await Promise.all(this.#servers.splice(0).map((server) => server.close()));
  }

  #publish(desired: Desired): void {
    this.#routes = desired.routes;
    this.#retainNetns(desired.backends);
    this.#metrics.routesSwapped(desired.clusters);
    this.#clusterLog.write(desired.clusters);
    const { appeared, recovered } = problemChanges(this.#problems, desired.problems);
    this.#problems = desired.problems;
    for (const { origin, reason } of appeared)
      this.#logger.warn({ origin, reason }, 'something cannot be used');
    for (const origin of recovered) this.#logger.info({ origin }, `${origin}: well again`);
  }

  #retainNetns(backends: Desired['backends']): void {
    this.#engine.retainNetns(
      backends.map((backend) => backend.netns).filter((netns): netns is NetnsRef => netns !== null),
    );
  }

  /** A client that connects while the first checks run would be told that its cluster is down: so they come first. */
  async #firstVerdicts(): Promise<void> {
    const end = performance.now() + SETTLE_TIMEOUT_MS;
    while (!this.#stopping && performance.now() < end) {
      if ([...this.#health.snapshot().values()].every(isSettled)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #serve(pages: AdminPages, endpoint: RunConfig['admin']): Promise<{ address: string; port: number }> {
    const server = new AdminServer(pages);
    this.#servers.push(server);
    return server.listen(endpoint);
  }

  #healthPages(): AdminPages {
    return {
      '/livez': () => ({ status: 200, type: 'text', body: 'ok\n' }),
      '/readyz': () =>
        this.#notReadyBecause === null
          ? { status: 200, type: 'text', body: 'ok\n' }
          : { status: 503, type: 'text', body: `not ready: ${this.#notReadyBecause}\n` },
      '/metrics': async () => ({
        status: 200,
        type: 'metrics',
        body: await this.#metrics.registry.metrics(),
      }),
    };
  }

  #adminPages(): AdminPages {
    return {
      ...this.#healthPages(),
      '/status': () => ({ status: 200, type: 'json', body: `${JSON.stringify(this.#status(), null, 2)}\n` }),
    };
  }

  #status() {
    return statusView({
      instance: hostname(),
      version: this.#version,
      listen: this.#listener === null ? null : endpointText(this.#listener),
      ready: this.#notReadyBecause === null,
      notReadyBecause: this.#notReadyBecause,
      connections: this.#engine.stats().connections,
      clusters: this.#loop.last()?.clusters ?? [],
      health: this.#health.snapshot(),
      connectionsPerCluster: this.#policy.connectionsPerCluster,
      problems: this.#loop.last()?.problems ?? [],
    });
  }
}

function isSettled(health: TargetHealth): boolean {
  return health.up || health.lastProbe?.ok === false;
}

function engineLimits(config: RunConfig, logger: Logger): EngineLimits {
  const descriptors = descriptorLimit();
  const budget = descriptorBudget(descriptors, config.maxConnections);
  const facts = { ...budget, wanted: config.maxConnections, descriptors };
  if (budget.maxConnections < config.maxConnections) {
    logger.warn(
      facts,
      'the limit on open files allows fewer connections than --max-connections (raise LimitNOFILE or ulimit -n)',
    );
  } else {
    logger.debug(facts, 'limits');
  }
  return {
    ...budget,
    maxPendingDials: config.maxPendingDials,
    maxPendingDialsPerBackend: Math.max(1, Math.floor(config.maxPendingDials / 4)),
    helloTimeoutMs: config.helloTimeoutMs,
    maxHelloBytes: MAX_HELLO_BYTES + PROXY_HEADER_ROOM,
    maxHelloMemoryBytes: 64 * 1024 * 1024,
    connectTimeoutMs: config.connectTimeoutMs,
    deadPeerTimeoutMs: config.deadPeerTimeoutMs,
    lingerMs: 1000,
  };
}
