// The life of one connection, top to bottom: hello → decision → dial in the netns → replay → relay → one report. A failure here,
// including a policy that throws in `decide`, ends only this connection.
import type { Socket } from 'node:net';
import type { NativeAddon } from '../../netns/native.ts';
import type { NetnsHandles } from '../../netns/netns-handles.ts';
import type { Backend } from '../../routing/route-table.ts';
import type { Decision, DialAttempt, EngineLimits, ListenerSpec, Outcome, Peer } from '../engine.ts';
import {
  armDeadPeerTimeout,
  BACKEND_DOWN,
  type Dialled,
  dialBackend,
  type PendingDials,
} from './dial-backend.ts';
import { HelloBuffer, type HelloMemory } from './hello-buffer.ts';
import type { Choice, Loads } from './loads.ts';
import { Relay, reset } from './relay.ts';
import type { Shares, Slot } from './shares.ts';
import type { SourceQueue } from './source-queue.ts';

/** The resources of the engine, which all its connections share. */
export interface ConnectionContext {
  readonly spec: ListenerSpec;
  readonly limits: EngineLimits;
  readonly addon: NativeAddon;
  readonly handles: NetnsHandles;
  readonly helloMemory: HelloMemory;
  readonly pendingDials: PendingDials;
  readonly shares: Shares;
  readonly loads: Loads;
  /** Connections whose hello is not complete, and rejected connections that still linger. A new connection can evict them. */
  readonly unserved: SourceQueue<Connection>;
  /** Connections whose hello uses the shared hello memory. */
  readonly largeHellos: SourceQueue<Connection>;
}

const NONE: ReadonlySet<string> = new Set();

type Candidates = Extract<Decision, { kind: 'candidates' }>;

export class Connection {
  readonly #client: Socket;
  readonly #context: ConnectionContext;
  readonly #peer: Peer;
  readonly #startedMs = performance.now();
  readonly #hello: HelloBuffer;
  #helloBytes = 0;
  #relay: Relay | null = null;
  readonly #attempts: DialAttempt[] = [];
  #note: unknown;
  #backendSocket: Socket | null = null;
  #backend: Backend | null = null;
  #slot: Slot | null = null;
  #dialling: Backend | null = null;
  #fallen: ReadonlySet<string> = NONE;
  #choice: Choice | null = null;
  #aborted: Outcome | null = null;
  #closing = false;

