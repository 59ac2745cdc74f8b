// Hands the desired state over to the main thread, one message at a time: while one is under way only the newest state is kept,
// so a busy main thread gets fewer and larger changes instead of a queue.
import type { Desired } from '../control/desired/desired-state.ts';
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

  put(desired: Desired): void {
    this.#next = desired;
    this.#sendNext();
  }

  /** The other side has taken over what was sent last. */
  taken(): void {
    this.#underWay = false;
    this.#taken = this.#sent;
    this.#sendNext();
  }

  /** The other side routes by the newest table, and by the newest pools of ports of their own. */
  get routesTaken(): boolean {
    return this.#taken.routes === this.#next.routes && this.#taken.ports === this.#next.ports;
  }

  /** Resolves when everything that was put in so far has been taken over. */
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
