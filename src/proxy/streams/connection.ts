// The life of one connection, top to bottom: hello → decision → dial in the netns → replay → relay → one report. Whatever goes
// wrong here, including a policy that throws when asked, ends this connection only.
import type { Socket } from 'node:net';
import type { NativeAddon } from '../../netns/native.ts';
import type { NetnsHandles } from '../../netns/netns-handles.ts';
import type { Backend } from '../../routing/route-table.ts';
import type { Decision, DialAttempt, EngineLimits, ListenerSpec, Outcome, Peer } from '../engine.ts';
import { dialBackend, type PendingDials } from './dial-backend.ts';
import { HelloBuffer, type HelloMemory } from './hello-buffer.ts';
import { armDeadPeerTimeout, descriptorOf } from './peer-timeout.ts';
import { relay } from './relay.ts';

/** What the engine lends to each of its connections. */
export interface ConnectionContext {
  readonly spec: ListenerSpec;
  readonly limits: EngineLimits;
  readonly addon: NativeAddon;
  readonly handles: NetnsHandles;
  readonly helloMemory: HelloMemory;
  readonly pendingDials: PendingDials;
}

type Candidates = Extract<Decision, { kind: 'candidates' }>;

export class Connection {
  readonly #client: Socket;
  readonly #context: ConnectionContext;
  readonly #peer: Peer;
  readonly #startedMs = performance.now();
  readonly #hello: HelloBuffer;
  readonly #bytes = { fromClient: 0, fromBackend: 0 };
  readonly #attempts: DialAttempt[] = [];
  #note: unknown;
  #backendSocket: Socket | null = null;
  #backend: Backend | null = null;
  #aborted: Outcome | null = null;

  constructor(client: Socket, context: ConnectionContext) {
    this.#client = client;
    this.#context = context;
    // On a dual-stack listener an IPv4 client shows as ::ffff:192.0.2.1.
    const address = (client.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
    this.#peer = { address, port: client.remotePort ?? 0 };
    this.#hello = new HelloBuffer(context.helloMemory);
    // An error between two phases has a listener of its own nowhere else; the socket is destroyed then, and the next phase sees it.
    client.on('error', () => {});
  }

  /** Resolves when the connection has ended and was reported. Never rejects. */
  async serve(): Promise<void> {
    let outcome: Outcome;
    try {
      outcome = await this.#live();
    } finally {
      this.#hello.release();
      this.#client.destroy();
      this.#backendSocket?.destroy();
    }
    this.#report(this.#aborted ?? outcome);
  }

  /** Resets both sides, now. */
  abort(outcome: Outcome): void {
    this.#aborted ??= outcome;
    // A socket that is still connecting has nothing to reset, and resetAndDestroy() would wait for it.
    if (this.#backendSocket?.connecting) this.#backendSocket.destroy();
    else this.#backendSocket?.resetAndDestroy();
    this.#client.resetAndDestroy();
  }

  /** Refuses a newcomer at once: it costs no more than its accept. */
  refuse(outcome: Outcome): void {
    this.#client.resetAndDestroy();
    this.#report(outcome);
  }

  async #live(): Promise<Outcome> {
    const { limits, addon } = this.#context;
    armDeadPeerTimeout(addon, this.#client, descriptorOf(this.#client), limits.deadPeerTimeoutMs);
    const decision = await this.#decision();
    if (typeof decision === 'string') return decision;
    switch (decision.kind) {
      case 'alert':
        await this.#partWith(decision.bytes);
        return 'alert-sent';
      case 'close':
        await this.#partWith(null);
        return 'closed';
      case 'candidates':
        return this.#connectAndRelay(decision);
    }
  }

  /** Reads and asks until the policy has decided; a string is an end before any decision. */
  #decision(): Promise<Exclude<Decision, { kind: 'more' }> | Outcome> {
    const { spec, limits } = this.#context;
    if (spec.mode === 'immediate') {
      const decision = this.#ask();
      // Nothing will ever arrive before a decision that reads nothing, so `more` can only be a mistake of the policy.
      return Promise.resolve(decision === null || decision.kind === 'more' ? 'policy-error' : decision);
    }
    return new Promise((resolve) => {
      const client = this.#client;
      let minBytes = 1;
      const settle = (result: Exclude<Decision, { kind: 'more' }> | Outcome) => {
        clearTimeout(deadline);
        client.off('data', onData).off('end', onGone).off('close', onGone);
        client.pause();
        resolve(result);
      };
      const onGone = () => settle('client-left');
      const onData = (chunk: Buffer) => {
        this.#bytes.fromClient += chunk.length;
        if (this.#hello.length + chunk.length > limits.maxHelloBytes) return settle('hello-too-large');
        if (!this.#hello.append(chunk)) return settle('refused-hello-memory');
        if (this.#hello.length < minBytes) return;
        const decision = this.#ask();
        if (decision === null) return settle('policy-error');
        if (decision.kind !== 'more') return settle(decision);
        minBytes = Math.max(decision.minBytes, this.#hello.length + 1);
      };
      // One deadline for the whole hello: a client that sends a byte now and then cannot stretch it.
      const deadline = setTimeout(() => settle('hello-timeout'), limits.helloTimeoutMs);
      client.on('data', onData).on('end', onGone).on('close', onGone);
      client.resume();
    });
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
    for (const backend of decision.backends) {
      const { pendingDials, spec } = this.#context;
      if (!pendingDials.enter(backend.key)) {
        await this.#partWith(decision.farewell);
        return 'refused-dials';
      }
      const dialled = await dialBackend(backend, this.#context, (socket) => {
        this.#backendSocket = socket;
      });
      pendingDials.leave(backend.key);
      this.#attempts.push({ backend, durationMs: dialled.durationMs, error: dialled.error });
      if (dialled.socket !== null) {
        this.#backend = backend;
        return this.#replayAndRelay(dialled.socket, decision.skipBytes);
      }
      if (this.#client.destroyed) return 'client-left';
      spec.policy.dialFailed(backend, dialled.error);
    }
    await this.#partWith(decision.farewell);
    return 'dial-failed';
  }

  async #replayAndRelay(backend: Socket, skipBytes: number): Promise<Outcome> {
    if (this.#aborted !== null || this.#client.destroyed) {
      backend.resetAndDestroy();
      return 'client-left';
    }
    // The buffer is handed over, not copied: nothing is appended to it any more. Its memory is the socket's from here on.
    const replay = this.#hello.bytes.subarray(skipBytes);
    if (replay.length > 0) backend.write(replay);
    this.#hello.release();
    return relay(this.#client, backend, this.#bytes);
  }

  /**
   * Says the last words, if any, and closes so that they arrive: unread bytes in our receive buffer would turn the close into
   * a reset, which destroys what the client has not read yet. So: FIN, then read and discard until the client closes too.
   */
  #partWith(bytes: Uint8Array | null): Promise<void> {
    const client = this.#client;
    if (client.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = setTimeout(() => client.destroy(), this.#context.limits.lingerMs);
      client.once('close', () => {
        clearTimeout(deadline);
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
      bytesFromClient: this.#bytes.fromClient,
      bytesFromBackend: this.#bytes.fromBackend,
      durationMs: performance.now() - this.#startedMs,
    });
  }
}
