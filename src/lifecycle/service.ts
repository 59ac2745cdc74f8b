// Life under a supervisor, and upgrades without a gap: ties what it gave us at the start, what it wants to hear, and our successor
// together. It decides when the program lets go; what that means is the program's own affair.
import { closeSync } from 'node:fs';
import type { NativeAddon } from '../netns/native.ts';
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

export interface ServiceDeps {
  readonly addon: NativeAddon;
  /** Where a successor finds us and we find our predecessor; null: nowhere. */
  readonly directory: string | null;
  readonly version: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly pid: number;
  readonly uid: number;
  readonly log: (level: 'info' | 'warn' | 'error', facts: object, message: string) => void;
  /** How a successor is started: as we were, unless a test says otherwise. */
  readonly command?: readonly string[];
  /** How long a successor may take until it serves. */
  readonly startLimitMs?: number;
}

/** The program, as far as this needs to know it. */
export interface Served {
  /** All that listen, by the names under which a successor asks for them. */
  sockets(): readonly { readonly name: string; readonly fd: number }[];
  /** Accept nothing more, write nothing more: a successor does. Connections go on. */
  release(): Promise<void>;
  summary(): ServiceSummary;
  /** Whether everything that must run does. */
  isWell(): boolean;
  /** Others ask at our health port about the newest process on this host: it is not ready while it starts. */
  successorStarts(version: string | null): void;
}

const NEVER = new Promise<never>(() => {});
const STATUS_MS = 1000;
/** The first health verdicts alone may take 10 s. The chart's readiness probe is more patient than that. */
export const START_LIMIT_MS = 60_000;
/** A listener that somebody opens only later, once it knows of it. */
const KEEP_UNCLAIMED_MS = 30_000;

export class Service {
  readonly #deps: ServiceDeps;
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

