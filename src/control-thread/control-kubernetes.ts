// Wires the Kubernetes part of the control thread: one client, the cluster and listener sources, the publisher, and their log
// messages. Only the control thread imports this file.
import { hostname } from 'node:os';
import type { RunConfig } from '../cli/config/config.ts';
import type { WriteOutcome } from '../control/apply/apply.ts';
import type { KubernetesStatus } from '../control/apply/kubernetes-status.ts';
import { PublishLog } from '../control/apply/publish-log.ts';
import { isReachableAt, unreachableAdvice } from '../control/instance/address-reach.ts';
import { type AdvertisedAddress, advertisedAddress } from '../control/instance/advertise-address.ts';
import type { DefaultRouteAddress } from '../control/instance/default-route.ts';
import { hostIdentity, readDefaultRouteAddress } from '../control/instance/this-host.ts';
import { KubePublisher } from '../control/kube-publisher.ts';
import { instanceName } from '../control/objects/instance-name.ts';
import type { TurnCache } from '../control/objects/turn-cache.ts';
import { ControlPlaneSource } from '../control/sources/control-plane-source.ts';
import { KubeSource } from '../control/sources/kube-source.ts';
import { ListenerSource } from '../control/sources/listener-source.ts';
import { openKubeClient } from '../kube/kube-client.ts';
import { isEqual } from '../routing/changes.ts';
import type { Log } from '../telemetry/log/log-fields.ts';
import type { ProcessOrigin } from './control-messages.ts';

export interface ControlKubernetesOptions {
  readonly config: RunConfig;
  /** The cache of the control loop. */
  readonly cache: TurnCache;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly routesLive: () => boolean;
  readonly onChange: () => void;
  readonly origin: ProcessOrigin;
  readonly onSuperseded: (holder: string) => void;
  readonly onRefused: (reason: string) => void;
  readonly log: Log;
}

/** How often the address of the default route is read again. It can change while a process runs for weeks. */
const ADDRESS_EVERY_MS = 30_000;

export class ControlKubernetes {
  readonly source: KubeSource;
  readonly listeners: ListenerSource;
  /** null: `--control-plane-machines off`. */
  readonly controlPlanes: ControlPlaneSource | null;
  readonly publisher: KubePublisher;
  readonly #client: Awaited<ReturnType<typeof openKubeClient>>;
  readonly #options: ControlKubernetesOptions;
  readonly #instance: string;
  #defaultRoute: DefaultRouteAddress;
  #addressTimer: NodeJS.Timeout | null = null;
  #listen: string | null = null;
  #warnedAbout: string | null = null;

