// Limits Events by the rules of client-go's EventCorrelator, which most controllers use. A repeat within ten minutes increases the
// count, more than ten similar Events are combined, and each object has a budget. It only decides; event-writer.ts writes.
import { createHash, randomBytes } from 'node:crypto';
import type { CoreV1Event } from '@kubernetes/client-node';
import type { Wire } from '../objects/wire-object.ts';
import type { StatusEvent } from '../plan/status-events.ts';

/** `eventTime` is null in Events that have a first and last time. */
export type EventObjectBody = Omit<Wire<CoreV1Event>, 'eventTime'>;

export type EventDecision =
  | { readonly kind: 'create'; readonly body: EventObjectBody }
  | {
      readonly kind: 'patch';
      readonly name: string;
      readonly namespace: string;
      /** A merge patch. */
      readonly body: { readonly count: number; readonly lastTimestamp: string; readonly message: string };
      /** Created instead when the Event to patch is gone (404): the API server keeps Events for an hour. */
      readonly instead: EventObjectBody;
    }
  | { readonly kind: 'drop' };

export interface EventCorrelatorSettings {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch, for the timestamps in Events. */
  readonly wallClock: () => number;
  readonly instance: string;
  /** Hexadecimal digits that make each Event name unique. */
  readonly random?: () => string;
}

const COMPONENT = 'isthmus';
const SIMILAR_MS = 10 * 60_000;
const MAX_SIMILAR = 10;
const BURST = 25;
const REFILL_MS = 5 * 60_000;
/** The same limit as in client-go. An evicted Event is only created again. */
const MAX_REMEMBERED = 4096;
/** The limit of events.k8s.io, which serves the same objects. */
const MAX_MESSAGE_BYTES = 1024;
const MAX_NAME = 253;

interface Written {
  readonly name: string;
  readonly firstTimestamp: string;
  count: number;
  lastAtMs: number;
}

export class EventCorrelator {
  readonly #settings: Required<EventCorrelatorSettings>;
  readonly #written = new Recent<Written>(MAX_REMEMBERED);
  readonly #similar = new Recent<{ messages: Set<string>; lastAtMs: number }>(MAX_REMEMBERED);
  readonly #budgets = new Recent<{ tokens: number; atMs: number }>(MAX_REMEMBERED);

  constructor(settings: EventCorrelatorSettings) {
    this.#settings = { random: () => randomBytes(8).toString('hex'), ...settings };
  }

  decide(event: StatusEvent): EventDecision {
    const now = this.#settings.now();
    const { key, message } = this.#combined(event, now);
    const known = this.#written.get(key);
    const isAgain = known !== undefined && now - known.lastAtMs < SIMILAR_MS;
    // The budget is checked last, as in client-go: a dropped repeat still counts.
    const lastTimestamp = seconds(this.#settings.wallClock());
    const written: Written = isAgain
      ? { ...known, count: known.count + 1, lastAtMs: now }
      : { name: this.#nameFor(event), firstTimestamp: lastTimestamp, count: 1, lastAtMs: now };
    const mayWrite = this.#spend(event.object.uid, now);
    if (!mayWrite && !isAgain) return { kind: 'drop' };
    this.#written.set(key, written);
    if (!mayWrite) return { kind: 'drop' };

    const body = this.#bodyOf(event, message, written, lastTimestamp);
    if (!isAgain) return { kind: 'create', body };
    return {
      kind: 'patch',
      name: written.name,
      namespace: event.object.namespace,
      body: { count: written.count, lastTimestamp, message },
      instead: body,
    };
  }

  /** Combines messages beyond MAX_SIMILAR of the same kind and object into one Event. */
  #combined({ object, type, reason, message }: StatusEvent, now: number): { key: string; message: string } {
    const kind = JSON.stringify([object.uid, type, reason]);
    const bounded = cut(message);
    const digest = digestOf(bounded);
    let similar = this.#similar.get(kind);
    if (similar === undefined || now - similar.lastAtMs >= SIMILAR_MS)
      similar = { messages: new Set(), lastAtMs: now };
    similar.lastAtMs = now;
    if (similar.messages.size < MAX_SIMILAR) similar.messages.add(digest);
    const fits = similar.messages.has(digest);
    this.#similar.set(kind, similar);
    return fits
      ? { key: `${kind} ${digest}`, message: bounded }
      : { key: kind, message: cut(`(combined from similar events): ${message}`) };
  }

  #spend(uid: string, now: number): boolean {
    const known = this.#budgets.get(uid);
    const tokens =
      known === undefined ? BURST : Math.min(BURST, known.tokens + Math.max(0, now - known.atMs) / REFILL_MS);
    const mayWrite = tokens >= 1;
    this.#budgets.set(uid, { tokens: mayWrite ? tokens - 1 : tokens, atMs: now });
    return mayWrite;
  }

  #nameFor({ object }: StatusEvent): string {
    const random = this.#settings.random();
    return `${object.name.slice(0, MAX_NAME - random.length - 1).replace(/[-.]+$/, '')}.${random}`;
  }

  #bodyOf(
    { object, type, reason }: StatusEvent,
    message: string,
    written: Written,
    lastTimestamp: string,
  ): EventObjectBody {
    const { instance } = this.#settings;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: written.name, namespace: object.namespace },
      involvedObject: { ...object },
      type,
      reason,
      message,
      source: { component: COMPONENT, host: instance },
      reportingComponent: COMPONENT,
      reportingInstance: instance,
      firstTimestamp: written.firstTimestamp,
      lastTimestamp,
      count: written.count,
    };
  }
}

/** A bounded map that evicts the entry with the oldest write. */
class Recent<T> {
  readonly #entries = new Map<string, T>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#most) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

/** Digests save memory: messages are long, and thousands are kept. */
const digestOf = (message: string): string => createHash('sha1').update(message).digest('base64');

/** A Kubernetes Time has no fractional seconds. */
const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

function cut(message: string): string {
  const bytes = Buffer.from(message.toWellFormed(), 'utf8');
  if (bytes.length <= MAX_MESSAGE_BYTES) return bytes.toString('utf8');
  let end = MAX_MESSAGE_BYTES - Buffer.byteLength('…');
  // Never cut within a character: UTF-8 continuation bytes start with the bits 10.
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString('utf8', 0, end)}…`;
}
