// The readable engine: plain net.Sockets. It opens and closes listeners, bounds the connections, and drains them; the life of
// a single connection is in connection.ts.
import { createServer, type Server, type Socket } from 'node:net';
import type { NativeAddon } from '../../netns/native.ts';
import { NetnsHandles } from '../../netns/netns-handles.ts';
import type { NetnsRef } from '../../netns/netns-ref.ts';
import type {
  DrainResult,
  Engine,
  EngineLimits,
  EngineStats,
  Listener,
  ListenerSpec,
  Outcome,
} from '../engine.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { PendingDials } from './dial-backend.ts';
import { HelloMemory } from './hello-buffer.ts';

const ACCEPT_BACKLOG = 4096; // the kernel caps it at net.core.somaxconn

export class StreamsEngine implements Engine {
  readonly #limits: EngineLimits;
  readonly #addon: NativeAddon;
  readonly #handles: NetnsHandles;
  readonly #helloMemory: HelloMemory;
  readonly #pendingDials: PendingDials;
  readonly #servers = new Set<Server>();
  readonly #connections = new Set<Connection>();
  readonly #idleWaiters = new Set<() => void>();

  constructor(limits: EngineLimits, addon: NativeAddon) {
    this.#limits = limits;
    this.#addon = addon;
    this.#handles = new NetnsHandles(addon);
    this.#helloMemory = new HelloMemory(limits.maxHelloMemoryBytes);
    this.#pendingDials = new PendingDials(limits);
  }

  openListener(spec: ListenerSpec): Promise<Listener> {
    const context: ConnectionContext = {
      spec,
      limits: this.#limits,
      addon: this.#addon,
      handles: this.#handles,
      helloMemory: this.#helloMemory,
      pendingDials: this.#pendingDials,
    };
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    server.on('connection', (client) => void this.#accept(client, context));
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      const where = spec.host === undefined ? {} : { host: spec.host };
      server.listen({ ...where, port: spec.port, backlog: ACCEPT_BACKLOG }, () => {
        server.off('error', reject);
        // Accepting fails for want of descriptors or memory; libuv then refuses the newcomer, and the others go on.
        server.on('error', () => {});
        this.#servers.add(server);
        const bound = server.address();
        if (bound === null || typeof bound === 'string') throw new Error('a TCP listener has an address');
        resolve({
          name: spec.name,
          address: bound.address,
          port: bound.port,
          close: () => this.#closeServer(server),
        });
      });
    });
  }

  retainNetns(refs: Iterable<NetnsRef>): void {
    this.#handles.retain(refs);
  }

  stats(): EngineStats {
    return {
      connections: this.#connections.size,
      pendingDials: this.#pendingDials.total,
      helloMemoryBytes: this.#helloMemory.used,
      netnsHandles: this.#handles.size,
    };
  }

  async drain(timeoutMs: number): Promise<DrainResult> {
    const before = this.#connections.size;
    this.#stopAccepting();
    const expired = await this.#untilIdle(timeoutMs);
    const reset = expired ? this.#abortAll('drain-expired') : 0;
    await this.#untilIdle(null);
    return { finished: Math.max(0, before - reset), reset };
  }

  async close(): Promise<void> {
    this.#stopAccepting();
    this.#abortAll('stopped');
    await this.#untilIdle(null);
    this.#handles.close();
  }

  async #accept(client: Socket, context: ConnectionContext): Promise<void> {
    const connection = new Connection(client, context);
    if (this.#connections.size >= this.#limits.maxConnections) {
      connection.refuse('refused-connections');
      return;
    }
    this.#connections.add(connection);
    try {
      await connection.serve();
    } finally {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) for (const wake of [...this.#idleWaiters]) wake();
    }
  }

  #closeServer(server: Server): Promise<void> {
    // Not the callback of close(): that one waits for the connections, which go on.
    if (this.#servers.delete(server)) server.close();
    return Promise.resolve();
  }

  #stopAccepting(): void {
    for (const server of this.#servers) void this.#closeServer(server);
  }

  #abortAll(outcome: Outcome): number {
    const count = this.#connections.size;
    for (const connection of [...this.#connections]) connection.abort(outcome);
    return count;
  }

  /** Resolves with true when the time ran out first. */
  #untilIdle(timeoutMs: number | null): Promise<boolean> {
    if (this.#connections.size === 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = timeoutMs === null ? undefined : setTimeout(() => settle(true), timeoutMs);
      const settle = (expired: boolean) => {
        clearTimeout(timer);
        this.#idleWaiters.delete(wake);
        resolve(expired);
      };
      const wake = () => settle(false);
      this.#idleWaiters.add(wake);
    });
  }
}