  /** Throws KubeconfigError when there are no usable credentials. Does not check that the API answers. */
  static async open(options: ControlKubernetesOptions): Promise<ControlKubernetes> {
    const { config, environment, log } = options;
    const client = await openKubeClient({
      kubeconfig: config.kubeconfig,
      environment,
      userAgent: `isthmus/${options.version}`,
      onCredentialProblem: (problem) =>
        problem === null
          ? log('info', {}, 'credentials for the Kubernetes API are readable again')
          : log(
              'warn',
              { problem },
              'credentials for the Kubernetes API are unreadable: the previous ones stay in use',
            ),
    });
    const kubernetes = new ControlKubernetes(options, client, await readDefaultRouteAddress());
    log(
      'info',
      { server: client.server, identity: client.identity, instance: kubernetes.#instance },
      'watching the Kubernetes API',
    );
    return kubernetes;
  }

  private constructor(
    options: ControlKubernetesOptions,
    client: Awaited<ReturnType<typeof openKubeClient>>,
    defaultRoute: DefaultRouteAddress,
  ) {
    const { config } = options;
    this.#options = options;
    this.#client = client;
    this.#defaultRoute = defaultRoute;
    this.#instance = instanceName({ nodeName: config.nodeName, hostname: hostname() });
    this.source = new KubeSource({
      client,
      namespace: config.clusterNamespace,
      settings: { proxyAlways: config.proxyAlways, trustSpecNetwork: config.trustSpecNetwork },
    });
    this.listeners = new ListenerSource({
      client,
      namespace: config.clusterNamespace,
      settings: { ignoredLabels: new Set(config.ignoredSelectorLabels) },
      onChange: options.onChange,
    });
    this.controlPlanes =
      config.controlPlaneMachines === 'on'
        ? new ControlPlaneSource({ client, namespace: config.clusterNamespace, onChange: options.onChange })
        : null;
    const publishLog = new PublishLog(options.log);
    this.publisher = new KubePublisher({
      client,
      cache: options.cache,
      settings: {
        namespace: config.namespace,
        clusterNamespace: config.clusterNamespace,
        instance: this.#instance,
        host: hostIdentity(),
        nodeName: config.nodeName,
        node: {
          node: config.nodeName ?? hostname().toLowerCase(),
          selector: config.nodeSelector,
          unknown: config.unknownNode,
          onParticipation: ({ takesPart, reason }) => this.#logParticipation(takesPart, reason),
        },
        claim: { ...options.origin, takeOver: config.takeOver, daemonSet: config.daemonSet },
        lockDirectory: config.lockDirectory ?? config.handover,
        liveness: config.liveness,
        propagationWaitMs: config.propagationWaitMs,
        allowMassDelete: config.allowMassDelete,
        tags: config.resourceTags,
      },
      advertised: () => this.#advertised(),
      routesLive: options.routesLive,
      onChange: options.onChange,
      onOutcome: (outcome: WriteOutcome) => publishLog.write(outcome),
      onSuperseded: options.onSuperseded,
      onRefused: options.onRefused,
      onTaken: ({ holder, process }, reason) =>
        options.log(
          'info',
          { holder, reason: reason ?? 'expired' },
          `took the Lease over from ${process === '' ? 'another process' : process}`,
        ),
    });
  }

  /** Resolves when the first lists have arrived or failed. */
  async start(): Promise<void> {
    this.#addressTimer = setInterval(() => void this.#checkAddress(), ADDRESS_EVERY_MS);
    this.controlPlanes?.start();
    await Promise.all([this.publisher.start(), this.listeners.start()]);
  }

  /** The proxy accepts clients at this address and port. */
  listening(address: string, port: number): void {
    this.#listen = address;
    this.#warnIfUnreachable();
    this.publisher.listening(port);
  }

  status(): KubernetesStatus {
    const { lease, peers, participation, staleSinceMs } = this.publisher.status();
    const { staleSinceMs: clustersStaleSinceMs } = this.source;
    const since = [staleSinceMs, clustersStaleSinceMs].filter((ms) => ms !== null);
    const ago = since.length === 0 ? null : performance.now() - Math.min(...since);
    const controlPlanesProblem = this.controlPlanes?.problem ?? null;
    return {
      server: this.#client.server,
      identity: this.#client.identity,
      instance: this.#instance,
      lease,
      liveness: peers?.mode ?? null,
      instances: peers === null ? null : peers.live.size,
      takesPart: participation?.takesPart ?? null,
      takesPartBecause: participation?.reason ?? null,
      staleSince: ago === null ? null : new Date(Date.now() - ago).toISOString(),
      ...(controlPlanesProblem !== null && { controlPlanesProblem }),
      calls: Object.fromEntries(this.#client.callCounts()),
    };
  }

  async stop(): Promise<void> {
    if (this.#addressTimer !== null) clearInterval(this.#addressTimer);
    await Promise.all([this.publisher.stop(), this.listeners.stop(), this.controlPlanes?.stop()]);
    await this.#client.close();
  }

  #logParticipation(takesPart: boolean, reason: string): void {
    const message = takesPart
      ? 'this instance takes part: it publishes and gets clients'
      : 'this instance does not take part: its slices are withdrawn, and clients use other instances';
    this.#options.log('info', { reason }, message);
  }

  #advertised(): AdvertisedAddress {
    const { advertiseAddress: flag, podIp, listen } = this.#options.config;
    return advertisedAddress({ flag, podIp, listenHost: listen.host, defaultRoute: this.#defaultRoute });
  }

  /**
   * Warns once for each advertised address at which this instance does not listen. This is not an error: the address may be intended,
   * such as the address of a proxy in front. It may also come from the default route.
   */
  #warnIfUnreachable(): void {
    const choice = this.#advertised();
    if (this.#listen === null || choice.kind === 'none') return;
    const advice = isReachableAt(this.#listen, choice.address)
      ? null
      : unreachableAdvice(this.#listen, choice.address, choice.from);
    if (advice !== null && advice.found !== this.#warnedAbout)
      this.#options.log('warn', { fix: advice.fix }, advice.found);
    this.#warnedAbout = advice?.found ?? null;
  }

  async #checkAddress(): Promise<void> {
    const before = this.#defaultRoute;
    this.#defaultRoute = await readDefaultRouteAddress();
    if (isEqual(before, this.#defaultRoute)) return;
    this.#warnIfUnreachable();
    this.#options.onChange();
  }
}
