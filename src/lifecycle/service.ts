// The process under a supervisor, and upgrades without downtime: inherited sockets, notifications to systemd, predecessor and
// successor. It decides when the program releases its sockets; the program (`Served`) decides how.
import { closeSync } from 'node:fs';
import type { NativeAddon } from '../netns/native.ts';
import type { Log } from '../telemetry/log/log-fields.ts';
import { requirePrivateDirectory } from './handover-directory.ts';
import {
  HandoverServer,
  type Successor,
  type SuccessorChange,
  type UpgradeOutcome,
} from './handover-server.ts';
import {
  type HandedSocket,
  InheritedSockets,
  LISTEN_VARIABLES,
  listenFds,
  type WantedEndpoint,
} from './inherited-sockets.ts';
import {
  NotifySocket,
  type ServiceSummary,
  statusLine,
  Watchdog,
  watchdogIntervalMs,
} from './notify-socket.ts';
import { Predecessor } from './predecessor.ts';
import { successorEnvironment } from './settings-environment.ts';
import { ownCommand, type SuccessorProcess, startSuccessor } from './successor-process.ts';
import { type SuccessorClaim, successorRefusal } from './successor-refusal.ts';

export interface ServiceOptions {
  readonly addon: NativeAddon;
  /** The handover directory, shared with predecessor and successor; null: no handover. */
  readonly directory: string | null;
  readonly version: string;
  /** Identifies this process in the Lease of its node. */
  readonly processId: string;
  /** `<namespace>/<name>:<generation>` of the DaemonSet of this Pod; null: none. */
  readonly daemonSet: string | null;
  /** `--take-over`: the predecessor must not object to the DaemonSet of this process. */
  readonly takeOver: boolean;
  readonly environment: NodeJS.ProcessEnv;
  readonly pid: number;
  readonly uid: number;
  readonly log: Log;
  /** The successor's command line. Default: the command line of this process. Tests set it. */
  readonly command?: readonly string[];
  /** Time limit for a successor until it serves. */
  readonly startLimitMs?: number;
  /** How long the supervisor waits at most for the program to be ready. */
  readonly readyLimitMs?: number;
}

/** The part of the program that the service needs. */
export interface Served {
  /** All listening sockets, with the names that a successor uses for them. */
  sockets(): readonly { readonly name: string; readonly fd: number }[];
  /** Stops accepting, and stops writing to Kubernetes: the successor does both. Existing connections continue. */
  release(): Promise<void>;
  summary(): ServiceSummary;
  /** Whether every essential part runs. */
  isWell(): boolean;
  /** Resolves when the program can do all of its work. */
  readonly ready: Promise<void>;
  /** Processes on one host share the health port. A probe asks about the newest one, which is not ready while it starts. */
  successorStarts(version: string | null): void;
}

/** Listening sockets to take over, and the predecessor that accepts on them until this process does. */
export type Handover = Pick<
  Service,
  'take' | 'hasPredecessor' | 'predecessor' | 'predecessorGone' | 'accepting'
>;

const NEVER = new Promise<never>(() => {});
const STATUS_MS = 1000;
/** The first health verdicts alone can take 10 s. The chart's readiness probe tolerates more than 60 s. */
export const START_LIMIT_MS = 60_000;
/**
 * A unit that cannot read the Kubernetes API counts as started after this time. It must stay below TimeoutStartSec= of the unit:
 * otherwise systemd would restart a process that only waits. It must be longer than a process waits for a Lease that it does not get
 * (one duration, one renewal and one read: 42 s): otherwise the unit would fail after a start that succeeded.
 */
const READY_LIMIT_MS = 50_000;
/** Some listeners open only after their configuration is read. Unclaimed sockets stay open for this long. */
const KEEP_UNCLAIMED_MS = 30_000;

