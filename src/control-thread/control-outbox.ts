// Sends the desired state to the main thread, one message at a time. While a message is in flight, only the newest state is kept.
// So a busy main thread gets fewer and larger messages instead of a queue.
import type { TurnResult } from '../control/turn-result.ts';
import { type DesiredChanges, desiredChanges, NOTHING_DESIRED } from './control-changes.ts';

export class ControlOutbox {
  readonly #send: (changes: DesiredChanges) => void;
  #sent = NOTHING_DESIRED;
  #next = NOTHING_DESIRED;
  #taken = NOTHING_DESIRED;
  #underWay = false;
  #whenEmpty: (() => void)[] = [];

  constructor(send: (changes: DesiredChanges) => void) {
    this.#send = send;
  }

  put(desired: TurnResult): void {
    this.#next = desired;
    this.#sendNext();
  }

  /** The main thread has applied the last message. */
  taken(): void {
    this.#underWay = false;
    this.#taken = this.#sent;
    this.#sendNext();
  }

  /** Whether the main thread routes by the newest route table and the newest listener ports. */
  get routesTaken(): boolean {
    return this.#taken.routes === this.#next.routes && this.#taken.ports === this.#next.ports;
  }

  /** Resolves when the main thread has applied every state that was put in so far. */
  async empty(): Promise<void> {
    if (this.#underWay) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  #sendNext(): void {
    if (this.#underWay) return;
    if (this.#next === this.#sent) {
      for (const resolve of this.#whenEmpty.splice(0)) resolve();
      return;
    }
    this.#send(desiredChanges(this.#sent, this.#next));
    this.#sent = this.#next;
    this.#underWay = true;
  }
}
