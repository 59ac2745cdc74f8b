// Keeps one port open for each wanted TCP listener and reports the outcomes. An open port stays open while its route changes. A port
// that fails to open is retried. This file does not decide routes and never closes a connection.
import type { PortRange } from './cli/config/values.ts';
import { listenerKey } from './proxy/connection-shares.ts';
import type { Engine, Listener, ListenerSpec, Policy } from './proxy/engine.ts';
import { isEqual } from './routing/changes.ts';
import type { PortOutcome, PortRoute, Route } from './routing/route-table.ts';

export interface ListenerPortsOptions {
  readonly engine: Pick<Engine, 'openListener'>;
  /** undefined: all addresses. */
  readonly host: string | undefined;
  /** null: this instance has no ports for TCP listeners. */
  readonly range: PortRange | null;
  readonly policyOf: (route: () => Route) => Policy;
  /** Receives all outcomes whenever one of them changed. */
  readonly report: (outcomes: ReadonlyMap<string, PortOutcome>) => void;
  readonly retryMs: number;
  /** The socket that a predecessor handed over under this name, if its port is in the range and not in `except`. */
  readonly inherited?: (name: string, range: PortRange, except: ReadonlySet<number>) => number | undefined;
}

/** The ports of one pass. */
interface Pass {
  readonly range: PortRange;
  readonly taken: Set<number>;
  /** Ports that failed to open in this pass: in use by another program, or not permitted. */
  readonly busy: Set<number>;
}

interface OpenPort {
  readonly listener: Listener;
  /** Decides connections. After the listener closes, it still decides those accepted earlier. */
  route: Route;
}