  constructor(client: Socket, context: ConnectionContext) {
    this.#client = client;
    this.#context = context;
    // On a dual-stack listener an IPv4 client shows as ::ffff:192.0.2.1.
    const address = (client.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
    this.#peer = { address, port: client.remotePort ?? 0 };
    this.#hello = new HelloBuffer(context.helloMemory);
    // Without a handler, an error between two phases would crash the process. Node destroys the socket, and the next phase detects that.
    client.on('error', () => {});
  }

  /** Resolves after the connection has ended and its report is sent. Never rejects. */
  async serve(): Promise<void> {
    let outcome: Outcome;
    try {
      outcome = await this.#live();
    } finally {
      this.#hello.release();
      this.#client.destroy();
      this.#backendSocket?.destroy();
      this.#leaveSlot();
      this.#choice?.end();
    }
    this.#report(this.#aborted ?? outcome);
  }

  /** Resets both sides at once. */
  abort(outcome: Outcome): void {
    this.#aborted ??= outcome;
    const { addon } = this.#context;
    if (this.#backendSocket !== null) reset(addon, this.#backendSocket);
    reset(addon, this.#client);
  }

  /** Frees the slot or hello memory for another connection. Only valid while this connection is in an eviction queue. */
  evict(): void {
    this.#leaveQueues();
    // A lingering connection is already rejected, and its report keeps that outcome.
    if (this.#closing) reset(this.#context.addon, this.#client);
    else this.abort('evicted-hello');
    this.#helloBytes = Math.max(this.#helloBytes, this.#hello.length);
    this.#hello.release();
  }

  /** Fails the pending dial if it goes to one of these backends, which are known to be down. */
  abortDial(keys: ReadonlySet<string>): void {
    if (this.#dialling === null || !keys.has(this.#dialling.key)) return;
    // Later candidates among these backends are skipped.
    this.#fallen = keys;
    this.#backendSocket?.destroy(BACKEND_DOWN);
  }

  /** Rejects a new connection at once. It costs no more than its accept. */
  refuse(outcome: Outcome): void {
    reset(this.#context.addon, this.#client);
    this.#report(outcome);
  }

  /** See Relay.checkPeers. */
  checkPeers(halfClosedOnly: boolean): void {
    this.#relay?.checkPeers(halfClosedOnly);
  }

  async #live(): Promise<Outcome> {
    const { limits, addon } = this.#context;
    armDeadPeerTimeout(addon, this.#client, limits.deadPeerTimeoutMs);
    const decision = await this.#decision();
    if (typeof decision === 'string') return decision;
    switch (decision.kind) {
      case 'alert':
        await this.#closeWithFarewell(decision.bytes);
        return 'alert-sent';
      case 'close':
        await this.#closeWithFarewell(null);
        return 'closed';
      case 'candidates':
        return this.#connectAndRelay(decision);
    }
  }

  /** Reads bytes and asks the policy until it decides. A string is an outcome without a decision. */
  #decision(): Promise<Exclude<Decision, { kind: 'more' }> | Outcome> {
    const { spec, limits } = this.#context;
    if (spec.mode === 'immediate') {
      const decision = this.#ask();
      // Immediate mode reads no bytes before the decision, so `more` is a bug in the policy.
      return Promise.resolve(decision === null || decision.kind === 'more' ? 'policy-error' : decision);
    }
    return new Promise((resolve) => {
      const client = this.#client;
      let minBytes = 1;
      const settle = (result: Exclude<Decision, { kind: 'more' }> | Outcome, rest?: Buffer) => {
        clearTimeout(deadline);
        this.#leaveQueues();
        client.off('data', onData).off('end', onGone).off('close', onGone);
        client.pause();
        this.#helloBytes = Math.max(this.#helloBytes, this.#hello.length);
        if (rest !== undefined && rest.length > 0) client.unshift(rest);
        resolve(result);
      };
      const onGone = () => settle('client-left');
      const onData = (chunk: Buffer) => {
        // Bytes beyond the limit stay in the stream: they may follow the hello.
        const fits = chunk.subarray(0, limits.maxHelloBytes - this.#hello.length);
        if (!this.#appendToHello(fits)) return settle('refused-hello-memory');
        const rest = chunk.subarray(fits.length);
        if (this.#hello.length < minBytes) return;
        const decision = this.#ask();
        if (decision === null) return settle('policy-error');
        if (decision.kind !== 'more') return settle(decision, rest);
        if (this.#hello.length === limits.maxHelloBytes) return settle('hello-too-large');
        minBytes = Math.max(decision.minBytes, this.#hello.length + 1);
      };
      // One deadline for the entire hello: a client that sends single bytes slowly cannot extend it.
      const deadline = setTimeout(() => settle('hello-timeout'), limits.helloTimeoutMs);
      client.on('data', onData).on('end', onGone).on('close', onGone);
      this.#context.unserved.add(this, this.#peer.address);
      client.resume();
    });
  }

  /** Evicts other long hellos while the shared hello memory is full. */
  #appendToHello(bytes: Buffer): boolean {
    const { largeHellos } = this.#context;
    while (!this.#hello.append(bytes)) {
      const other = largeHellos.oldestOfLargest();
      if (other === undefined || other === this) return false;
      other.evict();
    }
    if (this.#hello.isLarge) largeHellos.add(this, this.#peer.address);
    return true;
  }

  #leaveQueues(): void {
    const { unserved, largeHellos } = this.#context;
    unserved.remove(this, this.#peer.address);
    largeHellos.remove(this, this.#peer.address);
  }

  #ask(): Decision | null {
    const { spec } = this.#context;
    try {
      const decision = spec.policy.decide({
        listener: spec.name,
        client: this.#peer,
        bytes: this.#hello.bytes,
        note: this.#note,
      });
      this.#note = decision.note;
      return decision;
    } catch (error) {
      this.#note = error;
      return null;
    }
  }

  async #connectAndRelay(decision: Candidates): Promise<Outcome> {
    const { pendingDials, shares, spec } = this.#context;
    const slot = decision.share === null ? null : shares.enter(decision.share);
    if (typeof slot === 'string') {
      await this.#closeWithFarewell(decision.farewell);
      return slot === 'share' ? 'refused-share' : 'refused-slots';
    }
    this.#slot = slot;
    let tried = false;
    for (const backend of this.#inTurn(decision)) {
      if (this.#fallen.has(backend.key)) continue;
      // This backend has too many pending dials. The next one may have fewer.
      if (!pendingDials.enter(backend.key)) continue;
      tried = true;
      const dialled = await this.#dial(backend);
      pendingDials.leave(backend.key);
      this.#attempts.push({ backend, durationMs: dialled.durationMs, error: dialled.error });
      if (dialled.socket !== null) {
        this.#backend = backend;
        return this.#replayAndRelay(dialled.socket, decision.skipBytes);
      }
      if (dialled.error !== 'ECANCELED') {
        this.#choice?.failed();
        spec.policy.dialFailed(backend, dialled.error);
      }
      if (this.#client.destroyed) return 'client-left';
    }
    this.#choice?.end();
    this.#leaveSlot();
    await this.#closeWithFarewell(decision.farewell);
    return tried ? 'dial-failed' : 'refused-dials';
  }

  /** Frees the slot for other connections. */
  #leaveSlot(): void {
    if (this.#slot !== null) this.#context.shares.leave(this.#slot);
    this.#slot = null;
  }

  #inTurn({ backends, balance }: Candidates): Iterable<Backend> {
    if (balance !== 'least-connections') return backends;
    this.#choice = this.#context.loads.choice(backends);
    return this.#choice;
  }

  /** A client that disconnects during the dial cancels it. */
  async #dial(backend: Backend): Promise<Dialled> {
    const giveUp = () => this.#backendSocket?.destroy();
    this.#client.once('close', giveUp);
    this.#dialling = backend;
    const dialled = await dialBackend(backend, this.#context, (socket) => {
      this.#backendSocket = socket;
    });
    this.#dialling = null;
    this.#client.off('close', giveUp);
    return dialled;
  }

  #replayAndRelay(backend: Socket, skipBytes: number): Promise<Outcome> {
    const { addon, limits } = this.#context;
    if (this.#aborted !== null || this.#client.destroyed) {
      reset(addon, backend);
      return Promise.resolve('client-left');
    }
    // The buffer is passed without a copy, because nothing is appended to it any more. The socket now owns its memory.
    const replay = this.#hello.bytes.subarray(skipBytes);
    if (replay.length > 0) backend.write(replay);
    this.#hello.release();
    this.#relay = new Relay(this.#client, backend, { addon, ...limits });
    return this.#relay.ended;
  }

  /**
   * Sends the bytes, if any, and closes so that they arrive. Unread bytes in our receive buffer would turn the close into a
   * reset, and a reset discards data that the client has not read yet. So it sends FIN, then reads and discards until the
   * client closes.
   */
  #closeWithFarewell(bytes: Uint8Array | null): Promise<void> {
    const client = this.#client;
    if (client.destroyed) return Promise.resolve();
    this.#closing = true;
    this.#context.unserved.add(this, this.#peer.address);
    return new Promise((resolve) => {
      const deadline = setTimeout(() => client.destroy(), this.#context.limits.lingerMs);
      client.once('close', () => {
        clearTimeout(deadline);
        this.#leaveQueues();
        resolve();
      });
      client.on('data', () => {}).resume();
      if (bytes === null) client.end();
      else client.end(bytes);
    });
  }

  #report(outcome: Outcome): void {
    this.#context.spec.policy.ended({
      listener: this.#context.spec.name,
      client: this.#peer,
      note: this.#note,
      outcome,
      attempts: this.#attempts,
      backend: this.#backend,
      bytesFromClient: this.#helloBytes + (this.#relay?.bytes.fromClient ?? 0),
      bytesFromBackend: this.#relay?.bytes.fromBackend ?? 0,
      durationMs: performance.now() - this.#startedMs,
    });
  }
}
