// The fast engine. Sockets, hellos, dials and relays run in the addon's own threads (native/engine/). This file passes the addon's
// questions to the policies and returns the answers. It must never block, because every new connection waits for it.
import type { NativeAddon, NativeEngineHandle, NativeEngineHandlers } from '../../netns/native.ts';
import type { NetnsRef } from '../../netns/netns-ref.ts';
import type { Backend } from '../../routing/route-table.ts';
import {
  type Decision,
  type DialAttempt,
  type DrainResult,
  type Engine,
  type EngineLimits,
  type EngineStats,
  engineClosed,
  type Listener,
  type ListenerSpec,
  type Outcome,
  type Peer,
  type SlotShares,
} from '../engine.ts';
import { IdleGate } from '../idle-gate.ts';
import { OUTCOMES } from './outcomes.ts';
import { Pools } from './pools.ts';
import { PreparedAnswers, shareArguments } from './prepared-answers.ts';

const ACCEPT_BACKLOG = 4096; // the kernel caps it at net.core.somaxconn
const EMPTY = new Uint8Array(0);
/** How long to wait for workers to close a listener. A worker's turn takes microseconds, so only a stalled machine needs more than this. */
const CLOSING_MS = 2000;

/** State of a connection from its first question, or its first failed dial, to its end. */
interface Decided {
  readonly note: unknown;
  readonly backends: readonly Backend[];
  readonly attempts: DialAttempt[];
}

interface KnownTarget {
  readonly id: number;
  readonly netns: NetnsRef | null;
  /** The number of the first `retainNetns` call after the last use. */
  usedBefore: number;
}

export class NativeEngine implements Engine {
  readonly #engine: NativeEngineHandle;
  readonly #slab: Uint8Array;
  /** Open listeners, and closed listeners that the addon may still report about. */
  readonly #listeners = new Map<number, ListenerSpec>();
  readonly #open = new Map<number, Listener>();
  readonly #decided = new Map<number, Decided>();
  readonly #targets = new Map<string, KnownTarget>();
  readonly #pools: Pools;
  readonly #prepared: PreparedAnswers;
  readonly #idle = new IdleGate(() => this.#engine.stats().unreported === 0);
  #nextListener = 1;
  #sweeps = 0;
  #closing = false;
  #stopped = false;