export class ListenerPorts {
  readonly #options: ListenerPortsOptions;
  readonly #open = new Map<string, OpenPort>();
  #wanted: readonly PortRoute[] = [];
  #held: ReadonlySet<number> = new Set();
  #outcomes: ReadonlyMap<string, PortOutcome> = new Map();
  #working: Promise<void> | null = null;
  #again = false;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: ListenerPortsOptions) {
    this.#options = options;
  }

  /** The outcomes of the last pass, by name. */
  get outcomes(): ReadonlyMap<string, PortOutcome> {
    return this.#outcomes;
  }

  /**
   * Replaces the wanted ports. Routes of open ports are swapped before this returns. Only the previous owner may get a `held` port,
   * because clients of that listener may still connect to it.
   */
  want(ports: readonly PortRoute[], held: readonly number[]): void {
    if (this.#stopped) return;
    this.#wanted = ports;
    this.#held = new Set(held);
    for (const { name, route } of ports) {
      const open = this.#open.get(name);
      if (open !== undefined) open.route = route;
    }
    this.#work();
  }

  /** Resolves when no pass is running. */
  async settled(): Promise<void> {
    while (this.#working !== null) await this.#working;
  }

  /** Stops opening and closing ports: the engine closes open ports when it drains. Resolves when no pass is running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#working;
  }

  /** One pass at a time. A change during a pass starts another pass after it. */
  #work(): void {
    if (this.#working !== null) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#retry);
    this.#again = false;
    this.#working = this.#pass().finally(() => {
      this.#working = null;
      if (this.#stopped) return;
      if (this.#again) this.#work();
      else if ([...this.#outcomes.values()].some(({ kind }) => kind === 'failed'))
        this.#retry = setTimeout(() => this.#work(), this.#options.retryMs);
    });
  }

  async #pass(): Promise<void> {
    const wanted = this.#wanted;
    const names = new Set(wanted.map(({ name }) => name));
    for (const [name, { listener }] of this.#open) {
      if (names.has(name)) continue;
      this.#open.delete(name);
      await listener.close();
    }
    const failures = await this.#openMissing(wanted.filter(({ name }) => !this.#open.has(name)));
    const outcomes = new Map<string, PortOutcome>();
    for (const { name } of wanted) {
      const open = this.#open.get(name);
      const reason = failures.get(name) ?? 'it was not tried yet';
      outcomes.set(
        name,
        open === undefined ? { kind: 'failed', reason } : { kind: 'open', port: open.listener.port },
      );
    }
    if (this.#stopped || isEqual(this.#outcomes, outcomes)) return;
    this.#outcomes = outcomes;
    this.#options.report(outcomes);
  }

  /** Returns the failures, by name. Listeners that had a port before choose first, because their clients still use it. */
  async #openMissing(missing: readonly PortRoute[]): Promise<ReadonlyMap<string, string>> {
    const { range } = this.#options;
    if (range === null) {
      const reason = 'this instance has no ports for TCP listeners: --listener-ports is empty';
      return new Map(missing.map(({ name }) => [name, reason]));
    }
    const failures = new Map<string, string>();
    const taken = new Set(Array.from(this.#open.values(), ({ listener }) => listener.port));
    const pass = { range, taken, busy: new Set<number>() };
    const others: PortRoute[] = [];
    for (const request of missing) {
      if (await this.#tookInherited(request, pass)) continue;
      if (!(await this.#tookPreferred(request, pass))) others.push(request);
    }
    for (const request of others) {
      const failure = await this.#openAny(request, pass);
      if (failure !== null) failures.set(request.name, failure);
    }
    return failures;
  }

  async #tookInherited(request: PortRoute, pass: Pass): Promise<boolean> {
    const except = new Set(this.#held);
    if (request.preferredPort !== null) except.delete(request.preferredPort);
    const fd = this.#options.inherited?.(listenerKey(request.name), pass.range, except);
    return fd !== undefined && (await this.#tryPort(request, 0, pass, fd)) === null;
  }

  async #tookPreferred(request: PortRoute, pass: Pass): Promise<boolean> {
    const port = request.preferredPort;
    const { range, taken, busy } = pass;
    if (port === null || port < range.from || port > range.to || taken.has(port) || busy.has(port))
      return false;
    return (await this.#tryPort(request, port, pass)) === null;
  }

  /** Returns null when a port is open, otherwise the failure. */
  async #openAny(request: PortRoute, pass: Pass): Promise<string | null> {
    const { taken, busy } = pass;
    const { from, to } = pass.range;
    let held = 0;
    for (let port = from; port <= to && !this.#stopped; port += 1) {
      if (taken.has(port) || busy.has(port)) continue;
      if (this.#held.has(port)) {
        held += 1;
        continue;
      }
      const error = await this.#tryPort(request, port, pass);
      if (error === null) return null;
      // Any other error would hit every port.
      if (error !== 'EADDRINUSE' && error !== 'EACCES') return `port ${port} cannot be opened (${error})`;
    }
    const used = `${taken.size} taken by other listeners, ${busy.size} by other programs or not permitted`;
    const kept = held === 0 ? '' : `, ${held} that clients of another listener may still be sent to`;
    return `no port of --listener-ports ${from}-${to} is free: ${used}${kept}`;
  }

  /** Returns null when the port is open, otherwise the error code. */
  async #tryPort(
    request: PortRoute,
    port: number,
    { taken, busy }: Pass,
    fd?: number,
  ): Promise<string | null> {
    const { engine, host, policyOf } = this.#options;
    if (this.#stopped) return 'ECANCELED';
    const holder: { route: Route } = { route: request.route };
    const spec: ListenerSpec = {
      name: listenerKey(request.name),
      host,
      port,
      ...(fd !== undefined && { fd }),
      mode: 'immediate',
      policy: policyOf(() => holder.route),
    };
    try {
      const listener = await engine.openListener(spec);
      taken.add(listener.port);
      this.#open.set(request.name, Object.assign(holder, { listener }));
      // The route may have changed while the port was opening.
      holder.route = this.#wanted.find(({ name }) => name === request.name)?.route ?? holder.route;
      return null;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      busy.add(port);
      return code;
    }
  }
}