  private constructor(deps: ServiceDeps, predecessor: Predecessor | null, sockets: readonly HandedSocket[]) {
    this.#deps = deps;
    this.#startLimitMs = deps.startLimitMs ?? START_LIMIT_MS;
    this.#predecessor = predecessor;
    this.#pinned = new Set(sockets.filter(({ pinned }) => pinned).map(({ name }) => name));
    this.#inherited = new InheritedSockets(sockets, closeSync);
    this.#notify = new NotifySocket({
      address: deps.environment.NOTIFY_SOCKET,
      addon: deps.addon,
      onProblem: (error) => deps.log('warn', {}, `systemd cannot be told how we are: ${error.message}`),
    });
    for (const { name, address, port } of this.#inherited.surplus)
      deps.log(
        'warn',
        { socket: name, address, port },
        `systemd gives two sockets the name ${name}, and only the first is served: clients of this one wait in vain; ` +
          'leave one ListenStream= in the .socket unit (a port without an address is for IPv4 and IPv6)',
      );
  }

  /** Whether there is anything to do here: without a supervisor and a place to meet, everything stays as it is. */
  static isWanted(environment: NodeJS.ProcessEnv, directory: string | null): boolean {
    return directory !== null || [environment.NOTIFY_SOCKET, environment.LISTEN_FDS].some(Boolean);
  }

  static async open(deps: ServiceDeps): Promise<Service> {
    const { addon, directory, environment, pid, uid, version, log } = deps;
    const given = listenFds(environment, pid).map((each) => ({
      ...each,
      ...addon.adoptListening(each.fd),
      pinned: true,
    }));
    // They are ours, and no child's.
    for (const name of LISTEN_VARIABLES) delete environment[name];
    let predecessor: Predecessor | null = null;
    if (directory !== null) {
      requirePrivateDirectory(directory, uid);
      predecessor = await Predecessor.ask({ directory, addon, uid, version });
    }
    if (predecessor !== null) {
      const names = predecessor.sockets.map(({ name }) => name);
      log('info', { pid: predecessor.pid, version: predecessor.version, sockets: names }, 'taking over');
    }
    // What systemd gives to us goes before what it once gave to another.
    const mine = new Set(given.map(({ name }) => name));
    const theirs = predecessor?.sockets ?? [];
    for (const { fd } of theirs.filter(({ name }) => mine.has(name))) closeSync(fd);
    return new Service(deps, predecessor, [...given, ...theirs.filter(({ name }) => !mine.has(name))]);
  }

  /** A successor serves in our place: what is left is to finish the connections. */
  get handedOver(): Promise<Successor> {
    return this.#handedOver.promise;
  }

  /** Whether another process serves until we do. */
  get hasPredecessor(): boolean {
    return this.#predecessor !== null;
  }

  /** Rejects when the process that serves until we do has given us up; never resolves. */
  get dismissed(): Promise<never> {
    return this.#predecessor?.dismissed ?? NEVER;
  }

  take(name: string, wanted: WantedEndpoint): number | undefined {
    return this.#inherited.take(name, wanted);
  }

  /** We accept: resolves when our predecessor does no longer. */
  async accepting(): Promise<void> {
    await this.#predecessor?.serving();
  }

  /** We serve: says so, and can be found from now on. */
  async serving(served: Served): Promise<void> {
    if (this.#isOver) return; // told to stop before
    const { directory, addon, uid, version, environment, pid, log } = this.#deps;
    this.#served = served;
    setTimeout(() => {
      if (this.#inherited.left.length > 0)
        log(
          'warn',
          { sockets: this.#inherited.left },
          'nobody wants these sockets of systemd, or of our predecessor: closed',
        );
      this.#inherited.closeRest();
    }, KEEP_UNCLAIMED_MS).unref();
    if (directory !== null) {
      this.#server = new HandoverServer({
        directory,
        addon,
        uid,
        version,
        sockets: () => served.sockets().map((each) => ({ ...each, pinned: this.#pinned.has(each.name) })),
        release: (successor) => this.#release(successor),
        upgrade: (settings) => this.upgrade(settings),
        startLimitMs: this.#startLimitMs,
        onSuccessor: (change) => this.#successorChanged(change),
        onStranger: (stranger, user) =>
          log('warn', { pid: stranger, uid: user }, 'a stranger asked for our sockets, and got nothing'),
      });
      await this.#server.open();
    }
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

  /**
   * Starts the program that is on disk now, and hands over to it. If it does not come to serve, we go on as if nothing had been.
   * `settings` take the place of ours in its environment; null: it gets ours.
   */
  async upgrade(settings: Readonly<Record<string, string>> | null): Promise<UpgradeOutcome> {
    if (this.#upgrading || this.#isOver || this.#server === null || this.#server.starting !== null)
      return { kind: 'failed', reason: 'an upgrade, or the end, is under way already' };
    const { log, command = ownCommand(), environment, pid } = this.#deps;
    // A container ends with its first process, and everything in it: in the end we would take our successor along.
    if (pid === 1) {
      const reason =
        'it is the first process of its container, which ends with it: start a new container beside it';
      log('error', { reason }, 'no successor is started: this process goes on');
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
      log('error', { reason: outcome.reason }, 'the successor does not serve: this process goes on');
      if (!this.#isOver) this.#notify.send({ READY: 1, STATUS: this.#lastStatus });
    }
    return outcome;
  }

  /** Before we send clients elsewhere: a successor that nobody asked us to start may be about to take over. */
  async beforeStop(): Promise<void> {
    if (this.#isOver || this.#server?.starting == null || this.#upgrading) return;
    this.#deps.log('info', {}, 'waiting for the successor that is starting');
    this.#successorSettled = Promise.withResolvers();
    const timer = setTimeout(() => this.#successorSettled?.resolve(), this.#startLimitMs);
    await Promise.race([this.#successorSettled.promise, this.handedOver]);
    clearTimeout(timer);
  }

  /** We end, and may take so long. After a hand-over the supervisor listens to our successor only. */
  stopping(withinMs: number): void {
    // A unit's TimeoutStopSec= cannot know the settings: those who drain for longer say so.
    const EXTEND_TIMEOUT_USEC = withinMs * 1000;
    if (!this.#isOver) this.#notify.send({ STOPPING: 1, EXTEND_TIMEOUT_USEC, STATUS: 'stopping' });
    this.#end();
    this.#started?.kill(); // nobody wants one of us to begin now
    this.#server?.close();
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
        late.resolve({ kind: 'failed', reason: `it did not come to serve within ${seconds} s` });
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

  async #release(successor: Successor): Promise<void> {
    this.#end();
    await this.#served?.release();
    // Before we may end: the supervisor would take our end for the end of the service.
    this.#notify.send({ MAINPID: successor.pid });
    this.#handedOver.resolve(successor);
  }

  #successorChanged({ kind, successor }: SuccessorChange): void {
    const { log } = this.#deps;
    const seconds = this.#startLimitMs / 1000;
    if (kind === 'starts') log('info', { ...successor }, 'a successor has our sockets, and starts');
    else if (kind === 'late')
      log(
        'warn',
        { ...successor },
        `the successor did not come to serve within ${seconds} s: this process goes on, and the next one may try`,
      );
    else if (!this.#upgrading)
      log('warn', { ...successor }, 'the successor ended before it served: this process goes on');
    if (kind !== 'starts') this.#successorSettled?.resolve();
    // One that hangs is not ready either: a kubelet that took our word for its own would end us.
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
    this.#watchdog?.stop();
    if (this.#statusTimer !== null) clearInterval(this.#statusTimer);
  }
}