  constructor(limits: EngineLimits, addon: NativeAddon, threads: number) {
    this.#engine = addon.createEngine({ ...limits }, threads, {
      question: (...question) => this.#ask(...question),
      dialFailed: (...failure) => this.#dialFailed(...failure),
      ended: (...report) => this.#ended(...report),
      listenerGone: (listener) => this.#listeners.delete(listener),
    });
    this.#slab = new Uint8Array(this.#engine.slab);
    this.#pools = new Pools(this.#engine, (backend) => this.#target(backend));
    this.#prepared = new PreparedAnswers(this.#engine, (backend) => this.#target(backend), this.#pools);
  }

  async openListener(spec: ListenerSpec): Promise<Listener> {
    if (this.#closing) throw engineClosed(spec);
    const id = this.#nextListener++;
    this.#listeners.set(id, spec);
    try {
      const { host, port, mode, fd } = spec;
      const bound = this.#engine.listen(id, host, port, mode === 'immediate', ACCEPT_BACKLOG, fd);
      const engine = this.#engine;
      const listener: Listener = {
        name: spec.name,
        ...bound,
        get fd() {
          return engine.listenerFd(id);
        },
        prepare: (answers) => {
          if (this.#open.has(id)) this.#prepared.prepare(id, answers);
        },
        close: ({ leaveOpen = false } = {}) => this.#closeListener(id, leaveOpen),
      };
      this.#open.set(id, listener);
      return listener;
    } catch (error) {
      this.#listeners.delete(id);
      throw error;
    }
  }

  listeners(): readonly Listener[] {
    return [...this.#open.values()];
  }

  retainNetns(refs: Iterable<NetnsRef>): void {
    const wanted = new Set(Array.from(refs, netnsKey));
    const prepared = this.#prepared.targets();
    const pooled = this.#pools.sweep(this.#prepared.pools());
    this.#sweeps += 1;
    for (const [key, { id, netns, usedBefore }] of this.#targets) {
      // A target is also dropped if it was not used since the call before the last one, because a netns can outlive its backends.
      const isUsed = usedBefore >= this.#sweeps - 1 || prepared.has(id) || pooled.has(id);
      if (isUsed && netns !== null && wanted.has(netnsKey(netns))) continue;
      this.#targets.delete(key);
      this.#engine.dropTarget(id);
      this.#pools.targetDropped(id);
    }
  }

  stats(): EngineStats {
    const { unreported: _, listenersClosing: __, listenersKnown: ___, ...stats } = this.#engine.stats();
    return stats;
  }

  /** How many listeners this class and the addon still track: connections can outlive their listener. For tests. */
  knownListeners(): { readonly here: number; readonly inAddon: number } {
    return { here: this.#listeners.size, inAddon: this.#engine.stats().listenersKnown };
  }

  shareSlots({ reserved, common, groups }: SlotShares): void {
    this.#engine.shareSlots(reserved, common, [...groups]);
  }

  abortDials(keys: Iterable<string>): void {
    const targets = Array.from(keys, (key) => this.#targets.get(key)?.id ?? 0).filter((id) => id !== 0);
    if (targets.length > 0) this.#engine.abortDials(Uint32Array.from(targets));
  }

  shares(): ReadonlyMap<string, number> {
    return new Map(this.#engine.shares());
  }

  async drain(timeoutMs: number): Promise<DrainResult> {
    const atFirst = this.#engine.stats().connections;
    await this.#stopAccepting();
    // While the listeners were closing, workers may have accepted connections, and other connections may have ended.
    const before = Math.max(atFirst, this.#engine.stats().connections);
    return this.#idle.drain(timeoutMs, before, () => this.#abortAll('drain-expired'));
  }

  async close(): Promise<void> {
    if (this.#stopped) return;
    this.#closing = true;
    // Each worker runs these commands in this order, so the second one aborts all connections that it accepted before the first one.
    void this.#stopAccepting();
    this.#abortAll('stopped');
    await this.#idle.wait(null);
    this.#stopped = true;
    this.#engine.stop();
  }

  #ask(...question: Parameters<NativeEngineHandlers['question']>): void {
    const [connection, listener, address, port, offset, length, copy] = question;
    const bytes = offset < 0 ? (copy ?? EMPTY) : this.#slab.subarray(offset, offset + length);
    const spec = this.#specOf(listener);
    let decision: Decision;
    try {
      const note = this.#decided.get(connection)?.note;
      const client = new LazyPeer(address, port);
      decision = spec.policy.decide({ listener: spec.name, client, bytes, note });
    } catch (error) {
      this.#decided.set(connection, { note: error, backends: [], attempts: [] });
      this.#engine.policyError(connection);
      return;
    }
    this.#answer(connection, spec, decision);
  }

  #answer(connection: number, spec: ListenerSpec, decision: Decision): void {
    const backends = decision.kind === 'candidates' ? decision.backends : [];
    this.#decided.set(connection, { note: decision.note, backends, attempts: [] });
    switch (decision.kind) {
      case 'more':
        // Immediate mode reads no bytes before the decision, so `more` is a bug in the policy.
        if (spec.mode === 'immediate') this.#engine.policyError(connection);
        else this.#engine.more(connection, decision.minBytes);
        return;
      case 'candidates':
        this.#route(connection, decision);
        return;
      case 'alert':
        this.#engine.closeConnection(connection, decision.bytes);
        return;
      case 'close':
        this.#engine.closeConnection(connection, null);
        return;
    }
  }

  #route(connection: number, decision: Extract<Decision, { kind: 'candidates' }>): void {
    const { backends, balance, skipBytes, farewell, share } = decision;
    const limit = shareArguments(share);
    if (balance === 'least-connections') {
      const { id } = this.#pools.of(backends);
      this.#engine.answerPool(connection, skipBytes, farewell, ...limit, id);
      return;
    }
    const targets = backends.map((each) => this.#target(each));
    this.#engine.candidates(connection, skipBytes, farewell, ...limit, ...targets);
  }

  /** The addon's number for a backend. It is created once, so an answer is only a few numbers. */
  #target(backend: Backend): number {
    const known = this.#targets.get(backend.key);
    if (known !== undefined) {
      known.usedBefore = this.#sweeps + 1;
      return known.id;
    }
    const { netns, address, port } = backend;
    const id = this.#engine.addTarget(netns?.path ?? null, netns?.identity ?? null, address, port);
    this.#targets.set(backend.key, { id, netns, usedBefore: this.#sweeps + 1 });
    return id;
  }

  #dialFailed(...failure: Parameters<NativeEngineHandlers['dialFailed']>): void {
    const [connection, listener, tag, candidate, error, durationMs] = failure;
    const decided = this.#decided.get(connection) ?? this.#unasked(tag);
    const backend = decided?.backends[candidate];
    if (decided === undefined || backend === undefined) return;
    decided.attempts.push({ backend, durationMs, error });
    this.#decided.set(connection, decided);
    this.#specOf(listener).policy.dialFailed(backend, error);
  }

  /** The state of a connection for which the addon used a prepared answer, without a question. It is created only when needed. */
  #unasked(tag: number): Decided | undefined {
    const answer = this.#prepared.byTag(tag);
    return answer && { note: answer.note, backends: answer.backends, attempts: [] };
  }

  #ended(...report: Parameters<NativeEngineHandlers['ended']>): void {
    const [connection, listener, address, port, outcome, candidate, dialMs, ...measured] = report;
    const [bytesFromClient, bytesFromBackend, durationMs, tag] = measured;
    const decided = this.#decided.get(connection) ?? this.#unasked(tag);
    this.#decided.delete(connection);
    const backend = decided?.backends[candidate] ?? null;
    const attempts = decided?.attempts ?? [];
    if (backend !== null) attempts.push({ backend, durationMs: dialMs, error: null });
    const spec = this.#specOf(listener);
    spec.policy.ended({
      listener: spec.name,
      client: new LazyPeer(address, port),
      note: decided?.note,
      outcome: OUTCOMES[outcome] as Outcome,
      attempts,
      backend,
      bytesFromClient,
      bytesFromBackend,
      durationMs,
    });
    this.#idle.connectionEnded();
  }

  #specOf(listener: number): ListenerSpec {
    const spec = this.#listeners.get(listener);
    if (spec === undefined) throw new Error(`there is no listener ${listener}`);
    return spec;
  }

  async #closeListener(id: number, leaveOpen: boolean): Promise<void> {
    if (!this.#open.delete(id)) return;
    this.#engine.closeListener(id, leaveOpen);
    this.#prepared.forget(id);
    // A worker may be in the middle of an accept. Wait for it, because stats() must count that connection.
    const end = performance.now() + CLOSING_MS;
    while (!this.#stopped && this.#engine.stats().listenersClosing > 0 && performance.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 1));
  }

  async #stopAccepting(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((id) => this.#closeListener(id, false)));
  }

  #abortAll(outcome: Outcome): number {
    const { connections } = this.#engine.stats();
    this.#engine.abortAll(OUTCOMES.indexOf(outcome as (typeof OUTCOMES)[number]));
    return connections;
  }
}

/** Formats the client's address only when it is read. */
class LazyPeer implements Peer {
  /** IPv4 as a number. */
  readonly numeric: number | string;
  readonly port: number;

  constructor(address: number | string, port: number) {
    this.numeric = address;
    this.port = port;
  }

  get address(): string {
    return addressText(this.numeric);
  }
}

function addressText(address: number | string): string {
  if (typeof address === 'string') return address;
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}

function netnsKey(netns: NetnsRef): string {
  return `${netns.identity} ${netns.path}`;
}