export class Service {
  readonly #options: ServiceOptions;
  readonly #startLimitMs: number;
  readonly #notify: NotifySocket;
  readonly #predecessor: Predecessor | null;
  readonly #inherited: InheritedSockets;
  readonly #pinned: ReadonlySet<string>;
  readonly #handedOver = Promise.withResolvers<Successor>();
  #served: Served | null = null;
  #server: HandoverServer | null = null;
  #watchdog: Watchdog | null = null;
  #statusTimer: NodeJS.Timeout | null = null;
  #lastStatus = '';
  #upgrading = false;
  #started: SuccessorProcess | null = null;
  #successorSettled: PromiseWithResolvers<void> | null = null;
  #isOver = false;
  readonly #over = Promise.withResolvers<void>();

  private constructor(
    options: ServiceOptions,
    predecessor: Predecessor | null,
    sockets: readonly HandedSocket[],
  ) {
    this.#options = options;
    this.#startLimitMs = options.startLimitMs ?? START_LIMIT_MS;
    this.#predecessor = predecessor;
    this.#pinned = new Set(sockets.filter(({ pinned }) => pinned).map(({ name }) => name));
    this.#inherited = new InheritedSockets(sockets, closeSync);
    this.#notify = new NotifySocket({
      address: options.environment.NOTIFY_SOCKET,
      addon: options.addon,
      onProblem: (error) => options.log('warn', {}, `status message to systemd failed: ${error.message}`),
    });
    for (const { name, address, port } of this.#inherited.surplus)
      options.log(
        'warn',
        { socket: name, address, port },
        `systemd gives two sockets the name ${name}, and only the first is served: clients of the other one get no answer; ` +
          'leave one ListenStream= in the .socket unit (a port without an address is for IPv4 and IPv6)',
      );
  }

  static async open(options: ServiceOptions): Promise<Service> {
    const { addon, directory, environment, pid, uid, version, daemonSet, takeOver, log } = options;
    const given = listenFds(environment, pid).map((each) => ({
      ...each,
      ...addon.adoptListening(each.fd),
      pinned: true,
    }));
    // The sockets belong to this process: its children must not inherit these variables.
    for (const name of LISTEN_VARIABLES) delete environment[name];
    let predecessor: Predecessor | null = null;
    if (directory !== null) {
      requirePrivateDirectory(directory, uid);
      predecessor = await Predecessor.ask({ directory, addon, uid, version, daemonSet, takeOver });
    }
    if (predecessor !== null) {
      const names = predecessor.sockets.map(({ name }) => name);
      log('info', { pid: predecessor.pid, version: predecessor.version, sockets: names }, 'taking over');
    }
    // A socket from systemd takes precedence over the predecessor's socket of the same name.
    const mine = new Set(given.map(({ name }) => name));
    const theirs = predecessor?.sockets ?? [];
    for (const { fd } of theirs.filter(({ name }) => mine.has(name))) closeSync(fd);
    return new Service(options, predecessor, [...given, ...theirs.filter(({ name }) => !mine.has(name))]);
  }

  /** Resolves when a successor serves. This process then only drains its connections. */
  get handedOver(): Promise<Successor> {
    return this.#handedOver.promise;
  }

  /** Whether another process serves until this one does. */
  get hasPredecessor(): boolean {
    return this.#predecessor !== null;
  }

  /** The process that gave its sockets to this one; null: none did. */
  get predecessor(): { readonly processId: string | null } | null {
    return this.#predecessor;
  }

  /** Resolves when the predecessor has ended; never resolves without one. */
  get predecessorGone(): Promise<void> {
    return this.#predecessor?.gone ?? NEVER;
  }

  /** Rejects if the predecessor gives this process up; never resolves. */
  get dismissed(): Promise<never> {
    return this.#predecessor?.dismissed ?? NEVER;
  }

  take(name: string, wanted: WantedEndpoint): number | undefined {
    return this.#inherited.take(name, wanted);
  }

  /** This process accepts connections. Resolves when the predecessor no longer does. */
  async accepting(): Promise<void> {
    await this.#predecessor?.serving();
  }

  /**
   * The listener of this process is open: accepts handover requests, and notifies the supervisor when the program is ready. Handover
   * requests come first: a reload is the way to replace wrong credentials.
   */
  async serving(served: Served): Promise<void> {
    if (this.#isOver) return; // a stop came first
    const { directory, addon, uid, version, processId, log } = this.#options;
    this.#served = served;
    setTimeout(() => {
      if (this.#inherited.left.length > 0)
        log('warn', { sockets: this.#inherited.left }, 'closing inherited sockets that no listener uses');
      this.#inherited.closeRest();
    }, KEEP_UNCLAIMED_MS).unref();
    if (directory !== null) {
      this.#server = new HandoverServer({
        directory,
        addon,
        uid,
        version,
        processId,
        sockets: () => served.sockets().map((each) => ({ ...each, pinned: this.#pinned.has(each.name) })),
        refusal: (claim) => this.#refusal(claim),
        release: (successor) => this.#release(successor),
        upgrade: (settings) => this.upgrade(settings),
        startLimitMs: this.#startLimitMs,
        onSuccessor: (change) => this.#successorChanged(change),
        onRejectedPeer: (peerPid, peerUid) =>
          log('warn', { pid: peerPid, uid: peerUid }, 'handover rejected: peer runs as another user'),
      });
      await this.#server.open();
    }
    void this.#announce(served);
  }

  /**
   * Starts the program that is now on disk, and hands over to it. If the successor does not serve, this process continues unchanged.
   * `settings` replace our settings in its environment; null: it gets our settings.
   */
  async upgrade(settings: Readonly<Record<string, string>> | null): Promise<UpgradeOutcome> {
    if (this.#upgrading || this.#isOver || this.#server === null || this.#server.starting !== null)
      return { kind: 'failed', reason: 'an upgrade or a stop is already under way' };
    const { log, command = ownCommand(), environment, pid } = this.#options;
    // A container ends with its first process. The end of this process would kill the successor too.
    if (pid === 1) {
      const reason =
        'this process is the first of its container, and the container ends with it: start a new container beside it';
      log('error', { reason }, 'successor not started: this process continues to serve');
      return { kind: 'failed', reason };
    }
    this.#upgrading = true;
    this.#notify.send({
      RELOADING: 1,
      MONOTONIC_USEC: Math.floor(Number(process.hrtime.bigint() / 1000n)),
      STATUS: 'starting the successor',
    });
    log('info', {}, 'starting the successor');
    const outcome = await this.#successorOutcome(command, successorEnvironment(environment, settings));
    this.#upgrading = false;
    if (outcome.kind === 'failed') {
      log('error', { reason: outcome.reason }, 'successor does not serve: this process continues to serve');
      if (!this.#isOver) this.#notify.send({ READY: 1, STATUS: this.#lastStatus });
    }
    return outcome;
  }

  /** Waits before the drain if another process (a new Pod, for example) already has our sockets and is about to take over. */
  async beforeStop(): Promise<void> {
    if (this.#isOver || this.#server?.starting == null || this.#upgrading) return;
    this.#options.log('info', {}, 'waiting for the successor that is starting');
    this.#successorSettled = Promise.withResolvers();
    const timer = setTimeout(() => this.#successorSettled?.resolve(), this.#startLimitMs);
    await Promise.race([this.#successorSettled.promise, this.handedOver]);
    clearTimeout(timer);
  }

  /** This process stops within the given time. After a handover the supervisor accepts messages from the successor only. */
  stopping(withinMs: number): void {
    // TimeoutStopSec= in the unit can be shorter than the configured drain: ask systemd for the needed time.
    const EXTEND_TIMEOUT_USEC = withinMs * 1000;
    if (!this.#isOver) this.#notify.send({ STOPPING: 1, EXTEND_TIMEOUT_USEC, STATUS: 'stopping' });
    this.#end();
    this.#started?.kill(); // a stop also ends the successor that is starting
    this.#server?.close();
  }

  /** Notifies the supervisor when the program is ready, or at the latest after the limit. */
  async #announce(served: Served): Promise<void> {
    const { environment, pid } = this.#options;
    await this.#untilReady(served);
    if (this.#isOver) return; // stopped, or handed over, meanwhile
    this.#lastStatus = statusLine(served.summary());
    this.#notify.send({ READY: 1, MAINPID: pid, STATUS: this.#lastStatus });
    this.#statusTimer = setInterval(() => this.#tellStatus(), STATUS_MS);
    const intervalMs = watchdogIntervalMs(environment, pid);
    if (intervalMs !== null)
      this.#watchdog = new Watchdog(
        intervalMs,
        () => served.isWell(),
        () => this.#notify.send({ WATCHDOG: 1 }),
      );
  }

  /** Meanwhile the status line says what the start waits for. */
  async #untilReady(served: Served): Promise<void> {
    const { log, readyLimitMs = READY_LIMIT_MS } = this.#options;
    const tell = () => this.#notify.send({ STATUS: statusLine(served.summary()) });
    const late = Promise.withResolvers<'late'>();
    const limit = setTimeout(() => late.resolve('late'), readyLimitMs);
    const statusTimer = setInterval(tell, STATUS_MS);
    const outcome = await Promise.race([served.ready, late.promise, this.#over.promise]);
    clearTimeout(limit);
    clearInterval(statusTimer);
    if (outcome !== 'late') return;
    const { notReadyBecause } = served.summary();
    log(
      'warn',
      { reason: notReadyBecause },
      'start limit reached: reporting readiness before the instance is ready',
    );
  }

  async #successorOutcome(
    command: readonly string[],
    environment: NodeJS.ProcessEnv,
  ): Promise<UpgradeOutcome> {
    try {
      const successor = await startSuccessor(command, environment);
      const late = Promise.withResolvers<UpgradeOutcome>();
      const seconds = this.#startLimitMs / 1000;
      this.#started = successor;
      const timer = setTimeout(() => {
        successor.kill();
        late.resolve({ kind: 'failed', reason: `it did not start to serve within ${seconds} s` });
      }, this.#startLimitMs);
      const outcome = await Promise.race([
        this.handedOver.then((taken): UpgradeOutcome => ({ kind: 'upgraded', ...taken })),
        successor.ended.then(
          (): UpgradeOutcome => ({ kind: 'failed', reason: 'it ended before it served; its log says why' }),
        ),
        late.promise,
      ]);
      clearTimeout(timer);
      this.#started = null;
      successor.forget();
      return outcome;
    } catch (error) {
      return { kind: 'failed', reason: (error as Error).message };
    }
  }

  #refusal(claim: SuccessorClaim & Successor): string | null {
    const { pid, daemonSet, log } = this.#options;
    const reason = successorRefusal({ pid, daemonSet }, claim);
    if (reason !== null) log('warn', { pid: claim.pid, version: claim.version, reason }, 'handover rejected');
    return reason;
  }

  async #release(successor: Successor): Promise<void> {
    this.#end();
    await this.#served?.release();
    // Send MAINPID before this process can exit: otherwise the supervisor treats the exit as the end of the service.
    this.#notify.send({ MAINPID: successor.pid });
    this.#handedOver.resolve(successor);
  }

  #successorChanged({ kind, successor }: SuccessorChange): void {
    const { log } = this.#options;
    const seconds = this.#startLimitMs / 1000;
    if (kind === 'starts') log('info', { ...successor }, 'successor starting with our sockets');
    else if (kind === 'late')
      log(
        'warn',
        { ...successor },
        `the successor did not start to serve within ${seconds} s: this process continues to serve and accepts another attempt`,
      );
    else if (!this.#upgrading)
      log('warn', { ...successor }, 'successor exited before it served: this process continues to serve');
    if (kind !== 'starts') this.#successorSettled?.resolve();
    // A late successor is not ready either. If our port reported ready for it, Kubernetes would delete this Pod as replaced.
    const starting = this.#upgrading ? null : this.#server?.starting;
    this.#served?.successorStarts((starting ?? this.#server?.late)?.version ?? null);
  }

  #tellStatus(): void {
    if (this.#served === null || this.#upgrading) return;
    const line = statusLine(this.#served.summary());
    if (line === this.#lastStatus) return;
    this.#lastStatus = line;
    this.#notify.send({ STATUS: line });
  }

  #end(): void {
    this.#isOver = true;
    this.#over.resolve();
    this.#watchdog?.stop();
    if (this.#statusTimer !== null) clearInterval(this.#statusTimer);
  }
}
