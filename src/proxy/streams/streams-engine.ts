// The readable engine, built on net.Socket. It opens and closes listeners, limits the connections and drains them.
// connection.ts owns the life of one connection.
import { closeSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { descriptorOf } from '../../netns/descriptor.ts';
import type { NativeAddon } from '../../netns/native.ts';
import { NetnsHandles } from '../../netns/netns-handles.ts';
import type { NetnsRef } from '../../netns/netns-ref.ts';
import {
  type DrainResult,
  type Engine,
  EngineClosedError,
  type EngineLimits,
  type EngineStats,
  engineClosed,
  type Listener,
  type ListenerSpec,
  type Outcome,
  type SlotShares,
} from '../engine.ts';
import { IdleGate } from '../idle-gate.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { PendingDials } from './dial-backend.ts';
import { HelloMemory } from './hello-buffer.ts';
import { Loads } from './loads.ts';
import { Shares } from './shares.ts';
import { SourceQueue } from './source-queue.ts';

const ACCEPT_BACKLOG = 4096; // the kernel caps it at net.core.somaxconn
const CHECK_INTERVAL_MS = 250;

export class StreamsEngine implements Engine {
  readonly #limits: EngineLimits;
  readonly #addon: NativeAddon;
  readonly #handles: NetnsHandles;
  readonly #helloMemory: HelloMemory;
  readonly #pendingDials: PendingDials;
  readonly #shares: Shares;
  readonly #unserved = new SourceQueue<Connection>();
  readonly #largeHellos = new SourceQueue<Connection>();
  readonly #loads = new Loads(() => performance.now());
  readonly #servers = new Map<Server, Listener>();
  readonly #connections = new Set<Connection>();
  /** Evicted connections: the socket is closed, but Node's 'close' event is still pending. */
  readonly #evicted = new Set<Connection>();
  readonly #watch: NodeJS.Timeout;
  #checks = 0;
  #closing = false;
  readonly #idle = new IdleGate(() => this.#connections.size === 0);

  constructor(limits: EngineLimits, addon: NativeAddon) {
    this.#limits = limits;
    this.#addon = addon;
    this.#handles = new NetnsHandles(addon, limits.maxNetnsHandles);
    this.#helloMemory = new HelloMemory(limits.maxHelloMemoryBytes);
    this.#pendingDials = new PendingDials(limits);
    this.#shares = new Shares({ reserved: 0, common: limits.maxConnections, groups: new Set() });
    this.#watch = setInterval(() => this.#checkPeers(), CHECK_INTERVAL_MS).unref();
  }

  async openListener(spec: ListenerSpec): Promise<Listener> {
    if (this.#closing) throw engineClosed(spec);
    const context: ConnectionContext = {
      spec,
      limits: this.#limits,
      addon: this.#addon,
      handles: this.#handles,
      helloMemory: this.#helloMemory,
      pendingDials: this.#pendingDials,
      shares: this.#shares,
      loads: this.#loads,
      unserved: this.#unserved,
      largeHellos: this.#largeHellos,
    };
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    server.on('connection', (client) => void this.#accept(client, context));
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      const where =
        spec.fd !== undefined
          ? { fd: this.#adopted(spec.fd) }
          : { port: spec.port, ...(spec.host !== undefined && { host: spec.host }) };
      server.listen({ ...where, backlog: ACCEPT_BACKLOG }, () => {
        server.off('error', reject);
        // accept() fails without free descriptors or memory. libuv rejects the new connection then, and the others continue.
        server.on('error', () => {});
        if (this.#closing) {
          server.close();
          reject(new EngineClosedError());
          return;
        }
        const bound = server.address();
        if (bound === null || typeof bound === 'string') throw new Error('a TCP listener has an address');
        const listener: Listener = {
          name: spec.name,
          address: bound.address,
          port: bound.port,
          prepare: () => {}, // not needed: in this engine a question is only a function call
          get fd() {
            return descriptorOf(server);
          },
          // Closes without shutdown(): another process that holds the socket can still accept.
          close: () => this.#closeServer(server),
        };
        this.#servers.set(server, listener);
        resolve(listener);
      });
    });
  }

  listeners(): readonly Listener[] {
    return [...this.#servers.values()];
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

  shareSlots(slots: SlotShares): void {
    this.#shares.shareSlots(slots);
  }

  abortDials(keys: Iterable<string>): void {
    const aborted = new Set(keys);
    for (const connection of this.#connections) connection.abortDial(aborted);
  }

  shares(): ReadonlyMap<string, number> {
    return this.#shares.counts;
  }

  drain(timeoutMs: number): Promise<DrainResult> {
    const before = this.#connections.size;
    this.#stopAccepting();
    return this.#idle.drain(timeoutMs, before, () => this.#abortAll('drain-expired'));
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#stopAccepting();
    this.#abortAll('stopped');
    await this.#idle.wait(null);
    clearInterval(this.#watch);
    this.#handles.close();
  }

  /** Checks half-closed connections on every call, and all others four times per dead-peer timeout. */
  #checkPeers(): void {
    const every = Math.max(1, Math.floor(this.#limits.deadPeerTimeoutMs / 4 / CHECK_INTERVAL_MS));
    this.#checks = (this.#checks + 1) % every;
    for (const connection of this.#connections) connection.checkPeers(this.#checks !== 0);
  }

  async #accept(client: Socket, context: ConnectionContext): Promise<void> {
    const connection = new Connection(client, context);
    if (this.#connections.size - this.#evicted.size >= this.#limits.maxConnections && !this.#evictOne()) {
      connection.refuse('refused-connections');
      return;
    }
    this.#connections.add(connection);
    try {
      await connection.serve();
    } finally {
      this.#connections.delete(connection);
      this.#evicted.delete(connection);
      this.#idle.connectionEnded();
    }
  }

  #evictOne(): boolean {
    const connection = this.#unserved.oldestOfLargest();
    if (connection === undefined) return false;
    this.#evicted.add(connection);
    connection.evict();
    return true;
  }

  #adopted(fd: number): number {
    try {
      this.#addon.adoptListening(fd);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #closeServer(server: Server): Promise<void> {
    // The callback of close() is not awaited: it waits for all connections, which continue.
    if (this.#servers.delete(server)) server.close();
    return Promise.resolve();
  }

  #stopAccepting(): void {
    for (const server of this.#servers.keys()) void this.#closeServer(server);
  }

  #abortAll(outcome: Outcome): number {
    const count = this.#connections.size;
    for (const connection of [...this.#connections]) connection.abort(outcome);
    return count;
  }
}
