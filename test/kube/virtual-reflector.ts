// A reflector on a fake collection in virtual time: a wait advances only the virtual clock.
import { Reflector, type ReflectorOptions } from '../../src/kube/watch/reflector.ts';
import type { ReflectorProblem } from '../../src/kube/watch/reflector-snapshot.ts';
import { FakeCollection, turn } from './fake-collection.ts';

export class VirtualReflector<T> {
  readonly api = new FakeCollection();
  /** The problem of each snapshot that had one. */
  readonly problems: ReflectorProblem[] = [];
  readonly sleeps: number[] = [];
  readonly reflector: Reflector<T>;
  nowMs = 1_000_000;
  changes = 0;
  /** If false, a sleep lasts until it is aborted or until this is true. */
  passes = true;

  constructor(project: ReflectorOptions<T>['project'], options: Partial<ReflectorOptions<T>> = {}) {
    this.reflector = new Reflector<T>({
      client: this.api,
      path: () => '/apis/x.io/v1/namespaces/ns/things',
      project,
      onChange: () => {
        this.changes++;
        const { problem } = this.snapshot;
        if (problem !== null) this.problems.push(problem);
      },
      now: () => this.nowMs,
      random: () => 0.5,
      sleep: async (ms, signal) => {
        this.sleeps.push(ms);
        this.nowMs += ms;
        await turn();
        for (let each = 0; each < 10_000 && !this.passes && !signal.aborted; each++) await turn();
      },
      ...options,
    });
  }

  get snapshot() {
    return this.reflector.snapshot();
  }

  /** Bounded by turns, because no clock runs. */
  async until(holds: () => boolean, what = holds.toString()): Promise<void> {
    for (let each = 0; each < 5000; each++) {
      if (holds()) return;
      await turn();
    }
    throw new Error(`never came true: ${what}`);
  }

  /** Lets the reflector process what was sent. */
  async settle(turns = 20): Promise<void> {
    for (let each = 0; each < turns; each++) await turn();
  }

  async watching(): Promise<this> {
    this.reflector.start();
    await this.until(() => this.api.watchers.size === 1, 'a watch is open');
    return this;
  }
}
