// Tracks which checks of the control side have passed since the start: lists read, first health checks done, published clusters
// served, Lease held. A passed check never fails again. Reports every change, and starts nothing itself.
import type { ReadyCheck } from '../control/objects/ready-check.ts';

export interface ReadinessOptions {
  /** The lists, in the order of `/readyz?verbose`. Called after each turn until all have passed. */
  readonly lists: () => readonly ReadyCheck[];
  /** What can pass only after the lists and the first health checks, and before this process replaces its predecessor. */
  readonly served: () => readonly ReadyCheck[];
  /** What can pass only when this process serves clients. */
  readonly later: () => readonly ReadyCheck[];
  /** `able`: all checks but the later ones have passed. */
  readonly onChange: (checks: readonly ReadyCheck[], able: boolean) => void;
}

export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #passed = new Set<string>();
  readonly #listed = Promise.withResolvers<void>();
  #probed = false;
  #reported = '';
  #isReady = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Resolves when every list was read and a turn has used it, so that all backends are known to the health checks. */
  get listed(): Promise<void> {
    return this.#listed.promise;
  }

  /** The first round of health checks is in: every backend was checked, with any result, or the time for that has passed. */
  probed(): void {
    this.#probed = true;
    this.look();
  }

  /** Called at the end of each turn. */
  look(): void {
    if (this.#isReady) return;
    const lists = this.#options.lists().map((check) => this.#latched(check));
    const isListed = lists.every(({ failure }) => failure === null);
    if (isListed) this.#listed.resolve();
    const first = { name: FIRST_CHECKS, failure: this.#probed ? null : UNDER_WAY };
    const isProbed = isListed && this.#probed;
    const served = this.#options
      .served()
      .map((check) => (isProbed ? this.#latched(check) : { ...check, failure: UNDER_WAY }));
    const able = isProbed && served.every(({ failure }) => failure === null);
    const later = this.#options.later().map((check) => this.#latched(check));
    const checks = [...lists, first, ...served, ...later];
    const text = JSON.stringify(checks);
    if (text === this.#reported) return;
    this.#reported = text;
    this.#isReady = checks.every(({ failure }) => failure === null);
    this.#options.onChange(checks, able);
  }

  #latched({ name, failure }: ReadyCheck): ReadyCheck {
    if (failure === null) this.#passed.add(name);
    return { name, failure: this.#passed.has(name) ? null : failure };
  }
}

const FIRST_CHECKS = 'first-health-checks';
const UNDER_WAY = 'not every backend was checked yet';
